"""The same episode after its incident has ended: the newest generation counts, and what is noted there is bounded."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.adapters.store import Store
from handrail.core.grouping import QUIET_AFTER_END
from handrail.model import events as ev
from handrail.model.arrival import Fate, Took
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.factories import CLUSTER, FakeTime, a_batch, a_source, a_target, an_alert, an_arrival, gathered
from tests.store.driving import MAX_AGE, arrive, drive, newest, walk
from tests.store.places import migrated

NOISE = ev.Suppressed(reason=Reason.RESOLVED_BY_ITSELF, detail="well")


async def again(store: Store, time: FakeTime, offset: int, status: str = "firing", name: str = "") -> Took:
    """The very same episode, seen now."""
    alert = an_alert(name, status=status, seen_at=time.now) if name else an_alert(status=status, seen_at=time.now)
    return (await store.take((a_batch(an_arrival(alert), offset=offset),), max_age=MAX_AGE))[0][0]


async def notes(store: Store, id_: str) -> list[ev.AlertAttached]:
    return [entry.event for entry in await store.entries(id_) if isinstance(entry.event, ev.AlertAttached)]


async def test_each_false_resolve_taken_back_opens_one_more_generation(store: Store, time: FakeTime) -> None:
    ids = [(await walk(store, State.SUPPRESSED)).id]
    for offset in range(1, 5):
        time.later(hours=4)
        took = await again(store, time, offset)
        assert took.fate is Fate.OPENED
        assert (await again(store, time, 100 + offset)).incident == took.incident
        incident = await newest(store, took.incident)
        assert incident.follows == ev.Follows(incident=ids[-1], ended="SUPPRESSED")
        await drive(store, incident, (NOISE,))
        ids.append(took.incident)
    assert len(set(ids)) == 5
    assert (await store.audit()).ok


async def test_the_newest_generation_decides_not_the_first(store: Store, time: FakeTime) -> None:
    await walk(store, State.SUPPRESSED)
    time.later(hours=1)
    second = await again(store, time, 1)
    rejected = ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="a person has it")
    await drive(store, await newest(store, second.incident), (rejected,))
    time.later(hours=5)
    assert await again(store, time, 2) == Took(fate=Fate.ATTACHED, incident=second.incident)


async def test_a_repaired_thing_that_fires_on_opens_a_linked_incident_after_the_cool_down(
    store: Store, time: FakeTime
) -> None:
    repaired = await walk(store, State.RESOLVED)
    time.later(minutes=5)
    assert (await again(store, time, 1)).incident == repaired.id
    time.now += QUIET_AFTER_END
    took = await again(store, time, 2)
    assert took.fate is Fate.OPENED
    assert (await newest(store, took.incident)).follows == ev.Follows(incident=repaired.id, ended="RESOLVED")


async def test_an_older_episode_that_fires_again_is_news_of_its_own(store: Store, time: FakeTime) -> None:
    first = await walk(store, State.RESOLVED)
    time.later(hours=1)
    second = await arrive(store, an_alert(starts_at=time.now, seen_at=time.now), offset=1)
    await drive(store, await newest(store, second), (NOISE,))
    time.later(hours=1)
    took = await again(store, time, 2)
    assert took.fate is Fate.OPENED
    follows = (await newest(store, took.incident)).follows
    assert follows is not None
    assert follows.incident == first.id


@pytest.mark.parametrize("state", [State.HANDED_OVER, State.RESOLVED])
async def test_what_fires_on_after_the_end_is_noted_at_once_and_then_at_most_hourly(
    store: Store, time: FakeTime, state: State
) -> None:
    closed = await walk(store, state)
    before = len(await notes(store, closed.id))
    time.later(minutes=2)
    for offset in range(1, 5):
        assert (await again(store, time, offset)).incident == closed.id
    noted = await notes(store, closed.id)
    assert [note.closed for note in noted[before:]] == [str(state)]
    await again(store, time, 5, status="resolved")
    await again(store, time, 6, status="resolved")
    assert len(await notes(store, closed.id)) == before + 2


async def test_a_person_who_has_it_for_days_hears_of_it_once_an_hour(store: Store, time: FakeTime) -> None:
    closed = await walk(store, State.HANDED_OVER)
    for offset in range(1, 13 * 6):
        time.later(minutes=10)
        await again(store, time, offset)
    assert 12 <= len(await notes(store, closed.id)) <= 13


MERGED_AS = "KubePodCrashLooping"


async def merged(store: Store, time: FakeTime) -> tuple[str, str]:
    """An incident that holds the target, and another of another name that was merged into it."""
    winner = await walk(store, State.ASKING)
    loser = await arrive(store, an_alert(MERGED_AS), offset=50)
    incident = await drive(store, await newest(store, loser), (ev.GatheringBegun(),))
    assert await store.claim(incident, gathered(a_target()), {}) == winner.id
    time.later(minutes=1)
    return winner.id, loser


async def test_what_was_merged_goes_on_where_it_went(store: Store, time: FakeTime) -> None:
    winner, _ = await merged(store, time)
    assert await again(store, time, 60, name=MERGED_AS) == Took(fate=Fate.ATTACHED, incident=winner)
    rejected = ev.HandedOver(reason=Reason.REJECTED, detail="a person has it")
    await drive(store, await newest(store, winner), (rejected,))
    time.later(hours=3)
    assert await again(store, time, 61, name=MERGED_AS) == Took(fate=Fate.ATTACHED, incident=winner)


async def test_what_was_merged_into_noise_is_not_lost_with_it(store: Store, time: FakeTime) -> None:
    winner, loser = await merged(store, time)
    await drive(store, await newest(store, winner), (NOISE,))
    time.later(minutes=3)
    took = await again(store, time, 60, name=MERGED_AS)
    assert took.fate is Fate.OPENED
    assert took.incident not in (winner, loser)
    assert (await newest(store, took.incident)).follows == ev.Follows(incident=winner, ended="SUPPRESSED", echo=True)


async def test_a_neighbour_that_is_resolved_does_not_stand_for_the_incident_it_was_merged_into(
    store: Store, time: FakeTime
) -> None:
    """Else each pod's own alert that goes away would call the question off."""
    winner, _ = await merged(store, time)
    await again(store, time, 60, status="resolved", name=MERGED_AS)
    assert (await newest(store, winner)).resolved_seen_at is None


