"""Fixtures of the simulator's own tests: a cluster that stands still until its clock is turned, and a live one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from handrail.sim import Simulator
from handrail.sim.clock import ManualClock
from tests.sim.clusters import FAST
from tests.sim.still import Still


@pytest.fixture
def still() -> Still:
    """A cluster in namespace `shop` whose time the test turns."""
    return Still(ManualClock())


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    """A live simulator whose pods are quick."""
    async with Simulator(pace=FAST, seed=1) as simulator:
        yield simulator
