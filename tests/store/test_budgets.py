"""What budgets are counted from: rows that no restart forgets, read in the transaction that commits the intent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.adapters.store import Store
from handrail.core.budgets import Begun, Spent
from handrail.core.gate import GateFacts, judge
from handrail.model import events as ev
from handrail.model.budgets import Budgets
from handrail.model.incident import Incident, State
from handrail.model.policy import Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Risk, Verdict
from handrail.model.taking_back import TakeBack
from handrail.model.write import Direction
from tests.factories import (
    CLUSTER,
    NOW,
    FakeTime,
    a_policy,
    a_target,
    an_intent,
    an_outcome,
    story_to,
    verified,
)
from tests.store.driving import behind, drive, newest, through_the_gate, walk

UNIT = Budgets.model_validate({"per_cluster": {"most": 1, "minutes": 10}, "per_risk": {"disruptive": None}})


def with_(budgets: Budgets) -> Policy:
    return a_policy().model_copy(update={"budgets": budgets})


def real(intent: ev.Intent, policy: Policy) -> Callable[[GateFacts], Refusal | None]:
    return lambda facts: judge(facts, policy, "handrail", intent.write, intent.direction)


def intent_of(incident: Incident) -> ev.Intent:
    assert incident.saga is not None
    return an_intent(incident.saga)


async def tries(store: Store, incident: Incident, budgets: Budgets) -> Reason | None:
    intent = intent_of(incident)
    passed = await through_the_gate(store, incident, intent, real(intent, with_(budgets)))
    return passed.reason if isinstance(passed, Refusal) else None


async def ready(store: Store, name: str, uid: str = "") -> Incident:
    return await walk(store, State.EXECUTING, name, a_target(name, uid))


async def ended(store: Store, incident: Incident) -> Incident:
    """From its first intent to its end."""
    intent = intent_of(incident)
    events = (intent, an_outcome(intent), ev.StepDone(step=0), ev.Acted(), verified(Verdict.HEALED))
    return await drive(store, incident, events)


async def test_what_was_counted_is_counted_after_a_restart_and_frees_itself_with_time(
    store: Store, url: str, time: FakeTime
) -> None:
    first = await ended(store, await ready(store, "a"))
    second = await ready(store, "b")
    assert await tries(store, second, UNIT) is Reason.BUDGET_SPENT
    await store.close()
    again = await Store.open(url, cluster=CLUSTER, clock=time)
    try:
        time.later(minutes=9)
        assert [one.incident for one in (await again.spent(second, ())).begun] == [first.id]
        assert await tries(again, second, UNIT) is Reason.BUDGET_SPENT
        time.later(minutes=1)
        assert await tries(again, second, UNIT) is None
    finally:
        await again.close()


async def looked_at(store: Store, incident: Incident, intent: ev.Intent | None = None) -> GateFacts:
    """What the gate reads, without letting it pass."""
    seen: list[GateFacts] = []

    def look(facts: GateFacts) -> Refusal:
        seen.append(facts)
        return Refusal(reason=Reason.NOT_ALLOWED, detail="only looking")

    await through_the_gate(store, incident, intent or intent_of(incident), look)
    return seen[0]


async def test_a_run_is_counted_once_with_all_that_it_is_to_write_and_by_its_class(store: Store) -> None:
    incident = await ready(store, "a")
    assert (await looked_at(store, incident)).spent == Spent()
    await drive(store, incident, (intent_of(incident),))
    other = await ready(store, "b", "uid-b")
    spent = await store.spent(other, ("uid-a", "uid-b"))
    begun = Begun(at=NOW, incident=incident.id, round=1, risk=Risk.DISRUPTIVE, uids=frozenset({"uid-a"}))
    assert spent == Spent(begun=(begun,), at_work=(incident.id,))
    assert (await looked_at(store, other)).spent == spent.model_copy(
        update={"begun": (begun.model_copy(update={"uids": frozenset()}),)}
    )


async def test_later_writes_attempts_and_the_undo_of_a_run_are_no_other_run_and_read_no_budget(store: Store) -> None:
    incident = await walk(store, State.UNDOING, "a", a_target("a"))
    assert incident.saga is not None
    facts = await looked_at(store, incident, an_intent(incident.saga, Direction.UNDO))
    assert facts.spent == Spent()
    undone = await drive(store, incident, story_to(State.UNDONE, incident.id, a_target("a"))[-4:])
    assert undone.state is State.UNDONE
    assert len((await store.spent_by_all()).begun) == 1


async def test_a_run_of_which_the_journal_can_not_tell_the_class_counts_to_every_class(
    store: Store, path: Path
) -> None:
    await ended(store, await ready(store, "a"))
    behind(path).execute("UPDATE journal SET version = 99 WHERE kind = 'compiled'")
    (begun,) = (await store.spent_by_all()).begun
    assert begun.risk is None


async def test_what_a_person_had_taken_back_is_counted_to_no_budget(store: Store) -> None:
    incident = await ready(store, "a")
    back = TakeBack(
        step="rollout_undo", risk=Risk.DISRUPTIVE, target=a_target(), params={}, summary="", before={}, after={}
    )
    started = await walk(store, State.OPENED, "b")
    started = await drive(store, started, (ev.TakingBack(steps=(back,)),))
    started = await drive(store, started, story_to(State.EXECUTING, started.id, a_target("b")))
    await drive(store, started, (intent_of(started),))
    spent = await store.spent(incident, ("uid-b",))
    assert (spent.begun, spent.at_work) == ((), (started.id,))
    assert await tries(store, incident, UNIT) is None


@pytest.mark.parametrize("state", [s for s in State if s not in (State.HANDED_OVER, State.SUPPRESSED)])
async def test_at_work_is_who_has_written_and_is_not_through_with_it(store: Store, state: State) -> None:
    other = await walk(store, State.GATHERING, "b")
    incident = await walk(store, state, "a", a_target("a"))
    at_work = (await store.spent(other, ())).at_work
    assert at_work == ((incident.id,) if state in (State.VERIFYING, State.UNDOING, State.UNDONE) else ())
    assert (await store.spent(incident, ())).at_work == ()


async def test_who_waits_for_a_turn_is_not_at_work_also_in_a_second_round(store: Store) -> None:
    """Else two of them would wait for each other for ever."""
    waiting = await ready(store, "a")
    assert (await store.spent_by_all()).at_work == ()
    begun = await drive(store, waiting, (intent_of(waiting),))
    assert (await store.spent_by_all()).at_work == (begun.id,)
    out = an_outcome(intent_of(begun))
    verifying = await drive(store, begun, (out, ev.StepDone(step=0), ev.Acted(), ev.Replanned()))
    story = story_to(State.EXECUTING, verifying.id, a_target("a"))
    again = story[next(index for index, event in enumerate(story) if isinstance(event, ev.Gathered)) :]
    second = await drive(store, verifying, again)
    assert second.round == 2
    assert (await store.spent_by_all()).at_work == ()


async def test_as_many_at_once_as_policy_says_and_the_next_has_its_turn_when_one_is_through(store: Store) -> None:
    budgets = Budgets(at_once=1)
    first, second = await ready(store, "a"), await ready(store, "b")
    assert await tries(store, first, budgets) is None
    assert await tries(store, second, budgets) is Reason.HANDS_BUSY
    first = await newest(store, first.id)
    intent = intent_of(first)
    await drive(store, first, (an_outcome(intent), ev.StepDone(step=0), ev.Acted(), verified(Verdict.HEALED)))
    assert await tries(store, second, budgets) is None


async def test_another_clusters_runs_in_the_same_database_take_nothing(store: Store, path: Path) -> None:
    await ended(store, await ready(store, "a"))
    behind(path).execute("UPDATE incidents SET cluster = 'other'")
    assert await store.spent_by_all() == Spent()


@pytest.mark.server
@pytest.mark.parametrize("kind", ["postgresql"])
async def test_of_two_replicas_that_want_the_last_unit_of_the_cluster_one_gets_it(
    store: Store, url: str, time: FakeTime
) -> None:
    """Different incidents, different objects: one row for the cluster is what both gates lock."""
    other = await Store.open(url, cluster=CLUSTER, clock=time)
    try:
        pairs = [(await ready(store, f"a{number}"), await ready(other, f"b{number}")) for number in range(6)]
        for number, (one, two) in enumerate(pairs, start=1):
            last = {"per_cluster": {"most": number}, "per_risk": {"disruptive": None}, "at_once": 100}
            budgets = Budgets.model_validate(last)
            ends = await asyncio.gather(tries(store, one, budgets), tries(other, two, budgets))
            assert sorted(map(str, ends)) == ["BUDGET_SPENT", "None"], ends
            assert len((await store.spent_by_all()).begun) == number
    finally:
        await other.close()


@pytest.mark.server
@pytest.mark.parametrize("kind", ["postgresql"])
async def test_of_many_at_once_on_two_replicas_no_more_begin_than_may_be_at_work(
    store: Store, url: str, time: FakeTime
) -> None:
    other = await Store.open(url, cluster=CLUSTER, clock=time)
    budgets = Budgets(at_once=2)
    try:
        waiting = [(at, await ready(at, f"w{number}")) for number, at in enumerate((store, other) * 4)]
        ends = await asyncio.gather(*(tries(at, incident, budgets) for at, incident in waiting))
        assert sorted(map(str, ends)) == ["HANDS_BUSY"] * 6 + ["None"] * 2
        assert (await store.audit()).ok
    finally:
        await other.close()
