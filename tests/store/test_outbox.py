"""What is to be published: everything that is in the journals, and a cursor that never passes over anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.adapters.store import Outbox, Store
from handrail.model import events as ev
from handrail.model.errors import Damaged, Transient
from handrail.model.incident import State
from tests.factories import CLUSTER, FakeTime, a_target, an_alert
from tests.store.driving import arrive, behind, drive, newest, walk
from tests.store.places import on_server


@pytest.fixture
async def outbox(store: Store) -> Outbox:
    found = store.outbox("handrail.events")
    assert await found.on_duty()
    return found


async def test_each_incident_waits_from_where_it_was_published_to(store: Store, outbox: Outbox, time: FakeTime) -> None:
    assert await outbox.waiting() == {}
    closed = await walk(store, State.RESOLVED, "checkout")
    time.later(seconds=1)
    fresh = await arrive(store, an_alert(workload="cart"), offset=1)
    assert await outbox.waiting() == {closed.id: 0, fresh: 0}
    assert await outbox.entries_after(closed.id, 2) == (await store.entries(closed.id))[2:]
    await outbox.done(closed.id, 2)
    assert await outbox.waiting() == {closed.id: 2, fresh: 0}
    await outbox.done(closed.id, closed.seq)
    assert await outbox.waiting() == {fresh: 0}
    await drive(store, await newest(store, fresh), (ev.GatheringBegun(),))
    await outbox.done(fresh, 1)
    assert await outbox.waiting() == {fresh: 1}


async def test_a_cursor_never_moves_back(store: Store, outbox: Outbox) -> None:
    incident = await walk(store, State.GATHERING)
    await outbox.done(incident.id, incident.seq)
    await outbox.done(incident.id, 1)
    assert await outbox.waiting() == {}


async def test_every_publisher_has_its_own_cursors_and_begins_at_the_beginning(store: Store, outbox: Outbox) -> None:
    incident = await walk(store, State.GATHERING)
    await outbox.done(incident.id, incident.seq)
    assert await store.outbox("another.topic").waiting() == {incident.id: 0}


async def test_what_commits_late_in_one_incident_is_not_passed_over_for_another(store: Store, outbox: Outbox) -> None:
    first = await walk(store, State.OPENED, "checkout")
    second = await walk(store, State.OPENED, "cart", a_target("cart"))
    for id_ in (first.id, second.id):
        await outbox.done(id_, 1)
    await drive(store, second, (ev.GatheringBegun(),))
    await outbox.done(second.id, 2)
    await drive(store, first, (ev.GatheringBegun(),))
    assert await outbox.waiting() == {first.id: 1}


async def test_a_damaged_journal_is_not_published(store: Store, outbox: Outbox, path: Path) -> None:
    incident = await walk(store, State.GATHERING)
    behind(path).execute("UPDATE journal SET actor = 'somebody' WHERE seq = 2")
    with pytest.raises(Damaged):
        await outbox.entries_after(incident.id, 0)
    assert await outbox.waiting() == {incident.id: 0}


async def test_who_has_been_replaced_moves_no_cursor(
    store: Store, outbox: Outbox, url: str, path: Path, time: FakeTime
) -> None:
    if not on_server(path):
        assert await outbox.on_duty(), "one process has every duty"
        return
    incident = await walk(store, State.GATHERING)
    other = await Store.open(url, cluster=CLUSTER, clock=time)
    try:
        theirs = other.outbox("handrail.events")
        assert not await theirs.on_duty()
        behind(path).execute("UPDATE duties SET until = now() - interval '1 second'")
        assert await theirs.on_duty()
        with pytest.raises(Transient, match="another replica"):
            await outbox.done(incident.id, 1)
        await theirs.done(incident.id, 2)
        assert await theirs.waiting() == ({incident.id: 2} if incident.seq > 2 else {})
    finally:
        await other.close()
