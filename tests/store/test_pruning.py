"""What came in is forgotten after a week, but for what an open incident has; the journal stays."""

from __future__ import annotations

import pytest

from handrail.adapters.store import Store, pruning
from handrail.model import events as ev
from handrail.model.arrival import Fate, Took
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.factories import FakeTime, a_batch, a_source, an_alert, an_arrival
from tests.store.driving import MAX_AGE, arrive, drive, newest

OVER = (ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="over"),)


async def ended(store: Store, name: str, offset: int) -> str:
    id_ = await arrive(store, an_alert(workload=name), offset=offset)
    await drive(store, await newest(store, id_), OVER)
    return id_


async def test_after_a_week_the_inbox_and_the_signals_of_what_is_over_are_forgotten(
    store: Store, time: FakeTime
) -> None:
    over = await ended(store, "over", 0)
    await arrive(store, an_alert(workload="open"), offset=1)
    await arrive(store, an_alert(status="resolved", workload="nobodys"), offset=2)
    time.later(days=6)
    assert await store.prune() == 0
    await arrive(store, an_alert(workload="young"), offset=3)
    time.later(days=2)
    assert await store.prune() == 2 + 3  # signals of what is over and of nothing; places 0, 1 and 2
    assert await store.prune() == 0
    assert (await store.audit()).ok
    assert (await newest(store, over)).state is State.HANDED_OVER
    taken = a_batch(an_arrival(), source=a_source(3))
    assert await store.take((taken,), max_age=MAX_AGE) == ((Took(fate=Fate.SEEN_BEFORE),),)


async def test_repeats_of_an_open_incident_are_still_counted_after_a_week(store: Store, time: FakeTime) -> None:
    """Else the journal of one that is open for long would begin to move with every repeat again."""
    id_ = await arrive(store, an_alert(), offset=0)
    for offset in range(1, 30):
        await arrive(store, an_alert(), offset=offset)
    before = len(await store.entries(id_))
    time.later(days=8)
    assert await store.prune() == 30
    for offset in range(30, 60):
        await arrive(store, an_alert(), offset=offset)
    assert len(await store.entries(id_)) <= before + 1


async def test_it_goes_on_piece_by_piece_and_past_what_is_still_needed(
    store: Store, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "PIECE", 3)
    for number in range(4):
        await arrive(store, an_alert(workload=f"open-{number}"), offset=number)
    for number in range(10):
        await ended(store, f"over-{number}", 10 + number)
    for partition in range(3):
        await store.take((a_batch(source=a_source(partition=partition, topic="other")),), max_age=MAX_AGE)
    time.later(days=8)
    assert await store.prune() == 10 + 14 + 3
    assert len(await store.open_ids()) == 4
