"""Replicas on one PostgreSQL: whoever races, each thing happens once, and who was replaced does no harm."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.store import Access, Duty, Store, Telling
from handrail.core.gate import GateFacts, judge
from handrail.model import events as ev
from handrail.model.arrival import Fate
from handrail.model.errors import HandrailError, HeadMoved, Transient
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.value import digest
from tests.factories import (
    CLUSTER,
    NOW,
    FakeTime,
    a_batch,
    a_policy,
    a_target,
    an_alert,
    an_arrival,
    an_intent,
    an_outcome,
    gathered,
    story_to,
)
from tests.store.driving import MAX_AGE, TEXTS, arrive, behind, drive, newest, walk

pytestmark = pytest.mark.server
SHORT = Access(lease_seconds=1.5)
SHARED = a_target("checkout", "uid-shared")
ROUNDS = 6
STRESS = 40
"""Things that each of six workers does."""


@pytest.fixture
def kind() -> str:
    return "postgresql"


@pytest.fixture
async def other(url: str, time: FakeTime) -> AsyncIterator[Store]:
    """A second replica on the same database."""
    opened = await Store.open(url, cluster=CLUSTER, clock=time)
    yield opened
    await opened.close()


def real(intent: ev.Intent) -> Callable[[GateFacts], Refusal | None]:
    return lambda facts: judge(facts, a_policy(), "handrail", intent.write, intent.direction)


def intent_of(incident: Incident) -> ev.Intent:
    assert incident.saga is not None
    return an_intent(incident.saga)


async def tries(store: Store, incident: Incident, intent: ev.Intent) -> Permit | Refusal | HandrailError:
    """As a replica does it: takes the lease, then asks the gate."""
    try:
        async with store.driving(incident) as ours:
            if not ours:
                return Refusal(reason=Reason.LEASE_LOST, detail="another replica drives it")
            passed = await store.commit_intent(incident, intent, real(intent))
    except (HeadMoved, Transient) as lost:
        return lost
    return passed if isinstance(passed, Refusal) else passed[1]


async def expire(path: Path, id_: str) -> None:
    behind(path).execute("UPDATE incidents SET lease_until = now() - interval '1 second' WHERE id = :id", {"id": id_})


async def test_a_batch_that_two_replicas_take_in_is_taken_once(store: Store, other: Store) -> None:
    for offset in range(ROUNDS):
        batch = a_batch(an_arrival(an_alert(workload=f"w{offset}")), offset=offset)
        both = await asyncio.gather(*(one.take((batch,), max_age=MAX_AGE) for one in (store, other)))
        assert sorted(str(took[0][0].fate) for took in both) == sorted([str(Fate.OPENED), str(Fate.SEEN_BEFORE)])
    assert len(await store.open_ids()) == ROUNDS


async def test_two_alerts_of_one_thing_on_two_replicas_open_one_incident(store: Store, other: Store) -> None:
    for number in range(ROUNDS):
        alert = an_alert(workload=f"w{number}")
        ids = await asyncio.gather(arrive(store, alert, offset=2 * number), arrive(other, alert, offset=2 * number + 1))
        assert len(set(ids)) == 1
        assert len(await store.entries(ids[0])) == 2
    assert (await store.audit()).ok


async def test_one_target_is_claimed_once_and_the_other_incident_is_merged(store: Store, other: Store) -> None:
    for number in range(ROUNDS):
        target = a_target(f"w{number}", f"uid-{number}")
        one = await walk(store, State.GATHERING, f"a{number}")
        two = await walk(other, State.GATHERING, f"b{number}")
        ends = await asyncio.gather(
            store.claim(one, gathered(target), TEXTS), other.claim(two, gathered(target), TEXTS)
        )
        (won,) = [end for end in ends if isinstance(end, Incident)]
        assert [end for end in ends if isinstance(end, str)] == [won.id]
    assert (await store.audit()).ok


async def test_of_two_replicas_with_one_intent_exactly_one_gets_a_permit(store: Store, other: Store) -> None:
    for number in range(ROUNDS):
        incident = await walk(store, State.EXECUTING, f"w{number}")
        await store.let_go(incident.id)
        intent = intent_of(incident)
        ends = await asyncio.gather(tries(store, incident, intent), tries(other, incident, intent))
        assert sum(isinstance(end, Permit) for end in ends) == 1, ends
        told = [entry.event.kind for entry in await store.entries(incident.id)]
        assert told.count("intent") == 1


async def test_two_sagas_that_want_the_same_object_come_one_after_the_other(store: Store, other: Store) -> None:
    """Neither incident has it as its target (a node, say): the row of its UID is what both gates lock."""
    one = await walk(store, State.EXECUTING, "a", a_target("a"))
    two = await walk(other, State.EXECUTING, "b", a_target("b"))
    node = a_target("node", "uid-node")

    def on_the_node(incident: Incident) -> ev.Intent:
        intent = intent_of(incident)
        return intent.model_copy(update={"write": intent.write.model_copy(update={"object": node})})

    def only_alone(facts: GateFacts) -> Refusal | None:
        if facts.last_saga_at is None:
            return None
        return Refusal(reason=Reason.TARGET_COOLING_DOWN, detail="another saga was there first")

    async def commit(at: Store, incident: Incident) -> tuple[Incident, Permit] | Refusal:
        async with at.driving(incident):
            return await at.commit_intent(incident, on_the_node(incident), only_alone)

    ends = await asyncio.gather(commit(store, one), commit(other, two))
    assert sum(isinstance(end, Refusal) for end in ends) == 1, ends


async def test_a_stop_on_one_replica_and_an_intent_on_another_are_one_after_the_other(
    store: Store, other: Store
) -> None:
    """What was committed before the stop is before it in time too; after it there is none."""
    for number in range(ROUNDS):
        incident = await walk(other, State.EXECUTING, f"w{number}")
        await asyncio.gather(
            store.set_switch(True, by="ops", why="freeze"), tries(other, incident, intent_of(incident))
        )
        end = await tries(other, await newest(other, incident.id), intent_of(incident)) if number % 2 else None
        assert not isinstance(end, Permit)
        late = await walk_to_executing(store, f"late{number}")
        refused = await tries(other, late, intent_of(late))
        assert isinstance(refused, Refusal)
        assert refused.reason is Reason.STOPPED
        await store.set_switch(False, by="ops", why="over")


async def walk_to_executing(store: Store, workload: str) -> Incident:
    incident = await walk(store, State.EXECUTING, workload)
    await store.let_go(incident.id)
    return incident


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
        sent, _permit = _passed(await store.commit_intent(incident, intent, real(intent)))
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


def _passed(passed: tuple[Incident, Permit] | Refusal) -> tuple[Incident, Permit]:
    assert not isinstance(passed, Refusal), passed
    return passed


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


async def test_the_lease_of_an_incident_that_is_really_being_driven_goes_on(url: str, time: FakeTime) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=time, access=SHORT)
    other = await Store.open(url, cluster=CLUSTER, clock=time, access=SHORT)
    try:
        incident = await walk(store, State.EXECUTING)
        async with store.driving(incident):
            await asyncio.sleep(2 * SHORT.lease_seconds)
            assert incident.id not in await other.open_work()
            intent = intent_of(incident)
            _passed(await store.commit_intent(incident, intent, real(intent)))
        await asyncio.sleep(1.5 * SHORT.lease_seconds)
        assert incident.id in await other.open_work()
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


async def test_a_commit_on_one_replica_wakes_the_loops_of_another(store: Store, other: Store) -> None:
    await asyncio.sleep(0.2)
    await other.wait_changed(0)
    waiting = asyncio.create_task(other.wait_changed(20))
    await asyncio.sleep(0)
    await arrive(store, an_alert())
    assert await waiting


async def test_cut_connections_cost_one_try_and_listening_comes_back(store: Store, other: Store, path: Path) -> None:
    incident = await walk(store, State.GATHERING)
    cut(path)
    with contextlib.suppress(Transient):
        incident = await store.append(incident, (ev.Noted(text="after the cut"),))
    assert (await eventually(lambda: newest(store, incident.id))).state is State.GATHERING
    await asyncio.sleep(3)
    await other.wait_changed(0)
    waiting = asyncio.create_task(other.wait_changed(20))
    await asyncio.sleep(0)
    await store.append(await newest(store, incident.id), (ev.Noted(text="heard again"),))
    assert await waiting


def cut(path: Path) -> None:
    """Everybody's connections to this database, whatever they are doing."""
    behind(path).execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ? AND pid <> pg_backend_pid()",
        (path.name,),
    )


