"""Leases: one replica drives an incident, one has a duty, and whoever was replaced writes nothing more."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from handrail.adapters.store import Duty, Store, Telling
from handrail.model import events as ev
from handrail.model.errors import Transient
from handrail.model.incident import State
from handrail.model.reason import Reason, Refusal
from handrail.model.value import digest
from tests.factories import (
    CLUSTER,
    NOW,
    FakeTime,
    a_batch,
    an_alert,
    an_arrival,
    an_outcome,
    story_to,
)
from tests.store.driving import behind, drive, walk
from tests.store.replicas import SHORT, expire, intent_of, kind, other, permitted, real

__all__ = ["kind", "other"]

pytestmark = pytest.mark.server


async def test_an_incident_that_waits_is_held_by_nobody_and_a_driven_one_by_one(store: Store, other: Store) -> None:
    incident = await walk(store, State.GATHERING)
    async with store.driving(incident) as ours:
        assert ours
        assert incident.id not in await other.open_work()
        assert incident.id in await other.open_heads()
        async with other.driving(incident) as theirs:
            assert not theirs
    await store.let_go(incident.id)
    assert incident.id in await other.open_work()
    async with other.driving(incident) as theirs:
        assert theirs


async def test_a_replica_that_fell_silent_is_replaced_when_its_lease_ends(
    store: Store, other: Store, path: Path
) -> None:
    incident = await walk(store, State.EXECUTING)
    async with store.driving(incident):
        pass
    assert incident.id not in await other.open_work()
    await expire(path, incident.id)
    assert incident.id in await other.open_work()
    async with other.driving(incident) as theirs:
        assert theirs


async def test_a_zombie_that_wakes_up_gets_no_permit_and_its_late_outcome_is_kept(
    store: Store, other: Store, path: Path
) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    async with store.driving(incident):
        sent, _permit = permitted(await store.commit_intent(incident, intent, real(intent)))
        await expire(path, incident.id)  # here it is stopped, between the commit and the answer of the API server
        async with other.driving(sent) as theirs:
            assert theirs
            moved = await other.append(sent, (ev.Noted(text="taken over"),))
        again = ev.Attempted(key=intent.write.key, resource_version="101")
        refused = await store.commit_intent(moved, again, real(intent))
        assert isinstance(refused, Refusal)
        assert refused.reason is Reason.LEASE_LOST
        ended = await store.append_outcome(incident.id, an_outcome(intent))
        assert ended.open_write is None
    late = await other.append_outcome(incident.id, an_outcome(intent, ev.Result.STUCK))
    assert late.seq == ended.seq
    assert [e.event.kind for e in await other.entries(incident.id)].count("outcome") == 1


async def test_a_lease_that_is_over_gives_no_permit_although_nobody_has_taken_over(store: Store, path: Path) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    async with store.driving(incident):
        await expire(path, incident.id)
        refused = await store.commit_intent(incident, intent, real(intent))
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.LEASE_LOST


async def test_without_a_lease_there_is_no_permit_whatever_the_judge_says(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    await store.let_go(incident.id)
    refused = await store.commit_intent(incident, intent_of(incident), lambda _facts: None)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.LEASE_LOST


async def test_from_two_thirds_of_its_lease_on_a_replica_starts_nothing_new(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    leases = store._database.leases
    assert leases is not None
    async with store.driving(incident):
        left = store.seconds_left(incident.id)
        assert left is not None
        assert 0 < left < leases.seconds
        held = leases.forget(incident.id)
        assert held is not None
        leases.keep(incident.id, held.epoch, held.since - leases.seconds * 2 / 3)
        refused = await store.commit_intent(incident, intent_of(incident), real(intent_of(incident)))
        assert isinstance(refused, Refusal)
        assert refused.reason is Reason.LEASE_LOST
        assert (store.seconds_left(incident.id) or 0) < left / 2


async def test_the_lease_of_an_incident_that_is_really_being_driven_goes_on(
    url: str, path: Path, time: FakeTime
) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=time, access=SHORT)
    other = await Store.open(url, cluster=CLUSTER, clock=time, access=SHORT)

    def ends() -> datetime:
        found: datetime = behind(path).execute("SELECT lease_until FROM incidents").fetchall()[0][0]
        return found

    try:
        incident = await walk(store, State.EXECUTING)
        async with store.driving(incident):
            first = ends()
            while ends() < first + timedelta(seconds=SHORT.lease_seconds):
                assert incident.id not in await other.open_work()
                await asyncio.sleep(0.2)
            intent = intent_of(incident)
            permitted(await store.commit_intent(incident, intent, real(intent)))
        last = ends()
        async with asyncio.timeout(60):
            while incident.id not in await other.open_work():
                await asyncio.sleep(0.2)
        assert ends() == last, "nobody drives it any more"
    finally:
        await store.close()
        await other.close()


async def test_clocks_of_replicas_that_differ_by_an_hour_change_no_lease(url: str, store: Store) -> None:
    """The leases are by the database's clock alone, wherever the replicas' hands stand."""
    early = await Store.open(url, cluster=CLUSTER, clock=FakeTime(NOW + timedelta(hours=1)))
    incident = await walk(store, State.EXECUTING)
    async with store.driving(incident), early.driving(incident) as theirs:
        assert not theirs
    await store.let_go(incident.id)
    async with early.driving(incident) as theirs, store.driving(incident) as ours:
        assert theirs
        assert not ours
    await early.close()


async def test_without_a_clock_of_its_own_a_replica_writes_the_databases_time(url: str, path: Path) -> None:
    store = await Store.open(url, cluster=CLUSTER)
    id_ = (await store.take((a_batch(an_arrival(an_alert(seen_at=NOW))),), max_age=timedelta(days=36500)))[0][
        0
    ].incident
    ((seconds,),) = (
        behind(path)
        .execute("SELECT abs(extract(epoch FROM now() - at::timestamptz))::int FROM journal WHERE incident = ?", (id_,))
        .fetchall()
    )
    await store.close()
    assert seconds < 60


async def test_one_replica_at_a_time_has_a_duty_and_a_late_save_overwrites_nothing(
    store: Store, other: Store, path: Path
) -> None:
    incident = await walk(store, State.GATHERING)
    assert not await other.on_duty(Duty.TELLING)
    with pytest.raises(Transient, match="another replica"):
        await other.save_telling(incident.id, Telling(channel="C1", ts="theirs", told_seq=1))
    behind(path).execute("UPDATE duties SET until = now() - interval '1 second'")
    assert await other.on_duty(Duty.TELLING)
    await other.save_telling(incident.id, Telling(channel="C1", ts="theirs", told_seq=2))
    with pytest.raises(Transient, match="another replica"):
        await store.save_telling(incident.id, Telling(channel="C1", ts="mine", told_seq=1))
    assert (await store.telling(incident.id)).ts == "theirs"
    await other.close()
    store._duties._held.clear()
    assert await store.on_duty(Duty.TELLING)


async def test_a_models_answer_of_a_replaced_replica_is_kept_and_a_recorded_one_never_replaced(
    store: Store, other: Store
) -> None:
    incident = await walk(store, State.GATHERING)
    asked = ev.ModelAsked(request="r1", model="m", input_tokens=100)
    incident = await drive(store, incident, (*story_to(State.PLANNING, incident.id)[1:], asked))
    texts = ("first", "second")
    answers = [ev.ModelAnswered(request="r1", raw=digest(text), input_tokens=9, output_tokens=5) for text in texts]
    ends = await asyncio.gather(
        *(
            at.answer_model(incident.id, answered, {digest(text): text})
            for at, answered, text in zip((store, other), answers, texts, strict=True)
        )
    )
    assert len({end.model_calls[0].raw for end in ends}) == 1
    kept = await store.blob(ends[0].model_calls[0].raw)
    assert kept in texts
