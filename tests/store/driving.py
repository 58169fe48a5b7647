"""Driving a store as the daemon does: each kind of event by the method that is meant for it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from handrail.adapters.store import Store
from handrail.adapters.store.gate import Judge
from handrail.core.gate import GateFacts
from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.incident import Incident, State
from handrail.model.reason import Refusal
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import digest
from tests.factories import EVIDENCE, a_batch, a_target, an_alert, an_arrival, story_to
from tests.store.places import behind

MAX_AGE = timedelta(minutes=30)
TEXTS = {digest(EVIDENCE): EVIDENCE}

__all__ = ["arrive", "behind", "drive", "newest", "passes", "through_the_gate", "walk"]


def passes(_facts: GateFacts) -> Refusal | None:
    return None


async def arrive(store: Store, *alerts: Alert, offset: int = 0) -> str:
    """Takes one record and returns the incident of its first alert, "" where it belongs to none."""
    took = await store.take((a_batch(*(an_arrival(alert) for alert in alerts), offset=offset),), max_age=MAX_AGE)
    return took[0][0].incident


async def newest(store: Store, id_: str) -> Incident:
    incident = await store.incident(id_)
    assert incident is not None
    return incident


async def drive(store: Store, incident: Incident, events: Iterable[ev.Event]) -> Incident:
    for event in events:
        incident = await _one(store, incident, event)
    return incident


async def _one(store: Store, incident: Incident, event: ev.Event) -> Incident:
    match event:
        case ev.Gathered():
            claimed = await store.claim(incident, event, TEXTS)
            assert isinstance(claimed, Incident)
            return claimed
        case ev.Intent() | ev.Attempted():
            passed = await through_the_gate(store, incident, event, passes)
            assert not isinstance(passed, Refusal)
            return passed[0]
        case ev.Outcome():
            return await store.append_outcome(incident.id, event)
        case ev.ModelAnswered():
            return await store.answer_model(incident.id, event, {})
        case _:
            return await store.append(incident, (event,))


async def through_the_gate(
    store: Store, incident: Incident, event: ev.Intent | ev.Attempted, judge: Judge
) -> tuple[Incident, Permit] | Refusal:
    """As whoever drives it does: with the lease."""
    async with store.driving(incident) as ours:
        assert ours
        return await store.commit_intent(incident, event, judge)


async def walk(store: Store, state: State, workload: str = "checkout", target: ObjectRef | None = None) -> Incident:
    """A new incident about `workload`, driven to a state."""
    offset = int(digest(workload)[:6], 16)
    id_ = await arrive(store, an_alert(workload=workload), offset=offset)
    return await drive(store, await newest(store, id_), story_to(state, id_, target or a_target(workload)))
