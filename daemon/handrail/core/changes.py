"""What each kind of event changes in an incident: one small function per kind, for fold.py. Pure.

A kind without one changes nothing but the state that lifecycle.py names.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.incident import Incident, ModelCall, WriteRun
from handrail.model.labels import labelled_target
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import StepRun, Tried
from handrail.model.step import Verdict
from handrail.model.write import Direction

MOST_ALERTS = 101
"""So many are kept: the one that opened it, and the newest."""

Change = dict[str, Any]


def next_round(incident: Incident) -> Change:
    done = tuple(run.intent.write.summary for run in incident.done_writes if not _taken_back(incident, run))
    return {
        "round": incident.round + 1,
        "steps": (),
        "writes": (),
        "undone_steps": (),
        "acted_at": None,
        "verified": None,
        "failure": None,
        "done_before": incident.done_before + done,
        "tried": incident.tried + _tried(incident),
    }


def _tried(incident: Incident) -> tuple[Tried, ...]:
    """Every step that wrote something; a saga is judged as a whole, so is each of its steps."""
    verified = incident.verified
    if incident.saga is None or verified is None:
        return ()
    wrote = {run.intent.step for run in incident.done_writes}
    return tuple(
        Tried(
            round=incident.round,
            step=step.step,
            target=step.target,
            params=step.params,
            summary=step.summary,
            reason=Reason.WORSE if verified.verdict is Verdict.WORSE else Reason.NO_EFFECT,
            detail=verified.detail,
            taken_back=step.index in incident.undone_steps,
        )
        for step in incident.saga.steps
        if step.index in wrote
    )


def _taken_back(incident: Incident, run: WriteRun) -> bool:
    return run.intent.direction is Direction.UNDO or run.intent.step in incident.undone_steps


def nothing(_incident: Incident, _event: ev.Event, _at: datetime) -> Change:
    return {}


def _alert_attached(incident: Incident, event: ev.AlertAttached, at: datetime) -> Change:
    alert = event.alert
    kept = incident.alerts[:1] + incident.alerts[1:][2 - MOST_ALERTS :]
    change: Change = {"alerts": (*kept, alert)}
    if is_own(incident, alert):
        change |= {"resolved_seen_at": at} if alert.status == "resolved" else {"lapsed_at": None}
    return change


def is_own(incident: Incident, alert: Alert) -> bool:
    """Said of the very thing that it was opened for; what was merged into it speaks of another (a neighbour pod)."""
    first = incident.alert
    return alert.name == first.name and labelled_target(alert) == labelled_target(first)


def only_repeated(before: Incident, after: Incident) -> bool:
    """Nothing in between changed it but alerts, and those said what had been said before, the newest of them last: what
    was found out meanwhile holds."""
    as_before = after.model_copy(update={"seq": before.seq, "alerts": before.alerts})
    known = [_said(alert) for alert in before.alerts]
    return (
        as_before == before
        and all(_said(alert) in known for alert in after.alerts)
        and after.alerts[-1].status == before.alerts[-1].status
    )


def _said(alert: Alert) -> tuple[object, ...]:
    return alert.name, alert.status, alert.labels, alert.starts_at, alert.severity


def _silenced(incident: Incident, event: ev.Silenced, at: datetime) -> Change:
    storm = {"storm_at": incident.storm_at or at} if event.reason is Reason.STORM else {}
    return {"silenced": event, "silenced_at": at, "steps": (), **storm}


def _gathered(_incident: Incident, event: ev.Gathered, at: datetime) -> Change:
    return {
        "target": event.target,
        "findings": event.findings,
        "evidence": event.evidence,
        "away": event.away,
        "severity_before": event.severity,
        "silenced": None,
        "silenced_at": None,
    }


def _model_asked(incident: Incident, event: ev.ModelAsked, at: datetime) -> Change:
    known = next((c for c in incident.model_calls if c.request == event.request), None)
    if known is None:
        call = ModelCall(request=event.request, input_tokens=event.input_tokens)
        return {"model_calls": (*incident.model_calls, call)}
    again = known.model_copy(update={"times": known.times + 1})
    return {"model_calls": tuple(again if c is known else c for c in incident.model_calls)}


def _model_answered(incident: Incident, event: ev.ModelAnswered, at: datetime) -> Change:

    def answered(call: ModelCall) -> ModelCall:
        if call.request != event.request or (call.answered and call.failed is None):
            return call
        return call.model_copy(
            update={
                "answered": True,
                "raw": event.raw,
                "failed": event.failed,
                "input_tokens": max(call.input_tokens, event.input_tokens),
                "output_tokens": event.output_tokens,
            }
        )

    return {"model_calls": tuple(answered(call) for call in incident.model_calls)}


def _planned(_incident: Incident, event: ev.Planned, at: datetime) -> Change:
    return {"proposal": event.proposal, "planner": event.planner}


def _asked(incident: Incident, event: ev.Asked, at: datetime) -> Change:
    """Whatever it waited for is over: the next storm's wait counts anew."""
    named = {away.source for away in incident.away}
    away = (*incident.away, *(one for one in event.away if one.source not in named))
    return {"request": event.request, "run_until": event.request.run_until, "away": away, "storm_at": None}


