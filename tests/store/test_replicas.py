"""Replicas on one PostgreSQL: whoever races, each thing happens once, and who was replaced does no harm."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path

import pytest

from handrail.adapters.store import Store
from handrail.core.gate import GateFacts
from handrail.model import events as ev
from handrail.model.arrival import Fate
from handrail.model.errors import HeadMoved, Transient
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.value import digest
from tests.factories import (
    a_batch,
    a_target,
    an_alert,
    an_arrival,
    gathered,
)
from tests.store.driving import MAX_AGE, TEXTS, arrive, newest, walk
from tests.store.replicas import cut, eventually, intent_of, kind, other, permitted, real, tries, walk_to_executing

__all__ = ["kind", "other"]

pytestmark = pytest.mark.server

SHARED = a_target("checkout", "uid-shared")
ROUNDS = 6
STRESS = 40
"""Things that each of six workers does."""


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
        _, first = await asyncio.gather(
            store.set_switch(True, by="ops", why="freeze"), tries(other, incident, intent_of(incident))
        )
        if not isinstance(first, Permit):  # one that came first is in flight, and found out before any other
            end = await tries(other, await newest(other, incident.id), intent_of(incident))
            assert not isinstance(end, Permit)
        late = await walk_to_executing(store, f"late{number}")
        refused = await tries(other, late, intent_of(late))
        assert isinstance(refused, Refusal)
        assert refused.reason is Reason.STOPPED
        await store.set_switch(False, by="ops", why="over")


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
        permitted(await store.commit_intent(incident, intent, real(intent)))


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
