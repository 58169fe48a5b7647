"""How property tests run here: no time is asserted, since a busy machine is not a failure."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUIETLY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
EACH = settings(QUIETLY, max_examples=12)
"""For tests that are run for every example file."""
