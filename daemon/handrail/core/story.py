"""The sentence that an incident's thread tells for an event, or None where the card says it well enough. Pure.

One event, one sentence, in the past tense, in the words of an on-call engineer. A sentence about a person begins with
that person. Text of the world stands at the end of a sentence, on the same line, and is not escaped here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handrail.core import stops
from handrail.core.grouping import QUIET_AFTER_END
from handrail.core.words import because, clock, one_line, plural, who_may
from handrail.model import events as ev
from handrail.model.finding import Finding, Handling
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.model.step import Verdict
from handrail.model.write import Direction

MOST = 700


def line(entry: ev.Entry) -> str | None:
    """At most 700 characters on one line."""
    tell = _TELLS.get(entry.event.kind)
    told = tell(entry.event) if tell else None
    return one_line(told, MOST) if told else None


def _opened(event: ev.Opened) -> str:
    about = f" about {event.target}" if event.target else ""
    return f"{before(event.follows)}Opened for the alert {one_line(event.alert.name, 100)}{about}."


def before(follows: ev.Follows | None) -> str:
    """What an incident follows, as a sentence with a blank after it; "" where it follows none."""
    if follows is None:
        return ""
    if follows.how != "alert":
        what = "for another try of" if follows.how == "retry" else "to take back what was done in"
        return f"{follows.by} asked {what} {follows.incident}: {one_line(follows.why, 300).rstrip('.')}. "
    if follows.ended == State.RESOLVED:
        return f"The repair of {follows.incident} did not hold, or its alert fires on. "
    return f"The alert of {follows.incident} fires again, though it was closed. "


def _alert_attached(event: ev.AlertAttached) -> str | None:
    """While it is open, a repeated firing is no news; that it stopped firing is, though it proves nothing."""
    name = one_line(event.alert.name, 100)
    if event.closed:
        return _late(event, name)
    if event.alert.status == "firing":
        return None
    return f"The alert {name} says it is resolved; the live object decides whether it is."


def _late(event: ev.AlertAttached, name: str) -> str | None:
    """On a closed incident, where few are journalled: whoever has it wants to know whether it goes on."""
    if event.closed == State.SUPPRESSED:
        return None
    if event.alert.status == "resolved":
        return f"The alert {name} says it is resolved."
    if event.closed == State.HANDED_OVER:
        return f"The alert {name} still fires. This is with a person; nothing more is done to it."
    quiet = int(QUIET_AFTER_END.total_seconds() // 60)
    return (
        f"The alert {name} still fires after the repair. If it does so after {quiet} minutes, it opens a new incident."
    )


def _gathered(event: ev.Gathered) -> str:
    away = f" Could not ask: {', '.join(one_line(away.source, 60) for away in event.away)}." if event.away else ""
    seen = f"Looked at {event.target}: {event.severity}, {plural(len(event.evidence), 'piece')} of evidence.{away}"
    return f"{seen} {_found(event.findings)}"


def _found(findings: tuple[Finding, ...]) -> str:
    """What the API shows; what an alert's name alone suggests only where nothing is shown."""
    counted = [f for f in findings if f.handling is not Handling.IGNORE]
    shown = [f for f in counted if f.corroborated]
    if shown:
        return f"Found: {'; '.join(one_line(f.summary, 150) for f in shown[:3])}."
    if counted:
        return f"The API shows no cause; the alert suggests: {one_line(counted[0].summary, 150).rstrip('.?')}."
    return "Found no known cause."


def _cautioned(event: ev.Cautioned) -> str:
    if event.reason is None:
        return "What would have refused an approval is over."
    if event.reason is Reason.HANDS_BUSY:
        return f"It waits for its turn: {because(event.reason, event.detail, 300)}."
    return f"An approval would be refused now: {because(event.reason, event.detail, 300)}. The question stands."


def _model_answered(event: ev.ModelAnswered) -> str | None:
    if event.failed is None:
        return None
    return f"The model gave no usable answer: {because(event.failed, event.detail, 300)}."


def _planned(event: ev.Planned) -> str:
    plan = event.proposal
    lead = plan.diagnosis[0] if plan.diagnosis else None
    why = f": {one_line(lead.statement, 300)}" if lead else ""
    sure = plan.confidence.replace("_", " ")
    return f"Planned by {event.planner} with {sure} confidence{why}."


def _compile_refused(event: ev.CompileRefused) -> str:
    return f"The plan could not become steps: {because(event.reason, event.detail)}."


def _asked(event: ev.Asked) -> str:
    request = event.request
    away = f" Could not ask: {', '.join(one_line(one.source, 60) for one in event.away)}." if event.away else ""
    return f"Asked {who_may(request.approvers)}. Please decide until {clock(request.expires)}.{away}"


def _voided(event: ev.Voided) -> str:
    return f"Void, nothing of it was written; looking and asking anew: {because(event.reason, event.detail)}."


