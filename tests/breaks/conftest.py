"""The shop of the reconciler's tests, for those who try to break what happens in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from handrail.sim.clock import ManualClock
from handrail.sim.simulator import Simulator
from tests.reconciler.rig import Shop


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    clock = ManualClock()
    async with Simulator(clock=clock, seed=7) as simulator:
        found = Shop(simulator, clock)
        await found.set_up()
        yield found
