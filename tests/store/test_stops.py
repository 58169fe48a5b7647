"""Stops by reach in the store: one lock for all, latched with what they refused, and what older builds make of them."""

from __future__ import annotations

import asyncio

from sqlalchemy import select, update

from handrail.adapters.store import Store
from handrail.adapters.store.schema import switch
from handrail.model import events as ev
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.model.switch import CLUSTER, EVERYTHING, Reach, Scope, Stop
from tests.factories import an_intent
from tests.store.driving import passes, through_the_gate, walk

SHOP = Reach(scope=Scope.NAMESPACE, name="shop")
BANK = Reach(scope=Scope.NAMESPACE, name="bank")
UNDO = Reach(scope=Scope.STEP, name="rollout_undo")
HELD = Stop(reach=SHOP, by=CLUSTER, why="migration")


async def as_an_older_build_sees_it(store: Store) -> bool:
    async with store._database._home.writes.connect() as conn:
        return bool((await conn.execute(select(switch.c.stopped))).scalar_one())


async def test_each_reach_has_its_own_press_in_a_fixed_order(store: Store) -> None:
    for reach in (UNDO, SHOP, EVERYTHING, BANK):
        await store.set_switch(True, by="ops", why=str(reach), reach=reach)
    now = await store.switch()
    assert [stop.reach for stop in now.stops] == [EVERYTHING, BANK, SHOP, UNDO]
    assert now.stopped
    await store.set_switch(False, by="sre", why="", reach=EVERYTHING)
    now = await store.switch()
    assert [stop.reach for stop in now.stops] == [BANK, SHOP, UNDO]
    assert not now.stopped
    lifted = now.of(EVERYTHING)
    assert lifted is not None
    assert lifted.by == "sre"
    assert (await store.audit()).ok


async def test_to_a_build_that_knows_one_switch_any_stop_is_a_stop_of_everything(store: Store) -> None:
    await store.set_switch(True, by="ops", why="x", reach=SHOP)
    assert await as_an_older_build_sees_it(store)
    await store.set_switch(True, by="ops", why="x", reach=UNDO)
    await store.set_switch(False, by="ops", why="", reach=SHOP)
    assert await as_an_older_build_sees_it(store)
    await store.set_switch(False, by="ops", why="", reach=UNDO)
    assert not await as_an_older_build_sees_it(store)


async def test_what_an_older_build_presses_counts_for_everything_and_takes_no_other_stop_away(store: Store) -> None:
    await store.set_switch(True, by="ops", why="x", reach=SHOP)
    for stopped in (True, False):
        async with store._database._home.writes.connect() as conn, conn.begin():
            pressed = {"stopped": stopped, "by": "old", "why": "y", "head": switch.c.head + 1}
            await conn.execute(update(switch).values(**pressed))
        now = await store.switch()
        assert now.stopped is stopped
        assert SHOP in [stop.reach for stop in now.stops]
    await store.set_switch(True, by="ops", why="z", reach=BANK)
    now = await store.switch()
    assert [stop.reach for stop in now.stops] == [BANK, SHOP]


async def test_a_latch_commits_with_the_outcome_or_not_at_all(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    assert incident.saga is not None
    intent = an_intent(incident.saga)
    passed = await through_the_gate(store, incident, intent, passes)
    assert isinstance(passed, tuple)
    absent = ev.Outcome(key=intent.write.key, result=ev.Result.ABSENT, reason=Reason.STOPPED, detail="migration")
    moved = await store.append_outcome(incident.id, absent, held=HELD)
    assert moved.open_write is None
    (stop,) = (await store.switch()).stops
    assert (stop.reach, stop.by, stop.why) == (SHOP, CLUSTER, "migration")


async def test_a_stop_that_a_person_has_pressed_keeps_its_words(store: Store) -> None:
    await store.set_switch(True, by="slack:U0ONCALL", why="mine", reach=SHOP)
    incident = await walk(store, State.REHEARSING)
    await store.latch(incident, HELD, (ev.Noted(text="refused"),))
    (stop,) = (await store.switch()).stops
    assert (stop.by, stop.why) == ("slack:U0ONCALL", "mine")


async def test_latches_and_presses_at_once_all_come_through(store: Store) -> None:
    one, other = await walk(store, State.REHEARSING, "checkout"), await walk(store, State.REHEARSING, "cart")
    await asyncio.gather(
        store.latch(one, HELD, (ev.Noted(text="a"),)),
        store.latch(other, HELD, (ev.Noted(text="b"),)),
        store.set_switch(True, by="ops", why="x", reach=BANK),
        store.set_switch(True, by="ops", why="y", reach=UNDO),
    )
    assert [stop.reach for stop in (await store.switch()).stops] == [BANK, SHOP, UNDO]
    assert (await store.audit()).ok