def _cleared(_incident: Incident, event: ev.Cleared, at: datetime) -> Change:
    return {"cleared_hash": event.hash, "run_until": event.run_until, "let_go_at": at, "storm_at": None}


def _voided(incident: Incident, event: ev.Voided, at: datetime) -> Change:
    return {"voids": incident.voids + 1, "steps": ()}


def _step_begun(incident: Incident, event: ev.StepBegun, at: datetime) -> Change:
    run = StepRun(index=event.step, before=event.before)
    return {"steps": (*(s for s in incident.steps if s.index != run.index), run)}


def _step_done(incident: Incident, event: ev.StepDone, at: datetime) -> Change:
    index = event.step
    return {"steps": tuple(s.model_copy(update={"done": True}) if s.index == index else s for s in incident.steps)}


def _intent(incident: Incident, event: ev.Intent, at: datetime) -> Change:
    run = WriteRun(intent=event, attempts=(event.resource_version,), at=at)
    return {"writes": (*incident.writes, run), "caution": None}


def _attempted(incident: Incident, event: ev.Attempted, at: datetime) -> Change:

    def again(run: WriteRun) -> WriteRun:
        if run.intent.write.key != event.key or not run.open:
            return run
        return run.model_copy(update={"attempts": (*run.attempts, event.resource_version)})

    return {"writes": tuple(again(run) for run in incident.writes)}


def _outcome(incident: Incident, event: ev.Outcome, at: datetime) -> Change:

    def ended(run: WriteRun) -> WriteRun:
        if run.intent.write.key != event.key or not run.takes(event):
            return run
        return run.model_copy(update={"outcome": event, "ended_at": at})

    change: Change = {"writes": tuple(ended(run) for run in incident.writes)}
    if event.result is ev.Result.DONE:
        change["done_keys"] = incident.done_keys | {event.key}
    return change


def _step_undone(incident: Incident, event: ev.StepUndone, at: datetime) -> Change:
    return {"undone_steps": (*incident.undone_steps, event.step)}


def _caution(event: ev.Cautioned) -> Refusal | None:
    return None if event.reason is None else Refusal(reason=event.reason, detail=event.detail)


CHANGES: dict[str, Callable[[Incident, Any, datetime], Change]] = {
    "alert_attached": _alert_attached,
    "silenced": _silenced,
    "storm_counted": lambda _i, event, at: {"storm": event, "storm_told_at": at},
    "lapsed": lambda _i, _event, at: {"lapsed_at": at, "resolved_seen_at": at},
    "held": lambda _i, event, _at: {"held_until": event.until},
    "gathered": _gathered,
    "offered": lambda _i, event, _at: {"menu": event.menu},
    "model_asked": _model_asked,
    "model_answered": _model_answered,
    "planned": _planned,
    "compiled": lambda _i, event, _at: {"saga": event.saga},
    "compile_refused": lambda _i, event, _at: {"failure": (event.reason, event.detail)},
    "rehearsed": lambda _i, event, _at: {"rehearsal": event.rehearsal},
    "waiting": lambda incident, event, _at: {"waiting": event, "waits": incident.waits + 1},
    "asked": _asked,
    "cleared": _cleared,
    "approved": lambda _i, event, at: {"approved_by": event.by, "let_go_at": at},
    "rejected": lambda _i, event, _at: {"end": (Reason.REJECTED, f"rejected by {event.by}")},
    "voided": _voided,
    "step_begun": _step_begun,
    "step_done": _step_done,
    "step_failed": lambda _i, event, _at: {"failure": (event.reason, event.detail)},
    "intent": _intent,
    "attempted": _attempted,
    "outcome": _outcome,
    "acted": lambda _i, _event, at: {"acted_at": at},
    "verified": lambda _i, event, _at: {"verified": event},
    "step_undone": _step_undone,
    "replanned": lambda incident, _event, _at: next_round(incident),
    "handed_over": lambda _i, event, _at: {"end": (event.reason, event.detail)},
    "suppressed": lambda _i, event, _at: {"end": (event.reason, event.detail)},
    "paused": lambda _i, event, _at: {"paused": True, "stop": event},
    "cancelled": lambda _i, event, _at: {"cancelled": event},
    "taking_back": lambda _i, event, _at: {"taking_back": event.steps},
    "resumed": lambda _i, _event, at: {"paused": False, "stop": None, "freed_at": at},
    "cautioned": lambda _i, event, _at: {"caution": _caution(event)},
    "taken": lambda _i, event, at: {"taken_by": event.by, "taken_at": at},
    "given_back": lambda _i, _event, at: {"taken_by": None, "taken_at": None, "freed_at": at},
}
