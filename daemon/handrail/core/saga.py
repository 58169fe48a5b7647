"""The next move of an incident: a pure function of its folded state, the stop switch, the policy and the time.

One of three: record a decision, do one effect, or idle on something named. What is in flight is settled first, also
under stop and when a person has taken over: a stop blocks new intents, never results (design, state rule 8).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.core import flapping, lapsing, stops, storm
from handrail.core.budgets import turn_never_came
from handrail.core.move import Decided, Do, Effect, Idle, Move
from handrail.core.standing import half_done
from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.policy import Policy
from handrail.model.reason import Reason
from handrail.model.step import Verdict
from handrail.model.switch import Stop, Switch
from handrail.model.write import Direction

MAX_VOIDS = 3
GATHER_PATIENCE = timedelta(minutes=10)
PLAN_PATIENCE = timedelta(minutes=15)
ACT_PATIENCE = timedelta(minutes=30)
"""For verifying, undoing and finding out what became of a write while the API server is away: then a person is told."""
TAKEN_PATIENCE = timedelta(hours=24)
STORM_PATIENCE = timedelta(minutes=10)
"""Of a storm's page, after the storm should be over."""


def next_move(
    incident: Incident, switch: Switch, policy: Policy, now: datetime, listens_since: datetime | None = None
) -> Move:
    """Read it as: settle what is open (a stop is told all the same), end what a person cancelled, obey the flags, end
    what nobody repeats any more to this process, which `listens_since`, then go forward by state."""
    if incident.state.terminal:
        return Idle(waiting_for="nothing: it has ended")
    if incident.open_write is not None:
        return _told(incident, switch) or Do(effect=Effect.SETTLE, patience=incident.open_write.at + ACT_PATIENCE)
    if incident.cancelled is not None:
        return _hand_over(Reason.CANCELLED, f"cancelled by {incident.cancelled.by}: {incident.cancelled.why}")
    return (
        _under_flags(incident, switch, now) or _lapsed(incident, now, listens_since) or _forward(incident, policy, now)
    )


def too_late(incident: Incident, move: Do, why: str, now: datetime) -> ev.Event | None:
    """What to record once the patience with `move` is over; None while it lasts. `why` says what is away."""
    if move.patience is None or now <= move.patience:
        return None
    run = incident.open_write
    if run is None:
        return ev.HandedOver(reason=Reason.SOURCE_AWAY, detail=f"could not {move.effect} for too long: {why}")
    both = f"this write to {run.intent.write.object} may have been applied or not: {why}"
    return ev.Outcome(key=run.intent.write.key, result=ev.Result.STUCK, reason=Reason.OUTCOME_UNCLEAR, detail=both)


def _under_flags(incident: Incident, switch: Switch, now: datetime) -> Move | None:
    if incident.taken_by is not None and incident.taken_at is not None:
        until = incident.taken_at + TAKEN_PATIENCE
        if now <= until:
            return Idle(waiting_for=f"{incident.taken_by}, who has taken it", until=until)
        return _hand_over(Reason.TAKEN_TOO_LONG, f"{incident.taken_by} took it and did not give it back")
    stop, told = stops.concerning(switch, incident), _told(incident, switch)
    if stop is not None and told is None:
        return Idle(waiting_for=f"start, since {stops.stopped(stop)}")
    return told


def _told(incident: Incident, switch: Switch) -> Decided | None:
    """What its thread has not heard yet of a stop that concerns it, or of its end."""
    stop, standing = stops.concerning(switch, incident), incident.stop
    if stop is not None and (standing is None or standing.reach != stop.reach):
        return Decided(events=(paused(incident, stop),))
    if stop is None and incident.paused:
        lifted = switch.of(standing.reach) if standing else None
        return Decided(events=(ev.Resumed(by=lifted.by if lifted else ""),))
    return None


def paused(incident: Incident, stop: Stop) -> ev.Paused:
    """What its thread is told: who stopped it, why, and what that leaves half-done."""
    return ev.Paused(by=stop.by, why=stop.why, reach=stop.reach, half_done=half_done(incident))


