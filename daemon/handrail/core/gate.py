"""The one gate: may this intent be committed now? Any doubt refuses.

Judged inside the transaction that commits the intent, from what that transaction read (design 1.5). The order is
that of a person's questions: are we stopped, are we still the one, is it allowed, was exactly this approved, is it
too soon, has anybody else this target?
"""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.core.allow import mode_of, never_written
from handrail.model.approval import ApprovalRequest
from handrail.model.incident import Incident, State
from handrail.model.policy import Mode, Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import SagaStep
from handrail.model.switch import Switch
from handrail.model.value import Value
from handrail.model.write import Direction, Write


class GateFacts(Value):
    """What the transaction read: `incident` folded from the journal's head inside it.

    `last_saga_at` is the newest first intent on this target's UID by any *other* saga; `busy_with` another open
    incident that holds this target's UID, or "". `epoch` is this process's, `holder_epoch` the store's newest.
    """

    incident: Incident
    switch: Switch
    epoch: int
    holder_epoch: int
    last_saga_at: datetime | None
    busy_with: str
    now: datetime


def judge(facts: GateFacts, policy: Policy, own_namespace: str, write: Write, direction: Direction) -> Refusal | None:
    """None lets the intent pass; else the first refusal in the gate's order."""
    incident = facts.incident
    return (
        _stopped(facts)
        or _lease(facts)
        or _state(incident, direction)
        or _allowed(incident, policy, own_namespace, write)
        or _approved(facts, policy, write, direction)
        or _interval(facts, policy)
    )


def _stopped(facts: GateFacts) -> Refusal | None:
    if facts.switch.stopped:
        who = facts.switch.by or "somebody"
        return Refusal(reason=Reason.STOPPED, detail=f"stopped by {who}: {facts.switch.why or 'no reason given'}")
    if facts.incident.taken_by is not None:
        return Refusal(reason=Reason.TAKEN, detail=f"{facts.incident.taken_by} has taken this incident")
    return None


def _lease(facts: GateFacts) -> Refusal | None:
    if facts.epoch != facts.holder_epoch:
        return Refusal(reason=Reason.LEASE_LOST, detail="another process drives this store now")
    return None


def _state(incident: Incident, direction: Direction) -> Refusal | None:
    wanted = State.EXECUTING if direction is Direction.DO else State.UNDOING
    if incident.state is not wanted:
        return Refusal(reason=Reason.STATE_CHANGED, detail=f"the incident is {incident.state}, not {wanted}")
    return None


def _allowed(incident: Incident, policy: Policy, own_namespace: str, write: Write) -> Refusal | None:
    """Policy as it is now, not as it was when somebody approved."""
    for step in incident.saga.steps if incident.saga else ():
        for target in (step.target, write.object):
            if never_written(target, policy, own_namespace):
                return Refusal(reason=Reason.PROTECTED_NAMESPACE, detail=f"{target} is never written to")
        mode = mode_of(policy, step)
        if mode is None:
            return Refusal(reason=Reason.NOT_ALLOWED, detail=f"no policy rule allows {step.step} on {step.target}")
        if mode is Mode.OBSERVE:
            return Refusal(reason=Reason.OBSERVE_ONLY, detail=f"policy only observes {step.step} on {step.target}")
    return None


def _approved(facts: GateFacts, policy: Policy, write: Write, direction: Direction) -> Refusal | None:
    incident = facts.incident
    rehearsal = incident.rehearsal
    if rehearsal is None or incident.saga is None or rehearsal.saga != incident.saga:
        return Refusal(reason=Reason.APPROVAL_MISMATCH, detail="what would run was never rehearsed")
    if needs_person(policy, incident.saga.steps):
        refusal = _person(incident, incident.request, rehearsal.hash, facts.now)
    elif incident.approved_by is None and incident.cleared_hash != rehearsal.hash:
        refusal = Refusal(reason=Reason.APPROVAL_MISMATCH, detail="policy cleared another rehearsal than this")
    else:
        refusal = None
    if refusal:
        return refusal
    if incident.run_until is None or facts.now > incident.run_until:
        return Refusal(reason=Reason.RUN_EXPIRED, detail=f"its time to run ended at {incident.run_until}")
    if direction is Direction.DO and not any(rehearsed.write == write for rehearsed in rehearsal.writes):
        return Refusal(reason=Reason.APPROVAL_MISMATCH, detail=f"this write was not on the card: {write.summary}")
    return None


def _person(incident: Incident, request: ApprovalRequest | None, hash_: str, now: datetime) -> Refusal | None:
    if request is None or incident.approved_by is None:
        return Refusal(reason=Reason.APPROVAL_MISSING, detail="nobody has approved this")
    if request.hash != hash_:
        return Refusal(reason=Reason.APPROVAL_MISMATCH, detail="somebody approved something else than this")
    if not incident.has_acted and now > request.expires:
        return Refusal(reason=Reason.APPROVAL_EXPIRED, detail=f"the approval was good until {request.expires}")
    return None


def _interval(facts: GateFacts, policy: Policy) -> Refusal | None:
    """One saga per target in the interval; this saga's own later writes and its undo don't count."""
    if facts.busy_with:
        return Refusal(reason=Reason.TARGET_BUSY, detail=f"{facts.busy_with} works on this target")
    interval = timedelta(minutes=policy.saga_interval_minutes)
    if facts.last_saga_at is not None and facts.now - facts.last_saga_at < interval:
        until = facts.last_saga_at + interval
        return Refusal(
            reason=Reason.TARGET_COOLING_DOWN,
            detail=f"a saga ran on this target at {facts.last_saga_at:%H:%M:%S}; the next may from {until:%H:%M:%S} on",
        )
    return None


def needs_person(policy: Policy, steps: tuple[SagaStep, ...]) -> bool:
    """True where any step is above the floor, or policy says ask (or says nothing: then a person at least)."""
    return any(step.risk.always_asked or mode_of(policy, step) is not Mode.ACT for step in steps)
