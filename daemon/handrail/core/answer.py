"""May this person's answer count, and what does it record? Pure: the caller appends what comes back onto the very head.

An approval is single-use, for exactly the request that the card showed, by somebody on its list, before it expires.
Missing, old or unclear means refuse. Never decides what is done next: that is core/saga.py.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from handrail.core import stops
from handrail.core.words import because, clock, who_may
from handrail.model import events as ev
from handrail.model.approval import ApprovalRequest, Approvers, Person
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Stop, Switch

Verb = Literal["approve", "reject", "take", "give_back"]


def is_one_of(approvers: Approvers, person: Person) -> bool:
    """Whether the person is on the list. An empty list names nobody, and so does an empty name."""
    if not person.name:
        return False
    match person.via:
        case "slack":
            return person.name in approvers.slack_users
        case "kubernetes":
            return person.name in approvers.users or any(group in approvers.groups for group in person.groups)
        case "local":
            return approvers.local
        case _:
            return False


def decide(
    incident: Incident, verb: str, request_id: str | None, person: Person, now: datetime
) -> tuple[ev.Event, ...] | Refusal:
    """The events that the answer records, or one sentence that says why it does not count and what to do.

    `approve` and `reject` count only with the id of the request that is asked right now; None is no id.
    """
    if incident.state.terminal:
        return _ended(incident, request_id)
    match verb:
        case "approve" | "reject":
            return _answer(incident, verb, request_id, person, now)
        case "take" | "give_back":
            standing = incident.request.approvers if incident.request else Approvers()
            return hold(incident, verb, person, standing)
        case _:
            return _no(Reason.NOT_ALLOWED, f"{verb!r} is no answer; there are approve, reject, take and give back")


def hold(
    incident: Incident, verb: Literal["take", "give_back"], person: Person, standing: Approvers
) -> tuple[ev.Event, ...] | Refusal:
    """Taking an incident, and giving it back; `standing` are the approvers for when nothing has been asked yet.

    Whoever has it may always give it back; another approver may too, for people fall asleep.
    """
    if incident.state.terminal:
        return _ended(incident, None)
    approvers = incident.request.approvers if incident.request else standing
    holder = incident.taken_by
    if verb == "give_back":
        if holder is None:
            return _no(Reason.STATE_CHANGED, f"nobody has taken {incident.id}, so nothing can be given back")
        mine = (person.via, person.name) == (holder.via, holder.name)
        return (ev.GivenBack(by=person),) if mine or is_one_of(approvers, person) else _stranger(person, approvers)
    if not is_one_of(approvers, person):
        return _stranger(person, approvers)
    if holder is not None:
        return _no(Reason.TAKEN, f"{holder} has already taken {incident.id}")
    return (ev.Taken(by=person),)


def stopped_since(incident: Incident, switch: Switch) -> Refusal | None:
    """Of an approval that comes after a stop, but before its incident was told of it."""
    stop = stops.concerning(switch, incident)
    if stop is None and switch.newer:
        return _no(Reason.STOPPED, stops.of_newer(switch))
    return _after_start(stop) if stop is not None else None


def _after_start(stop: Stop | ev.Paused | None) -> Refusal:
    said = stops.stopped(stop) if stop else "everything is stopped"
    command = stops.to_start(stop) if stop else "`handrail start`"
    return _no(Reason.STOPPED, f"{said}; approve after {command}")


def _answer(
    incident: Incident, verb: Literal["approve", "reject"], request_id: str | None, person: Person, now: datetime
) -> tuple[ev.Event, ...] | Refusal:
    request = incident.request
    if incident.state is not State.ASKING or request is None or request.id != request_id:
        return _not_this(incident, request_id)
    refusal = _may_not(request, person, now) or (_not_now(incident) if verb == "approve" else None)
    if refusal is not None:
        return refusal
    if verb == "reject":
        return (ev.Rejected(request=request.id, by=person),)
    return (ev.Approved(request=request.id, by=person),)


def _may_not(request: ApprovalRequest, person: Person, now: datetime) -> Refusal | None:
    if not is_one_of(request.approvers, person):
        return _stranger(person, request.approvers)
    if now > request.expires:
        return _no(
            Reason.APPROVAL_EXPIRED, f"the time to decide ended at {clock(request.expires)}; nothing of it was written"
        )
    return None


def _not_now(incident: Incident) -> Refusal | None:
    """Nothing forward happens under a stop or while somebody has it: an approval would go off later, by itself."""
    if incident.approved_by is not None:
        return _no(Reason.APPROVAL_USED, f"{incident.approved_by} has already approved this")
    if incident.cancelled is not None:
        return _no(Reason.CANCELLED, f"{incident.cancelled.by} has cancelled {incident.id}")
    if incident.taken_by is not None:
        detail = f"{incident.taken_by} has taken {incident.id}; it has to be given back first"
        return _no(Reason.TAKEN, detail)
    if incident.paused:
        return _after_start(incident.stop)
    if incident.rehearsal is None or incident.request is None or incident.request.hash != incident.rehearsal.hash:
        return _no(Reason.APPROVAL_MISMATCH, "what was asked is not what was rehearsed; it is never carried out")
    return None


def _not_this(incident: Incident, request_id: str | None) -> Refusal:
    """Why an answer to this request does not count any more (or never did), with what happened meanwhile."""
    if not request_id:
        return _no(
            Reason.APPROVAL_MISMATCH,
            f"say which card you answer: look at it with `handrail incidents show {incident.id}`",
        )
    request = incident.request
    if request is not None and request.id == request_id:
        return _used(incident)
    if incident.state is State.ASKING:
        detail = "things changed after that card, and something else is asked now; answer the newest card"
        return _no(Reason.APPROVAL_MISMATCH, detail)
    if incident.voids and request is None:
        return _no(
            Reason.APPROVAL_MISMATCH,
            f"what that card showed is no longer what would happen; {incident.id} is {incident.state} again",
        )
    return _no(Reason.APPROVAL_MISMATCH, f"that card is not asked any more: {incident.id} is {incident.state} now")


def _used(incident: Incident) -> Refusal:
    if incident.approved_by is None:
        return _no(Reason.STATE_CHANGED, f"that card is not asked any more: {incident.id} is {incident.state} now")
    detail = f"{incident.approved_by} has already approved this; {incident.id} is {incident.state} now"
    return _no(Reason.APPROVAL_USED, detail)


def _ended(incident: Incident, request_id: str | None) -> Refusal:
    """The word that fits the end: who decided first, that time ran out, or that it is simply over."""
    reason, detail = incident.end or (None, "")
    mine = incident.request is not None and incident.request.id == request_id
    told = because(reason, detail, 300)
    over = f"{incident.id} ended at {clock(incident.moved_at)}: {incident.state}{f' ({told})' if told else ''}"
    if mine and reason is Reason.APPROVAL_EXPIRED:
        return _no(Reason.APPROVAL_EXPIRED, over)
    if mine and (incident.approved_by is not None or reason is Reason.REJECTED):
        return _no(Reason.APPROVAL_USED, over)
    return _no(Reason.STATE_CHANGED if mine or not request_id else Reason.APPROVAL_MISMATCH, over)


def _stranger(person: Person, approvers: Approvers) -> Refusal:
    return _no(Reason.NOT_AN_APPROVER, f"{person} may not decide this; these may: {who_may(approvers)}")


def _no(reason: Reason, detail: str) -> Refusal:
    return Refusal(reason=reason, detail=detail)