def _forward(incident: Incident, policy: Policy, now: datetime) -> Move:
    match incident.state:
        case State.OPENED if storm.is_page(incident):
            return _page(incident, now)
        case State.OPENED:
            return Decided(events=(ev.GatheringBegun(),))
        case State.GATHERING:
            return _gathering(incident, policy, now)
        case State.PLANNING:
            return _planning(incident, policy)
        case State.COMPILING:
            return Do(effect=Effect.COMPILE)
        case State.REHEARSING:
            return _waiting(incident, now) or _patiently(incident, Effect.REHEARSE)
        case State.ASKING:
            return _asking(incident, now)
        case State.EXECUTING:
            return _executing(incident, now)
        case State.VERIFYING:
            return _verifying(incident, policy)
        case State.UNDOING:
            return _undoing(incident)
        case _:
            return _undone(incident, policy)


def _hand_over(reason: Reason, detail: str) -> Decided:
    return Decided(events=(ev.HandedOver(reason=reason, detail=detail),))


def _patiently(incident: Incident, effect: Effect, patience: timedelta = GATHER_PATIENCE, step: int = 0) -> Do:
    """Counted from where it went on last: time under a stop, or with a person, is nobody's delay."""
    began = [incident.moved_at, incident.freed_at]
    if incident.state is State.GATHERING:
        began += [incident.held_until, incident.silenced.until if incident.silenced else None]
    since = max(at for at in began if at is not None)
    return Do(effect=effect, step=step, patience=since + patience)


def _page(incident: Incident, now: datetime) -> Move:
    """Whoever has the duty of the ticks ends it; where nobody came to that, it ends by itself."""
    until = (incident.storm.until if incident.storm else incident.opened_at) + STORM_PATIENCE
    if now < until:
        return Idle(waiting_for="the storm of alerts to be over", until=until)
    return Decided(events=(storm.over(incident, now),))


def _lapsed(incident: Incident, now: datetime, listens_since: datetime | None) -> Move | None:
    if incident.state not in (State.GATHERING, State.ASKING):
        return None
    event = lapsing.lapsed(incident, now, listens_since)
    return None if event is None else Decided(events=(event,))


def _gathering(incident: Incident, policy: Policy, now: datetime) -> Move:
    if incident.held_until is not None and now < incident.held_until:
        return Idle(waiting_for="whether it stays well, since its alert flaps", until=incident.held_until)
    settled = flapping.settled_at(incident, timedelta(seconds=policy.hold_down_seconds))
    if settled is not None and now < settled:
        return Idle(waiting_for="whether its alert has settled, since it flaps", until=settled)
    quiet = _silenced(incident, now)
    if quiet is not None:
        return quiet
    if incident.voids > MAX_VOIDS:
        return _hand_over(Reason.VOIDS_SPENT, f"what was planned changed under us {incident.voids} times")
    return _patiently(incident, Effect.GATHER)


def _silenced(incident: Incident, now: datetime) -> Move | None:
    """What says that it is resolved is looked at without waiting for the silence to end."""
    silence, since, resolved = incident.silenced, incident.silenced_at, incident.resolved_seen_at
    if silence is None or since is None or now >= silence.until or (resolved is not None and resolved > since):
        return None
    return Idle(waiting_for=f"{silence.reason}: {silence.detail}", until=silence.until)


def _planning(incident: Incident, policy: Policy) -> Move:
    if incident.round > policy.max_rounds:
        reason, detail = incident.failure or (Reason.ROUNDS_SPENT, "nothing that was tried helped")
        return _hand_over(
            Reason.ROUNDS_SPENT, f"{incident.round - 1} rounds were planned; the last ended: {reason}: {detail}"
        )
    offered = incident.menu is not None or incident.taking_back
    return _patiently(incident, Effect.PLAN if offered else Effect.OFFER, PLAN_PATIENCE)


def _waiting(incident: Incident, now: datetime) -> Move | None:
    wait = incident.waiting
    if wait is None:
        return None
    if now < wait.until:
        return Idle(waiting_for=f"{wait.reason}: {wait.detail}", until=wait.until)
    return Decided(events=(ev.WaitEnded(),))


