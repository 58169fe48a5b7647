"""What a person may begin after an incident has ended, or end before it has: cancel, retry, undo. Pure.

Terminal is terminal: whatever is begun is another incident, linked to the old one, and both journals say so. Never
decides who may ask; that an undo is shown and asked before anything is written is the saga's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from handrail.core import storm
from handrail.core.fold import fold
from handrail.model import events as ev
from handrail.model.approval import Person
from handrail.model.errors import Bug
from handrail.model.incident import Incident, State
from handrail.model.plan import Confidence, Hypothesis, PlanProposal
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Saga, SagaStep
from handrail.model.step import Risk
from handrail.model.taking_back import PREFIX, TakeBack
from handrail.model.target import LabelledTarget
from handrail.model.write import Direction

Way = Literal["retry", "undo"]
Begun = tuple[ev.Event, tuple[ev.Event, ...]]
"""What the old incident's journal is told, and what the new one's begins with."""


def cancel(incident: Incident, person: Person, why: str) -> tuple[ev.Event, ...] | Refusal:
    """What is in flight is found out first; then it is handed over with what is half-done."""
    if incident.state.terminal:
        return _no(Reason.STATE_CHANGED, f"{incident.id} has ended already: {incident.state}")
    if incident.cancelled is not None:
        return _no(Reason.STATE_CHANGED, f"{incident.cancelled.by} has cancelled {incident.id} already")
    return (ev.Cancelled(by=person, why=why),)


def let_go(incident: Incident, person: Person, why: str) -> tuple[ev.Event, ...]:
    """Of one that waits for the end of a storm: it ends there, so that another try can go on with it at once. () for
    any other."""
    if not storm.waits(incident):
        return ()
    detail = f"{person} goes on with it in the storm, as another try: {why}"
    return ev.Cancelled(by=person, why=why), ev.HandedOver(reason=Reason.CANCELLED, detail=detail)


def begin(way: Way, entries: Sequence[ev.Entry], new: str, person: Person, why: str) -> Begun | Refusal:
    """`entries` is the whole journal of the old incident, `new` the id of the one that would begin."""
    old = fold(entries, cluster="")
    if not old.state.terminal:
        return _no(Reason.STATE_CHANGED, f"{old.id} is {old.state}; `handrail incidents cancel {old.id}` ends it first")
    opened = _opened(entries, old, ev.Follows(incident=old.id, ended=str(old.state), how=way, by=person, why=why))
    if way == "retry":
        return ev.Retried(by=person, why=why, into=new), (opened,)
    steps = last_run(entries)
    refusal = _cannot(old, steps)
    if refusal is not None:
        return refusal
    return ev.UndoAsked(by=person, why=why, into=new), (opened, ev.TakingBack(steps=steps))


def _opened(entries: Sequence[ev.Entry], old: Incident, follows: ev.Follows) -> ev.Opened:
    """The same alert, about the object that the API server confirmed then: a pod that the alert named may be gone."""
    first = entries[0].event
    if not isinstance(first, ev.Opened):
        raise Bug(f"the journal of {old.id} begins with {first.kind}")
    known = old.target
    target = LabelledTarget(kind=known.kind, namespace=known.namespace, name=known.name) if known else first.target
    return first.model_copy(update={"target": target, "follows": follows})


def _cannot(old: Incident, steps: tuple[TakeBack, ...]) -> Refusal | None:
    if old.state is State.SUPPRESSED:
        return _no(Reason.STATE_CHANGED, f"{old.id} was closed as noise; there was no run")
    if old.taking_back:
        return _no(Reason.CANNOT_UNDO, f"{old.id} was an undo itself; retry {_follows(old)} instead")
    if not steps:
        return _no(Reason.CANNOT_UNDO, f"{old.id} has left nothing in place that could be taken back")
    return None


def _follows(old: Incident) -> str:
    return old.follows.incident if old.follows else "what it followed"


def last_run(entries: Sequence[ev.Entry]) -> tuple[TakeBack, ...]:
    """The steps of the newest round that left something in place, last step first; only what completed a write."""
    for incident in reversed(_rounds(entries)):
        found = _in_place(incident)
        if found:
            return found
    return ()


def _rounds(entries: Sequence[ev.Entry]) -> list[Incident]:
    """The incident as each round left it: the fold forgets a round's writes when the next one begins."""
    ends = [n for n, entry in enumerate(entries) if entry.event.kind in ("replanned", "compile_refused")]
    return [fold(entries[:end], cluster="") for end in ends if end] + [fold(entries, cluster="")]


def _in_place(incident: Incident) -> tuple[TakeBack, ...]:
    wrote = {run.intent.step for run in incident.done_writes if run.intent.direction is Direction.DO}
    steps = incident.saga.steps if incident.saga else ()
    left = [step for step in steps if step.index in wrote - set(incident.undone_steps)]
    return tuple(_take_back(incident, step) for step in reversed(left))


def _take_back(incident: Incident, step: SagaStep) -> TakeBack:
    run = incident.step_run(step.index)
    after = {
        done.intent.write.object.uid: done.outcome.after for done in incident.done_writes if done.outcome is not None
    }
    return TakeBack(
        step=step.step,
        risk=step.risk,
        target=step.target,
        params=step.params,
        summary=step.summary,
        before=run.before if run else {},
        after=after,
    )


def proposal(incident: Incident) -> PlanProposal:
    """The plan of an undo is the person's."""
    follows = incident.follows
    asked = f"{follows.by} asked to take back what {follows.incident} did: {follows.why}" if follows else "asked for"
    hypothesis = Hypothesis(statement=asked, confidence=Confidence.HIGH, evidence=tuple(_first(incident)))
    return PlanProposal(
        diagnosis=(hypothesis,),
        choices=(),
        expected_effect="it is again as it was before that run, with whatever was wrong then",
        would_disprove="somebody has changed it since: then it is not touched",
    )


def _first(incident: Incident) -> list[str]:
    return [item.id for item in incident.evidence[:1]]


def saga(incident: Incident, now: datetime) -> Saga:
    """Asked as any disruptive step, whatever the step's own risk. `at` is for what an undo might write of time."""
    steps = tuple(
        SagaStep(
            index=index,
            step=f"{PREFIX}{one.step}",
            risk=one.risk if one.risk.always_asked else Risk.DISRUPTIVE,
            target=one.target,
            params={"of": one.params, "before": one.before, "after": one.after, "at": now.isoformat()},
            summary=f"take back: {one.summary}",
        )
        for index, one in enumerate(incident.taking_back)
    )
    return Saga(incident=incident.id, round=incident.round, at=now, steps=steps)


def _no(reason: Reason, detail: str) -> Refusal:
    return Refusal(reason=reason, detail=detail)
