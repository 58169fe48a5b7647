"""A second saga on a target soon after the first: nobody is asked for what the gate would refuse."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from handrail.core.card import card
from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from tests.breaks.test_again import Monitoring
from tests.breaks.worlds import alerted, pass_by
from tests.reconciler.rig import GOOD, LOCAL, Rig, Shop, asking, ended, rig

WORSE_STILL = "registry.example/checkout:1.6.0-crash"


async def repaired(shop: Shop, life: Rig) -> Incident:
    await alerted(shop, life)
    first = await life.run(ended, approve=True)
    assert first.state is State.RESOLVED, first.end
    return first


async def broken_again(shop: Shop, life: Rig, minutes: float) -> None:
    """Another bad revision, so long after the first saga's first write."""
    (wrote,) = [run.at for incident in await life.incidents() for run in incident.writes]
    shop.clock.advance((wrote + timedelta(minutes=minutes) - shop.clock.now()).total_seconds())
    await shop.roll_out(WORSE_STILL)
    await shop.live(30)
    await Monitoring(shop, life).says("firing")


async def kinds(life: Rig, id_: str) -> list[str]:
    return [entry.event.kind for entry in await life.tools.store.entries(id_)]


async def test_long_before_the_next_saga_may_run_a_person_has_it_at_once_and_sees_the_plan(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        first = await repaired(shop, life)
        shop.clock.advance(60)
        await shop.roll_out(GOOD + "-next")
        await shop.live(30)
        await broken_again(shop, life, minutes=10)
        second = await life.run(lambda i: i.id != first.id and ended(i))
        assert second.end is not None
        assert second.end[0] is Reason.TARGET_COOLING_DOWN, second.end
        assert "undo the rollout" in second.end[1]
        assert "asked" not in await kinds(life, second.id)
        assert card(second, shop.clock.now()).diff


async def test_shortly_before_it_may_run_it_waits_says_until_when_and_then_asks_about_what_is_there_by_then(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        first = await repaired(shop, life)
        shop.clock.advance(60)
        await shop.roll_out(GOOD + "-next")
        await shop.live(30)
        await broken_again(shop, life, minutes=20)
        waiting = await life.run(lambda i: i.id != first.id and i.waiting is not None)
        assert waiting.state is State.REHEARSING
        assert waiting.waiting is not None
        free = first.writes[0].at + timedelta(minutes=30)
        assert waiting.waiting.until == free
        assert f"Waits until {free:%H:%M:%S}" in card(waiting, shop.clock.now()).status
        assert waiting.request is None
        asked = await pass_by(life, lambda i: i.id != first.id and asking(i), minutes=15)
        assert shop.clock.now() >= free
        assert asked.request is not None
        assert (await life.desk.decide(asked.id, "approve", LOCAL, asked.request.id)).ok
        done = await life.run(lambda i: i.id != first.id and ended(i))
        assert done.state is State.RESOLVED, done.end
        assert isinstance((await life.tools.store.entries(done.id))[-1].event, ev.Verified)