def _intent(event: ev.Intent) -> str | None:
    """Told before it is sent, and that it is done by the step."""
    if event.direction is Direction.UNDO:
        return f"Taking back: {event.write.summary}."
    return f"Doing now: {event.write.summary}."


def _outcome(event: ev.Outcome) -> str | None:
    match event.result:
        case ev.Result.DONE:
            return None
        case ev.Result.ABSENT:
            return f"A write did not reach the cluster{_why(event)}; it may be tried again."
        case ev.Result.REFUSED:
            return f"The API server refused a write{_why(event)}."
        case _:
            return f"Nobody can tell whether a write was applied{_why(event)}."


def _why(event: ev.Outcome) -> str:
    told = because(event.reason, event.detail, 400)
    return f" ({told})" if told else ""


def _step_done(event: ev.StepDone) -> str:
    return f"Step {event.step + 1} is done{f': {event.detail}' if event.detail else ''}."


def _step_failed(event: ev.StepFailed) -> str:
    return f"Step {event.step + 1} failed: {because(event.reason, event.detail)}."


def _verified(event: ev.Verified) -> str:
    words = {
        Verdict.HEALED: "It healed",
        Verdict.WORSE: "It got worse",
        Verdict.NO_EFFECT: "It did not help",
        Verdict.NOT_YET: "Not healed yet",
    }
    return f"{words[event.verdict]} ({event.severity}): {one_line(event.detail, 400)}."


def _step_undone(event: ev.StepUndone) -> str:
    return f"Step {event.step + 1} is taken back{f': {event.detail}' if event.detail else ''}."


def _paused(event: ev.Paused) -> str:
    said = stops.stopped(event)
    told = f"{said[0].upper()}{said[1:]}" if event.held else said
    return f"{told}. {event.half_done}".rstrip()


def _suppressed(event: ev.Suppressed) -> str:
    if event.reason is Reason.STORM:
        return f"{event.detail[:1].upper()}{event.detail[1:]}."
    into = f" It goes on as {event.into}." if event.into else ""
    return f"Closed, nothing to do: {because(event.reason, event.detail)}.{into}"


_TELLS: dict[str, Callable[[Any], str | None]] = {
    "opened": _opened,
    "alert_attached": _alert_attached,
    "lapsed": lambda event: (
        f"Nobody repeats its alert since {clock(event.since)}; the live object decides whether it is over."
    ),
    "held": lambda event: f"Nothing wrong to be seen; looking once more at {clock(event.until)} before it is closed.",
    "silenced": lambda event: f"Left alone until {clock(event.until)}: {because(event.reason, event.detail)}.",
    "gathered": _gathered,
    "model_answered": _model_answered,
    "planned": _planned,
    "compile_refused": _compile_refused,
    "waiting": lambda event: f"Not asking before {clock(event.until)}: {because(event.reason, event.detail)}.",
    "wait_ended": lambda _event: "The wait is over; looking anew before anybody is asked.",
    "asked": _asked,
    "cleared": lambda _event: "Policy lets this run without asking anybody.",
    "approved": lambda event: f"{event.by} approved exactly what the card shows.",
    "rejected": lambda event: (
        f"{event.by} rejected it{f': {event.why}' if event.why else '; nothing of it was written'}."
    ),
    "voided": _voided,
    "intent": _intent,
    "attempted": lambda _event: "The object had moved on in the meantime; trying the same write once more.",
    "outcome": _outcome,
    "step_done": _step_done,
    "step_failed": _step_failed,
    "acted": lambda _event: "Every step is done; watching whether it heals.",
    "verified": _verified,
    "step_undone": _step_undone,
    "undone": lambda _event: "Nothing that was written is left in place.",
    "replanned": lambda _event: "Looking anew for another round, knowing what was tried.",
    "handed_over": lambda event: f"Handed over to a person: {because(event.reason, event.detail)}.",
    "suppressed": _suppressed,
    "paused": _paused,
    "cancelled": lambda event: f"{event.by} cancelled it: {one_line(event.why, 300)}.",
    "retried": lambda event: f"{event.by} began another try, {event.into}: {one_line(event.why, 300)}.",
    "undo_asked": lambda event: f"{event.by} asked to take it back, as {event.into}: {one_line(event.why, 300)}.",
    "taking_back": lambda event: f"It would take back: {'; '.join(one.summary for one in event.steps)}.",
    "resumed": lambda event: f"{event.by or 'somebody'} started it again; it goes on where it stood.",
    "taken": lambda event: f"{event.by} took it; nothing is done to it until it is given back.",
    "given_back": lambda event: f"{event.by} gave it back; it goes on where it stood.",
    "cautioned": _cautioned,
    "noted": lambda event: f"Note by {event.by}: {event.text}",
}
"""Not told: gathering_begun, storm_counted, offered, model_asked, compiled, rehearsed, step_begun. The card shows what
came of it."""
