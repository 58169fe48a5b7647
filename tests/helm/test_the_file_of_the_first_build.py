"""An upgrade with an open incident: today's daemon opens the file that the first build left, and goes on from there.

Not through the cluster: there no container runs. The chart's half of it is in test_life_of_a_release.py.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from handrail.model.incident import State
from handrail.sim.clock import ManualClock
from handrail.sim.simulator import Simulator
from tests.reconciler.rig import BAD, GOOD, Shop, ended, rig

FIRST = Path(__file__).parent / "first"


async def shop_as_it_was(simulator: Simulator, clock: ManualClock) -> Shop:
    """The world of the incident: the same seed gives the same names and UIDs."""
    shop = Shop(simulator, clock)
    await shop.set_up()
    await shop.roll_out(BAD)
    await shop.live(30)
    return shop


def laid_down(name: str, folder: Path) -> None:
    with sqlite3.connect(folder / "handrail.db") as database:
        database.executescript((FIRST / f"{name}.sql").read_text())
    database.close()


@pytest.mark.parametrize(("name", "state"), [("asking", State.ASKING), ("writing", State.EXECUTING)])
async def test_an_open_incident_is_taken_over_and_goes_on_to_its_repair(
    tmp_path: Path, name: str, state: State
) -> None:
    laid_down(name, tmp_path)
    clock = ManualClock()
    async with Simulator(clock=clock, seed=7) as simulator:
        shop = await shop_as_it_was(simulator, clock)
        async with rig(shop, tmp_path) as life:
            before = await life.the_incident()
            assert before.state is state
            assert await shop.image() == BAD
            after = await life.run(ended, approve=True)
            assert after.id == before.id
            assert after.state is State.RESOLVED, after.end
            assert await shop.image() == GOOD
            assert (await life.tools.store.audit()).ok
