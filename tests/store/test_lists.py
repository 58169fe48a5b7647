"""Lists, the stop switch, the delivery cursor and the wake hint."""

from __future__ import annotations

import asyncio
import math

import pytest

from handrail.adapters.store import Store, Telling
from handrail.model import events as ev
from handrail.model.errors import Transient
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.model.switch import Stop, Switch
from tests.factories import CLUSTER, FakeTime, a_target, an_alert
from tests.store.driving import arrive, drive, newest, walk


async def test_rows_are_newest_first_and_show_what_is_known(store: Store, time: FakeTime) -> None:
    first = await walk(store, State.RESOLVED, "checkout")
    opened_at = time.later(minutes=1)
    second = await arrive(store, an_alert("KubePodNotReady", workload="cart", seen_at=time.now), offset=1)
    rows = await store.rows(10)
    assert [row.id for row in rows] == [second, first.id]
    assert (rows[0].title, rows[0].target, rows[0].state) == ("KubePodNotReady", "Deployment shop/cart", "opened")
    assert (rows[0].opened_at, rows[0].ended_at, rows[0].head) == (opened_at, None, 1)
    assert (rows[1].state, rows[1].head) == ("RESOLVED", first.seq)
    assert rows[1].ended_at == first.moved_at
    assert [row.id for row in await store.rows(1)] == [second]
    assert [row.id for row in await store.rows(10, "RESOLVED")] == [first.id]


async def test_open_incidents_are_listed_with_their_heads_oldest_first(store: Store, time: FakeTime) -> None:
    ids = []
    for offset, name in enumerate(("checkout", "cart", "search")):
        ids.append(await arrive(store, an_alert(workload=name), offset=offset))
        time.later(seconds=1)
    await drive(store, await newest(store, ids[1]), (ev.GatheringBegun(),))
    over = ev.HandedOver(reason=Reason.NO_TARGET, detail="none")
    await drive(store, await newest(store, ids[0]), (over,))
    assert await store.open_heads() == {ids[1]: 2, ids[2]: 1}
    assert await store.open_ids() == (ids[1], ids[2])
    assert await store.count_by_state() == {"HANDED_OVER": 1, "gathering": 1, "opened": 1}


async def test_an_id_is_found_by_a_prefix_and_nothing_by_none(store: Store) -> None:
    one = await arrive(store, an_alert(workload="checkout"), offset=0)
    other = await arrive(store, an_alert(workload="cart"), offset=1)
    assert set(await store.find("inc-")) == {one, other}
    assert await store.find(one[:9]) == (one,)
    assert await store.find(one) == (one,)
    for nothing in ("", "inc-nobody", "%", "inc_", "\ud800"):
        assert await store.find(nothing) == ()


async def test_an_unknown_incident_is_none_and_has_no_entries(store: Store) -> None:
    assert await store.incident("inc-nobody") is None
    assert await store.entries("inc-nobody") == ()


async def test_the_switch_says_who_why_and_when_and_outlives_a_restart(url: str, time: FakeTime) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    assert await store.switch() == Switch()
    at = time.later(minutes=1)
    pressed = await store.set_switch(True, by="slack:U0ONCALL", why="freeze")
    assert pressed == Switch(pressed=(Stop(by="slack:U0ONCALL", why="freeze", at=at),))
    await store.close()
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    assert await store.switch() == pressed
    await store.close()


async def test_each_press_of_the_switch_is_in_the_books(store: Store) -> None:
    for stopped in (True, True, False):
        await store.set_switch(stopped, by="kubernetes:ops", why="because")
    async with store._database._home.writes.connect() as conn:
        told = (
            await conn.exec_driver_sql("SELECT seq, kind, actor FROM journal WHERE incident = 'system' ORDER BY seq")
        ).all()
    assert [tuple(row) for row in told] == [
        (1, "stopped", "kubernetes:ops"),
        (2, "stopped", "kubernetes:ops"),
        (3, "started", "kubernetes:ops"),
    ]
    assert await store.open_ids() == ()
    assert await store.find("system") == ()


async def test_what_people_were_told_is_remembered_per_incident(store: Store) -> None:
    one = await walk(store, State.GATHERING, "checkout")
    other = await walk(store, State.GATHERING, "cart")
    assert await store.telling(one.id) == Telling()
    assert await store.untold() == tuple(sorted((one.id, other.id)))
    told = Telling(channel="C1", ts="171.5", told_seq=1)
    await store.save_telling(one.id, told)
    assert await store.telling(one.id) == told
    assert one.id in await store.untold()
    await store.save_telling(one.id, told.model_copy(update={"told_seq": 2}))
    assert await store.untold() == (other.id,)
    await drive(store, one, (ev.HandedOver(reason=Reason.NO_TARGET, detail="none"),))
    assert set(await store.untold()) == {one.id, other.id}


async def test_a_waiter_is_woken_by_a_commit_and_by_a_nudge(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    assert await store.wait_changed(60)
    waiting = asyncio.create_task(store.wait_changed(60))
    await asyncio.sleep(0)
    await store.append(incident, (ev.GatheringBegun(),))
    assert await waiting
    nudged = asyncio.create_task(_second_wait(store))
    await asyncio.sleep(0)
    store.nudge()
    assert await nudged


async def _second_wait(store: Store) -> bool:
    await store.wait_changed(0)
    return await store.wait_changed(60)


async def test_news_that_came_while_a_loop_was_busy_is_not_missed(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    await store.wait_changed(60)
    await store.append(incident, (ev.GatheringBegun(),))
    assert await store.wait_changed(60)
    assert not await store.wait_changed(0)


async def test_every_loop_hears_the_same_news(store: Store) -> None:
    waiters = [asyncio.create_task(_second_wait(store)) for _ in range(3)]
    await asyncio.sleep(0)
    await walk(store, State.OPENED)
    assert await asyncio.gather(*waiters) == [True] * 3


async def test_whether_the_store_answers_is_asked_only_where_nothing_was_read_just_now(store: Store) -> None:
    await store.switch()
    await store.close()
    await store.answers()
    with pytest.raises(Transient):
        await store.ping()
    store._database.answered = -math.inf
    with pytest.raises(Transient):
        await store.answers()


async def test_what_grows_no_journal_wakes_nobody(store: Store) -> None:
    incident = await walk(store, State.GATHERING)
    await store.wait_changed(60)
    await store.save_telling(incident.id, Telling(told_seq=1))
    await store.incident(incident.id)
    assert not await store.wait_changed(0)


async def test_a_store_that_answers_pings_silently_and_a_closed_file_is_transient(store: Store) -> None:
    await store.ping()

    async def locked() -> None:
        async with store._database._home.writes.connect() as conn:
            await conn.exec_driver_sql("DROP TABLE switch")
            await conn.commit()

    await locked()
    with pytest.raises(Transient):
        await store.switch()


async def test_the_target_of_a_row_follows_what_the_api_server_confirmed(store: Store) -> None:
    await walk(store, State.PLANNING, "checkout", a_target("checkout-v2", "uid-v2"))
    assert (await store.rows(1))[0].target == "Deployment shop/checkout-v2"
