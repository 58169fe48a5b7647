"""Health of the moment is waited for a little while; every other no, and what lasts, counts at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from handrail.core.passing import FLAPS, OF_THE_MOMENT, may_pass
from handrail.model.reason import Reason, Refusal

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def no(reason: Reason) -> Refusal:
    return Refusal(reason=reason, detail="as the test says")


@pytest.mark.parametrize("reason", sorted(OF_THE_MOMENT))
def test_what_flaps_is_looked_at_again_for_half_a_minute(reason: Reason) -> None:
    assert may_pass(no(reason), NOW, NOW + FLAPS - timedelta(seconds=1))
    assert not may_pass(no(reason), NOW, NOW + FLAPS)
    assert not may_pass(no(reason), None, NOW), "nobody has decided it"


@pytest.mark.parametrize("reason", sorted(set(Reason) - OF_THE_MOMENT))
def test_no_other_no_is_waited_out(reason: Reason) -> None:
    assert not may_pass(no(reason), NOW, NOW)
