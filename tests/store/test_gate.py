"""The gate's transaction: what was judged is what is committed, and a refusal leaves no trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from handrail.adapters.store import Store
from handrail.core.gate import GateFacts, Recent, judge
from handrail.model import events as ev
from handrail.model.errors import Bug, HeadMoved
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason, Refusal
from handrail.model.write import Direction
from tests.factories import (
    CLUSTER,
    NOW,
    FakeTime,
    a_policy,
    a_saga,
    a_target,
    an_intent,
    an_outcome,
    story_to,
)
from tests.store.driving import behind, drive, newest, passes, through_the_gate, walk


def real(intent: ev.Intent) -> Callable[[GateFacts], Refusal | None]:
    return lambda facts: judge(facts, a_policy(), "handrail", intent.write, intent.direction)


def intent_of(incident: Incident) -> ev.Intent:
    assert incident.saga is not None
    return an_intent(incident.saga)


async def test_an_approved_intent_passes_and_gives_the_permit_for_exactly_that_write(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    passed = await through_the_gate(store, incident, intent, real(intent))
    assert not isinstance(passed, Refusal)
    moved, permit = passed
    assert (permit.incident, permit.write, permit.resource_version) == (incident.id, intent.write, "100")
    assert permit.attempt == 1
    assert moved.open_write is not None
    assert await newest(store, incident.id) == moved


async def test_a_refused_intent_writes_nothing(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    no = Refusal(reason=Reason.RUN_EXPIRED, detail="too late")
    assert await through_the_gate(store, incident, intent_of(incident), lambda _facts: no) == no
    assert await newest(store, incident.id) == incident
    assert (await store.audit()).ok
    other = await walk(store, State.EXECUTING, "cart", a_target("cart", "uid-cart"))
    seen = await facts_of(store, other, "uid-checkout")
    assert seen.last_saga_at is None


async def facts_of(store: Store, incident: Incident, uid: str = "") -> GateFacts:
    """What the gate would read for a write to `uid`, without letting it pass."""
    seen: list[GateFacts] = []

    def look(facts: GateFacts) -> Refusal:
        seen.append(facts)
        return Refusal(reason=Reason.NOT_ALLOWED, detail="only looking")

    intent = intent_of(incident)
    if uid:
        write = intent.write.model_copy(update={"object": a_target(uid=uid)})
        intent = intent.model_copy(update={"write": write})
    await through_the_gate(store, incident, intent, look)
    return seen[0]


async def test_the_gate_reads_switch_epoch_and_time_inside_its_transaction(store: Store, time: FakeTime) -> None:
    incident = await walk(store, State.EXECUTING)
    at = time.later(minutes=3)
    switch = await store.set_switch(True, by="ops", why="freeze")
    facts = await facts_of(store, incident)
    assert (facts.switch, facts.now, facts.incident) == (switch, at, incident)
    assert facts.epoch == facts.holder_epoch


async def test_a_stop_pressed_between_decision_and_intent_wins(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    pressed, passed = await asyncio.gather(
        store.set_switch(True, by="ops", why="freeze"), through_the_gate(store, incident, intent, real(intent))
    )
    assert pressed.stopped
    assert isinstance(passed, Refusal)
    assert passed.reason is Reason.STOPPED
    assert await newest(store, incident.id) == incident


async def test_a_started_daemon_goes_on(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    await store.set_switch(True, by="ops", why="freeze")
    await store.set_switch(False, by="ops", why="over")
    intent = intent_of(incident)
    assert not isinstance(await through_the_gate(store, incident, intent, real(intent)), Refusal)


async def test_a_person_who_was_faster_makes_the_intent_lose(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    await store.append(incident, (ev.Noted(text="wait"),))
    with pytest.raises(HeadMoved):
        await through_the_gate(store, incident, intent_of(incident), passes)


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_an_opener_of_the_same_file_later_on_outdates_the_one_before(url: str, time: FakeTime) -> None:
    first = await Store.open(url, cluster=CLUSTER, clock=time)
    await first.close()
    second = await Store.open(url, cluster=CLUSTER, clock=time)
    assert second.epoch == first.epoch + 1
    await second.close()


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_a_replaced_process_is_told_that_its_epoch_is_over(store: Store, path: Path) -> None:
    incident = await walk(store, State.EXECUTING)
    behind(path).execute("UPDATE meta SET holder_epoch = holder_epoch + 1")
    intent = intent_of(incident)
    refused = await through_the_gate(store, incident, intent, real(intent))
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.LEASE_LOST


async def test_a_further_attempt_is_journalled_and_counted(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    incident = await drive(store, incident, (intent,))
    again = ev.Attempted(key=intent.write.key, resource_version="102")
    passed = await through_the_gate(store, incident, again, real(intent))
    assert not isinstance(passed, Refusal)
    moved, permit = passed
    assert (permit.write, permit.resource_version, permit.attempt) == (intent.write, "102", 2)
    assert moved.writes[0].attempts == ("100", "102")


async def test_an_intent_after_an_absent_one_counts_the_attempts_of_both(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    incident = await drive(store, incident, (intent, an_outcome(intent, ev.Result.ABSENT)))
    passed = await through_the_gate(store, incident, intent, passes)
    assert not isinstance(passed, Refusal)
    assert passed[1].attempt == 2


@pytest.mark.parametrize("what", ["done already", "another in flight", "not in flight", "nameless"])
async def test_what_would_write_twice_is_a_bug_whatever_the_judge_says(store: Store, what: str) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    event: ev.Intent | ev.Attempted = intent
    if what == "done already":
        incident = await drive(store, incident, (intent, an_outcome(intent)))
    elif what == "another in flight":
        incident = await drive(store, incident, (intent,))
        other = intent.write.model_copy(update={"key": "another"})
        event = intent.model_copy(update={"write": other})
    elif what == "not in flight":
        event = ev.Attempted(key=intent.write.key, resource_version="1")
    else:
        event = intent.model_copy(update={"write": intent.write.model_copy(update={"key": ""})})
    with pytest.raises(Bug):
        await through_the_gate(store, incident, event, passes)
    assert await newest(store, incident.id) == incident


async def test_an_intent_in_a_state_that_does_not_act_is_a_bug(store: Store) -> None:
    incident = await walk(store, State.ASKING)
    with pytest.raises(Bug):
        await through_the_gate(store, incident, an_intent(a_saga(incident.id)), passes)
    assert await newest(store, incident.id) == incident


async def test_the_interval_counts_from_the_first_intent_of_another_incidents_saga(
    store: Store, time: FakeTime
) -> None:
    done = await walk(store, State.EXECUTING, "checkout", a_target("checkout", "uid-shared"))
    assert (await facts_of(store, done)).last_saga_at is None
    began = time.later(minutes=1)
    done = await drive(store, done, (intent_of(done),))
    time.later(minutes=2)
    done = await drive(store, done, (an_outcome(intent_of(done)), *_rest_of(done)))
    assert done.state is State.RESOLVED
    again = await walk(store, State.EXECUTING, "cart", a_target("cart", "uid-shared"))
    assert (await facts_of(store, again)).last_saga_at == began
    intent = intent_of(again)
    refused = await through_the_gate(store, again, intent, real(intent))
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.TARGET_COOLING_DOWN


def _rest_of(incident: Incident) -> tuple[ev.Event, ...]:
    """From an outcome to the end."""
    story = story_to(State.RESOLVED, incident.id, incident.target)
    begin = next(index for index, event in enumerate(story) if isinstance(event, ev.Outcome))
    return story[begin + 1 :]


async def test_later_writes_and_the_undo_of_the_same_saga_do_not_count_against_it(store: Store, time: FakeTime) -> None:
    incident = await walk(store, State.UNDOING)
    time.later(minutes=1)
    assert incident.saga is not None
    facts: list[GateFacts] = []

    def look(seen: GateFacts) -> None:
        facts.append(seen)

    await through_the_gate(store, incident, an_intent(incident.saga, Direction.UNDO), look)
    assert facts[0].last_saga_at is None


async def test_another_round_of_the_same_incident_is_not_counted_against_it_but_against_others(
    store: Store, time: FakeTime
) -> None:
    incident = await walk(store, State.VERIFYING)
    time.later(minutes=5)
    saga = a_saga(incident.id, round_=2)
    story = story_to(State.EXECUTING, incident.id)
    planning = next(index for index, event in enumerate(story) if isinstance(event, ev.Gathered))
    again = [ev.Compiled(saga=saga) if isinstance(event, ev.Compiled) else event for event in story[planning:]]
    incident = await drive(store, incident, (ev.Replanned(), *again))
    assert (await facts_of(store, incident)).last_saga_at is None
    other = await walk(store, State.EXECUTING, "cart", a_target("cart", "uid-cart"))
    assert (await facts_of(store, other, "uid-checkout")).last_saga_at == NOW


async def test_what_is_asked_before_anybody_is_asked_is_what_the_gate_will_read(store: Store) -> None:
    holder = await walk(store, State.VERIFYING, "cart", a_target("cart", "uid-cart"))
    incident = await walk(store, State.REHEARSING)
    assert await store.recent(incident, {"uid-checkout"}) == Recent()
    assert await store.recent(incident, {"uid-cart"}) == Recent(last_saga_at=NOW, busy_with=holder.id)
    assert await store.recent(holder, ()) == Recent()


async def test_a_target_that_another_open_incident_holds_is_busy(store: Store) -> None:
    holder = await walk(store, State.PLANNING, "cart", a_target("cart", "uid-cart"))
    incident = await walk(store, State.EXECUTING)
    assert (await facts_of(store, incident)).busy_with == ""
    assert (await facts_of(store, incident, uid="uid-cart")).busy_with == holder.id


async def test_a_judge_that_breaks_leaves_nothing_behind_and_the_store_usable(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)

    def breaks(_facts: GateFacts) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await through_the_gate(store, incident, intent_of(incident), breaks)
    assert await newest(store, incident.id) == incident
    await drive(store, incident, (intent_of(incident),))


async def test_what_has_expired_while_the_gate_waited_for_its_locks_has_expired(url: str, store: Store) -> None:
    """Whoever stands before it may take seconds; the time is looked at when all that it judges is locked."""
    incident = await walk(store, State.EXECUTING)
    await store.close()
    time = FakeTime()
    looks: list[datetime] = []

    def ticking() -> datetime:
        looks.append(time.later(seconds=10))
        return looks[-1]

    again = await Store.open(url, cluster=CLUSTER, clock=ticking)
    try:
        begun = len(looks)
        facts = await facts_of(again, incident)
    finally:
        await again.close()
    assert looks[begun] < facts.now
    assert facts.now in looks