ENDS: dict[str, ev.Event] = {
    "noise": NOISE,
    "nothing": ev.Suppressed(reason=Reason.NOTHING_WRONG, detail="well"),
    "person": ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="over"),
}
DAYS = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["firing", "resolved", *ENDS])), min_size=1, max_size=25)


@settings(max_examples=20, deadline=None)
@given(DAYS)
async def test_whatever_fires_is_in_an_open_incident_or_with_a_person_and_never_in_two(
    tmp_path_factory: pytest.TempPathFactory, days: list[tuple[int, str]]
) -> None:
    time = FakeTime()
    path = migrated(tmp_path_factory.mktemp("days") / "x.db")
    store = await Store.open(f"sqlite:///{path}", cluster=CLUSTER, clock=time)
    opened: Counter[str] = Counter()
    for offset, (minutes, what) in enumerate(days):
        time.later(minutes=minutes, seconds=1)
        if what in ENDS:
            for id_ in await store.open_ids():
                await store.append(await newest(store, id_), (ENDS[what],))
            continue
        took = await again(store, time, offset, status=what)
        opened[took.incident] += took.fate is Fate.OPENED
        assert len(await store.open_ids()) <= 1
        if what == "firing":
            state = (await newest(store, took.incident)).state
            assert not state.terminal or state is State.HANDED_OVER
    assert max(opened.values(), default=0) <= 1
    assert (await store.audit()).ok
    await store.close()


async def test_a_record_that_is_taken_again_after_the_end_opens_nothing(store: Store, time: FakeTime) -> None:
    first = await walk(store, State.SUPPRESSED)
    time.later(minutes=10)
    old = a_batch(an_arrival(), source=a_source(9, topic="mirror"))
    assert (await store.take((old,), max_age=MAX_AGE))[0][0] == Took(fate=Fate.ATTACHED, incident=first.id)


async def test_two_polls_at_the_same_moment_open_one_generation(store: Store, time: FakeTime) -> None:
    await walk(store, State.SUPPRESSED)
    time.now += timedelta(hours=1)
    both = a_batch(an_arrival(an_alert(seen_at=time.now)), an_arrival(an_alert(seen_at=time.now)), offset=1)
    took = (await store.take((both,), max_age=MAX_AGE))[0]
    assert [one.fate for one in took] == [Fate.OPENED, Fate.ATTACHED]
    assert took[0].incident == took[1].incident
