"""The one gate: may this intent be committed now? Any doubt refuses.

Judged inside the transaction that commits the intent, from what that transaction read, in the order of design 1.5: are
we stopped, are we still the one, was exactly this approved, does policy allow it now, is it frozen, is a budget left,
does anything stop every write, has anybody else this target? What is never written comes before any approval.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from handrail.core import budgets, freeze, stops
from handrail.core.allow import beyond_limits, mode_of, never_written
from handrail.core.answer import is_one_of
from handrail.core.budgets import Spent
from handrail.core.conditions import LOOK_AGAIN, REASONS, refused
from handrail.model.approval import ApprovalRequest
from handrail.model.condition import Condition
from handrail.model.incident import Incident, State
from handrail.model.policy import Mode, Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import SagaStep
from handrail.model.switch import Switch
from handrail.model.value import Value
from handrail.model.write import Direction, Write

NOTHING_SPENT = Spent()


class Recent(Value):
    """What other incidents did, or do, to the objects that are to be written: the newest first intent of a saga of
    theirs, and an open one that holds such an object's UID, or "". `conditions` stop every write."""

    last_saga_at: datetime | None = None
    busy_with: str = ""
    conditions: tuple[Condition, ...] = ()


class Rules(Value):
    """What is judged by, and when."""

    policy: Policy
    own_namespace: str
    now: datetime


class GateFacts(Value):
    """What the transaction read: `incident` folded from the journal's head inside it.

    `last_saga_at` and `busy_with` are those of Recent. `epoch` is this process's, `holder_epoch` the store's newest.
    `spent` is counted where the intent would begin a run.
    """

    incident: Incident
    switch: Switch
    epoch: int
    holder_epoch: int
    last_saga_at: datetime | None
    busy_with: str
    now: datetime
    conditions: tuple[Condition, ...] = ()
    spent: Spent = Spent()


def judge(facts: GateFacts, policy: Policy, own_namespace: str, write: Write, direction: Direction) -> Refusal | None:
    """None lets the intent pass; else the first refusal in the gate's order."""
    incident = facts.incident
    return (
        _stopped(facts, write)
        or _lease(facts)
        or _state(incident, direction)
        or _never(incident, policy, own_namespace, write)
        or _approved(facts, policy, write, direction)
        or _allowed(incident, policy)
        or _struck_off(incident, policy)
        or _frozen(facts, policy, write, direction)
        or _budget(facts, policy, direction)
        or refused(facts.conditions, facts.now)
        or _interval(facts, policy)
    )


def _stopped(facts: GateFacts, write: Write) -> Refusal | None:
    if facts.switch.newer:
        return Refusal(reason=Reason.STOPPED, detail=stops.of_newer(facts.switch))
    stop = stops.concerning(facts.switch, facts.incident, write.object.namespace)
    if stop is not None:
        return Refusal(reason=Reason.STOPPED, detail=stops.stopped(stop))
    cancelled = facts.incident.cancelled
    if cancelled is not None:
        return Refusal(reason=Reason.CANCELLED, detail=f"{cancelled.by} has cancelled this incident")
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


def _never(incident: Incident, policy: Policy, own_namespace: str, write: Write) -> Refusal | None:
    """The floor in code, and the namespaces that policy protects as it is now."""
    for step in incident.saga.steps if incident.saga else ():
        for target in (step.target, write.object):
            if never_written(target, policy, own_namespace):
                return Refusal(reason=Reason.PROTECTED_NAMESPACE, detail=f"{target} is never written to")
    return None


def _allowed(incident: Incident, policy: Policy) -> Refusal | None:
    """Policy as it is now, not as it was when somebody approved."""
    for step in incident.saga.steps if incident.saga else ():
        mode = mode_of(policy, step)
        if mode is None:
            return Refusal(reason=Reason.NOT_ALLOWED, detail=f"no policy rule allows {step.step} on {step.target}")
        if mode is Mode.OBSERVE:
            return Refusal(reason=Reason.OBSERVE_ONLY, detail=f"policy only observes {step.step} on {step.target}")
        if beyond := beyond_limits(policy, step):
            return beyond
    return None


def _approved(facts: GateFacts, policy: Policy, write: Write, direction: Direction) -> Refusal | None:
    incident = facts.incident
    rehearsal = incident.rehearsal
    if rehearsal is None or incident.saga is None or rehearsal.saga != incident.saga:
        return Refusal(reason=Reason.APPROVAL_MISMATCH, detail="what would run was never rehearsed")
    if _for_people(incident, policy):
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


def _for_people(incident: Incident, policy: Policy) -> bool:
    """Where policy wants a person, and where one was asked all the same (in a storm, or while Alertmanager is away):
    what was asked for is what counts then."""
    return incident.request is not None or needs_person(policy, incident.saga.steps if incident.saga else ())