def _asking(incident: Incident, now: datetime) -> Move:
    request = incident.request
    if request is None or now > request.expires:
        return _hand_over(Reason.APPROVAL_EXPIRED, "nobody decided in time; nothing of it was written")
    resolved = incident.resolved_seen_at is not None and incident.resolved_seen_at > request.asked_at
    if resolved and not incident.taking_back:
        return Do(effect=Effect.RECHECK)
    return Idle(waiting_for="an approver", until=request.expires)


def _executing(incident: Incident, now: datetime) -> Move:
    failed = _failed_write(incident)
    if failed is not None:
        return Decided(events=(failed,))
    pending = _pending_step(incident)
    if pending is None:
        return Decided(events=(ev.Acted(),))
    if incident.run_until is None or now > incident.run_until:
        if incident.has_acted:
            return Decided(
                events=(ev.StepFailed(step=pending, reason=Reason.RUN_EXPIRED, detail="its time to run is over"),)
            )
        late = f"let go, but not begun in time; nothing of it was written{turn_never_came(incident)}"
        return _hand_over(Reason.RUN_EXPIRED, late)
    return Do(effect=Effect.STEP, step=pending)


def _pending_step(incident: Incident) -> int | None:
    """The first step of the saga that is not done."""
    done = {run.index for run in incident.steps if run.done}
    steps = incident.saga.steps if incident.saga else ()
    return next((step.index for step in steps if step.index not in done), None)


def _failed_write(incident: Incident) -> ev.Event | None:
    """What a refused or unclear write of this direction means: never go on to the next step."""
    last = incident.writes[-1] if incident.writes else None
    if last is None or last.outcome is None or last.outcome.result in (ev.Result.DONE, ev.Result.ABSENT):
        return None
    outcome = last.outcome
    if outcome.result is ev.Result.STUCK:
        return ev.HandedOver(reason=Reason.OUTCOME_UNCLEAR, detail=f"{last.intent.write.summary}: {outcome.detail}")
    reason = outcome.reason or Reason.REFUSED_BY_SERVER
    if last.intent.direction is Direction.UNDO:
        return ev.HandedOver(reason=Reason.CANNOT_UNDO, detail=f"the undo was refused: {reason}: {outcome.detail}")
    return ev.StepFailed(step=last.intent.step, reason=reason, detail=outcome.detail)


def _verifying(incident: Incident, policy: Policy) -> Move:
    verified = incident.verified
    if verified is not None and verified.verdict is Verdict.NO_EFFECT:
        return _another_round(incident, policy) or _hand_over(
            Reason.NO_EFFECT, f"all steps are done and it did not heal: {verified.detail}"
        )
    return _patiently(incident, Effect.VERIFY, ACT_PATIENCE)


def _undoing(incident: Incident) -> Move:
    failed = _failed_write(incident)
    if isinstance(failed, ev.HandedOver):
        return Decided(events=(failed,))
    step = _to_undo(incident)
    if step is None:
        return Decided(events=(ev.Undone(),))
    return _patiently(incident, Effect.UNDO, ACT_PATIENCE, step)


def _to_undo(incident: Incident) -> int | None:
    """Last step first, only what completed a write, and only once."""
    wrote = {run.intent.step for run in incident.done_writes if run.intent.direction is Direction.DO}
    return max(wrote - set(incident.undone_steps), default=None)


def _another_round(incident: Incident, policy: Policy) -> Move | None:
    """Looked at anew and asked anew, knowing what was tried; its own rounds are not counted against the interval."""
    if incident.taking_back or incident.round >= policy.max_rounds:
        return None
    return Decided(events=(ev.Replanned(),))


def _undone(incident: Incident, policy: Policy) -> Move:
    """What made it worse and is taken back leaves the old trouble. What failed half-way is a person's: the world, or
    somebody in it, does not go along."""
    again = _another_round(incident, policy) if incident.failure is None and incident.undone_steps else None
    if again is not None:
        return again
    reason, detail = incident.failure or (Reason.WORSE, incident.verified.detail if incident.verified else "")
    back = "what was done has been taken back" if incident.undone_steps else "nothing had been changed"
    return _hand_over(reason, f"{detail}; {back}")
