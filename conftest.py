"""Fixtures of the real servers are shared by all tests; each starts its server only when a test asks for it."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

pytest_plugins = ["tests.servers.fixtures"]

# Timings are not asserted anywhere, so a slow machine is no failure; examples are fewer where somebody waits.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "quick",
    deadline=None,
    max_examples=15,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HANDRAIL_HYPOTHESIS", "full"))

# What a shell starts in the background ignores Ctrl-C, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A commit to disk costs milliseconds and the tests make thousands; what a power cut loses is no matter of theirs.
MEMORY = Path("/dev/shm")
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 1 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# No test trusts the machine's own certificate authorities, and to read all of them takes 50 ms for each client. The
# file must hold one: some clients refuse to start with none.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "tests" / "no_authority.pem")