def _person(incident: Incident, request: ApprovalRequest | None, hash_: str, now: datetime) -> Refusal | None:
    if request is None or incident.approved_by is None:
        return Refusal(reason=Reason.APPROVAL_MISSING, detail="nobody has approved this")
    if request.hash != hash_:
        return Refusal(reason=Reason.APPROVAL_MISMATCH, detail="somebody approved something else than this")
    if not incident.has_acted and now > request.expires:
        return Refusal(reason=Reason.APPROVAL_EXPIRED, detail=f"the approval was good until {request.expires}")
    return None


def _struck_off(incident: Incident, policy: Policy) -> Refusal | None:
    """Who is no approver any more has approved nothing that has not begun; what has is finished or taken back."""
    who = incident.approved_by
    if who is None or not _for_people(incident, policy) or incident.has_acted or is_one_of(policy.approvers, who):
        return None
    return Refusal(reason=Reason.NOT_AN_APPROVER, detail=f"{who} approved this and is on the policy's list no longer")


def _frozen(facts: GateFacts, policy: Policy, write: Write, direction: Direction) -> Refusal | None:
    """Nothing new: what takes back goes on, and so does an attempt of what was intended before it began."""
    incident, waiting = facts.incident, facts.incident.open_write
    again = waiting is not None and waiting.intent.write.key == write.key
    if direction is Direction.UNDO or incident.taking_back or again:
        return None
    return freeze.refused(policy, freeze.about(incident, write), facts.now)


def _budget(facts: GateFacts, policy: Policy, direction: Direction) -> Refusal | None:
    incident = facts.incident
    if direction is Direction.UNDO or not budgets.counts(incident):
        return None
    spent = budgets.none_left(facts.spent, policy.budgets, incident, facts.now)
    return spent or budgets.no_hand_free(facts.spent, policy.budgets)


def _interval(facts: GateFacts, policy: Policy) -> Refusal | None:
    return too_soon(Recent(last_saga_at=facts.last_saga_at, busy_with=facts.busy_with), policy, facts.now)


def too_soon(recent: Recent, policy: Policy, now: datetime) -> Refusal | None:
    """One incident's saga per target in the interval; its own later writes, its undo and its rounds don't count."""
    if recent.busy_with:
        return Refusal(reason=Reason.TARGET_BUSY, detail=f"{recent.busy_with} works on this target")
    until = free_from(recent, policy)
    if until is None or now >= until:
        return None
    return Refusal(
        reason=Reason.TARGET_COOLING_DOWN,
        detail=f"a saga ran on this target at {recent.last_saga_at:%H:%M:%S}; the next may from {until:%H:%M:%S} on",
    )


def free_from(recent: Recent, policy: Policy) -> datetime | None:
    """When the interval ends; None where no saga has run, or somebody is at work for nobody knows how long."""
    if recent.last_saga_at is None or recent.busy_with:
        return None
    return recent.last_saga_at + timedelta(minutes=policy.saga_interval_minutes)


def foresee(
    incident: Incident, writes: Iterable[Write], recent: Recent, rules: Rules, spent: Spent = NOTHING_SPENT
) -> Refusal | None:
    """What the gate would say of these writes if they were approved this very moment; the gate judges again.

    `incident` has them in its rehearsal. That all hands are busy is not said: an approval waits for its turn.
    """
    floor = (_never(incident, rules.policy, rules.own_namespace, write) for write in writes)
    never = next((no for no in floor if no is not None), None) or _allowed(incident, rules.policy)
    return never or _not_new(incident, rules, spent) or _held_up(recent, rules)


def _not_new(incident: Incident, rules: Rules, spent: Spent) -> Refusal | None:
    if not budgets.counts(incident):
        return None
    frozen = freeze.refused(rules.policy, freeze.about(incident), rules.now)
    return frozen or budgets.none_left(spent, rules.policy.budgets, incident, rules.now)


def _held_up(recent: Recent, rules: Rules) -> Refusal | None:
    return refused(recent.conditions, rules.now) or too_soon(recent, rules.policy, rules.now)


def foreseen_end(
    refusal: Refusal, incident: Incident, recent: Recent, rules: Rules, spent: Spent = NOTHING_SPENT
) -> datetime | None:
    """When it is worth looking again; None where nobody knows."""
    match refusal.reason:
        case Reason.FROZEN:
            found = freeze.standing(rules.policy.freezes, freeze.about(incident), rules.now)
            return found.until if found else None
        case Reason.BUDGET_SPENT:
            return budgets.free_from(spent, rules.policy.budgets, incident, rules.now)
        case _:
            return rules.now + LOOK_AGAIN if refusal.reason in REASONS else free_from(recent, rules.policy)


def attempts(incident: Incident, key: str) -> int:
    """How often a write was sent or about to be, over all its intents of this round."""
    return sum(len(run.attempts) for run in incident.writes if run.intent.write.key == key)


def needs_person(policy: Policy, steps: tuple[SagaStep, ...]) -> bool:
    """True where any step is above the floor, or policy says ask (or says nothing: then a person at least)."""
    return any(step.risk.always_asked or mode_of(policy, step) is not Mode.ACT for step in steps)
