"""Ask, go on by policy, or only say: the decision after a rehearsal. Pure; the floor stands above the policy."""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.core.allow import mode_of
from handrail.core.gate import needs_person
from handrail.model import events as ev
from handrail.model.approval import ApprovalRequest
from handrail.model.evidence import Away
from handrail.model.incident import Incident
from handrail.model.policy import Mode, Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Rehearsal, Saga


def only_observes(saga: Saga, policy: Policy, hands_enabled: bool) -> Refusal | None:
    """Why this saga may not even be rehearsed: policy observes or denies, or the hands are switched off."""
    for step in saga.steps:
        mode = mode_of(policy, step)
        if mode is None:
            return Refusal(reason=Reason.NOT_ALLOWED, detail=f"no policy rule allows {step.step} on {step.target}")
        if mode is Mode.OBSERVE or not hands_enabled:
            would = "; ".join(step.summary for step in saga.steps)
            return Refusal(reason=Reason.OBSERVE_ONLY, detail=f"would have asked to do this: {would}")
    return None


WORTH_WAITING = timedelta(minutes=15)
"""A person whose repair did not hold can be asked again this soon; beyond it they are better off knowing now that it is
theirs. Either way they see at once what would be done."""

MOST_WAITS = 2


def not_yet(refusal: Refusal, incident: Incident, until: datetime | None, now: datetime) -> ev.Event:
    """Instead of a question that the gate would refuse after the click: a wait with its deadline, or the hand-over.

    `until` is when the refusal ends, None where nobody knows.
    """
    if until is not None and until - now <= WORTH_WAITING and incident.waits < MOST_WAITS:
        return ev.Waiting(until=until, reason=refusal.reason, detail=refusal.detail)
    would = "; ".join(step.summary for step in incident.saga.steps) if incident.saga else "nothing"
    return ev.HandedOver(reason=refusal.reason, detail=f"{refusal.detail}; else it would ask to do this: {would}")


def after_rehearsal(
    rehearsal: Rehearsal, policy: Policy, request_id: str, now: datetime, away: Away | None = None
) -> ev.Event:
    """The question to a person, or the clearance where policy lets every step act and none is above the floor.

    `away` is what could not be asked whether this is silenced: then a person is asked in any case, and told so.
    """
    if away is None and not needs_person(policy, rehearsal.saga.steps):
        return ev.Cleared(hash=rehearsal.hash, run_until=now + timedelta(minutes=policy.run_minutes))
    return asked(rehearsal, policy, request_id, now, away)


def asked(rehearsal: Rehearsal, policy: Policy, request_id: str, now: datetime, away: Away | None = None) -> ev.Asked:
    """The question, whatever policy would let act by itself."""
    expires = now + timedelta(minutes=policy.approval_minutes)
    request = ApprovalRequest(
        id=request_id,
        hash=rehearsal.hash,
        asked_at=now,
        expires=expires,
        run_until=expires + timedelta(minutes=policy.run_minutes),
        approvers=policy.approvers,
    )
    return ev.Asked(request=request, away=(away,) if away else ())