async def eventually(work: Callable[[], Awaitable[Any]]) -> Any:
    for _ in range(50):
        with contextlib.suppress(Transient):
            return await work()
        await asyncio.sleep(0.1)
    return await work()


async def test_a_connection_that_is_cut_in_the_middle_of_an_intent_leaves_nothing(store: Store, path: Path) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)

    def cuts(_facts: GateFacts) -> None:
        cut(path)

    async with store.driving(incident):
        with pytest.raises(Transient):
            await store.commit_intent(incident, intent, cuts)
    assert await eventually(lambda: newest(store, incident.id)) == incident
    async with store.driving(incident):
        _passed(await store.commit_intent(incident, intent, real(intent)))


async def test_nothing_waits_for_ever_and_nothing_is_lost_when_everybody_does_everything_at_once(
    store: Store, other: Store
) -> None:
    """Claims that merge, polls that attach to the same incidents, people who note and press stop."""
    chance = random.Random(7)
    ids = [(await walk(store, State.GATHERING, f"w{number}")).id for number in range(8)]
    offsets = iter(range(1000, 10**6))
    counts: dict[str, int] = {}

    async def one(at: Store) -> None:
        id_ = chance.choice(ids)
        match chance.randrange(5):
            case 0 | 1:
                alerts = [an_arrival(an_alert(workload=f"w{n}")) for n in chance.sample(range(8), 4)]
                await at.take((a_batch(*alerts, offset=next(offsets)),), max_age=MAX_AGE)
            case 2:
                incident = await newest(at, id_)
                if incident.state is State.GATHERING:
                    await at.claim(incident, gathered(a_target("x", f"uid-{chance.randrange(3)}")), TEXTS)
            case 3:
                noted = ev.Noted(text=str(chance.random()))
                await at.append(await newest(at, id_), (noted,), blobs={digest(noted.text): noted.text})
            case 4:
                await at.set_switch(chance.random() < 0.5, by="ops", why="stress")

    async def worker(at: Store) -> None:
        for _ in range(STRESS):
            try:
                await one(at)
                counts["done"] = counts.get("done", 0) + 1
            except (HeadMoved, Transient) as again:
                word = "deadlock" if "deadlock" in str(again) else type(again).__name__
                counts[word] = counts.get(word, 0) + 1

    await asyncio.gather(*(worker(at) for at in (store, other, store, other, store, other)))
    assert "deadlock" not in counts, counts
    assert counts.get("Transient", 0) == 0, counts
    report = await store.audit()
    assert report.ok, [stream for stream in report.streams if not stream.ok]


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
