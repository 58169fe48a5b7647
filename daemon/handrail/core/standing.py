"""Where an incident stands, in one plain sentence, and what its reader can do about it in another. Pure.

The order of the questions is that of a person who comes in late: is it over, is it stopped, has somebody got it, what
is it doing? What is half-done is always said.
"""

from __future__ import annotations

from datetime import datetime

from handrail.core import stops, storm
from handrail.core.words import because, clock, one_line, plural, span
from handrail.model.approval import ApprovalRequest
from handrail.model.events import Result, StormCounted
from handrail.model.incident import Incident, State, WriteRun
from handrail.model.reason import Reason
from handrail.model.switch import EVERYTHING
from handrail.model.write import Direction, Verb

SENTENCE = 700


def asked_now(incident: Incident) -> ApprovalRequest | None:
    """What a person may answer now: nothing under a stop or while somebody has the incident."""
    held = incident.paused or incident.taken_by is not None or incident.cancelled is not None
    open_question = incident.state is State.ASKING and not held
    return incident.request if open_question else None


def status(incident: Incident, now: datetime) -> str:
    if incident.state.terminal:
        return _end(incident)
    if incident.cancelled is not None:
        by = f"{incident.cancelled.by} has cancelled this; it is handed over once nothing is in flight"
        return one_line(f"{by}.{_half_done(incident)}", SENTENCE)
    if incident.taken_by is not None:
        return one_line(
            f"{incident.taken_by} has taken this; Handrail does nothing to it.{_half_done(incident)}", SENTENCE
        )
    if incident.paused:
        return one_line(f"{_stopped(incident)}; nothing is written.{_half_done(incident)}", SENTENCE)
    return one_line(_doing(incident, now), SENTENCE)


def next_action(incident: Incident, now: datetime) -> str:
    """What to type; commands stand in backticks, and nothing of the world stands in here."""
    id_ = incident.id
    if incident.state is State.HANDED_OVER:
        return f"It is yours now. `handrail incidents report {id_}` tells everything that is known."
    if incident.state is State.RESOLVED and still_in_place(incident) and not incident.taking_back:
        undo = f"`handrail incidents undo {id_} --reason TEXT` asks to take it back"
        return f"Nothing to do. {undo}; `handrail incidents report {id_}` tells the whole story."
    if incident.state.terminal:
        return f"Nothing to do. `handrail incidents report {id_}` tells the whole story."
    if incident.taken_by is not None:
        return f"`handrail give-back {id_}` lets Handrail go on where it stood."
    if incident.paused:
        command = stops.to_start(incident.stop) if incident.stop else "`handrail start`"
        return f"{command} lets incidents go on where they stood."
    if incident.state is State.ASKING and not _too_late(incident, now):
        return f"Decide here, or with `handrail approve {id_}`, `handrail reject {id_}` or `handrail take {id_}`."
    if storm.is_page(incident):
        one = "`handrail incidents retry ID --reason TEXT` goes on with one of them, and an approver is asked"
        return f"`handrail incidents list` shows what waits; {one}."
    return f"`handrail take {id_}` keeps Handrail off it; `handrail stop --reason TEXT` stops everything."


def still_in_place(incident: Incident) -> tuple[str, ...]:
    """What was written and has not been taken back, over all rounds, oldest first."""
    done = [run.intent for run in incident.done_writes if run.intent.direction is Direction.DO]
    undone = set(incident.undone_steps)
    if incident.state.terminal:  # that it was taken back may have become known since
        undone |= {one.step for one in done if taken_back(incident, one.step)}
    return incident.done_before + tuple(one_line(i.write.summary, 200) for i in done if i.step not in undone)


def taken_back(incident: Incident, index: int) -> bool:
    """Every object that the step changed and that can be changed back; what was deleted can't be."""
    done = [run.intent for run in incident.done_writes if run.intent.step == index]
    changed = [one for one in done if one.write.verb not in (Verb.DELETE, Verb.EVICT)]
    ways = [one.direction for one in changed]
    return ways.count(Direction.UNDO) >= ways.count(Direction.DO) and len(changed) == len(done)


def half_done(incident: Incident) -> str:
    """One sentence or two, never nothing: what stands in the world now, and what nobody can tell."""
    return _half_done(incident).strip()


def _stopped(incident: Incident) -> str:
    """Everything, or what of it concerns this one; who and why where the journal says so."""
    stop = incident.stop
    if stop is None or (stop.reach == EVERYTHING and not stop.held):
        return f"Everything is stopped{f' by {stop.by}: {one_line(stop.why, 300)}' if stop and stop.by else ''}"
    said = stops.stopped(stop)
    return f"{said[0].upper()}{said[1:]}"


def _too_late(incident: Incident, now: datetime) -> bool:
    return incident.request is None or now > incident.request.expires


def _half_done(incident: Incident) -> str:
    """Never says that nothing was changed where nobody can tell."""
    in_place, unclear = still_in_place(incident), _unclear(incident)
    told = f" Nobody can tell yet whether this was applied: {'; '.join(unclear)}." if unclear else ""
    if in_place:
        return f"{told} Done so far: {'; '.join(in_place)}."
    if incident.undone_steps or incident.done_writes:
        return f"{told} What was done has been taken back."
    return told or " Nothing has been changed."


def _unclear(incident: Incident) -> tuple[str, ...]:
    """Writes without an outcome, or with one that could not be settled."""
    stuck = (run for run in incident.writes if run.outcome is None or run.outcome.result is Result.STUCK)
    return tuple(_summary(run) for run in stuck)


def _summary(run: WriteRun | None) -> str:
    return one_line(run.intent.write.summary, 200) if run else ""


def _end(incident: Incident) -> str:
    at, took = clock(incident.moved_at), span(incident.moved_at - incident.opened_at)
    if storm.is_page(incident) and incident.state is State.SUPPRESSED:
        return one_line(f"Over: {(incident.end or (None, ''))[1]}.", SENTENCE)
    match incident.state:
        case State.RESOLVED:
            healed = one_line(incident.verified.detail, 300) if incident.verified else ""
            return f"Resolved at {at}, {took} after it was opened{f': {healed}' if healed else ''}."
        case State.HANDED_OVER:
            told = one_line(f"Handed over to a person at {at}: {because(*(incident.end or (None, '')))}", 500)
            return one_line(f"{told.rstrip('.')}.{_half_done(incident)}", SENTENCE)
        case _:
            return one_line(f"Closed at {at}, nothing to do: {because(*(incident.end or (None, '')))}", SENTENCE)


def _doing(incident: Incident, now: datetime) -> str:
    match incident.state:
        case State.OPENED if incident.storm is not None:
            return _storm(incident.storm)
        case State.OPENED:
            return "An alert came in; nothing has been looked at yet."
        case State.GATHERING if incident.silenced is not None:
            silence = incident.silenced
            quiet = because(silence.reason, silence.detail)
            return f"Nothing is done: {quiet}. Looked at again at {clock(silence.until)}.{_half_done(incident)}"
        case State.GATHERING:
            return _again(incident, "Looking at the cluster for what is wrong and what changed.")
        case State.PLANNING:
            return _round(incident, "Choosing what would help.")
        case State.COMPILING:
            return _round(incident, "Writing the plan out as fixed steps.")
        case State.REHEARSING if incident.waiting is not None:
            wait = incident.waiting
            return f"Waits until {clock(wait.until)}, then looks anew and asks: {because(wait.reason, wait.detail)}."
        case State.REHEARSING:
            return "Rehearsing every write on the API server; nothing is changed by that."
        case State.ASKING:
            return _asking(incident, now)
        case State.EXECUTING:
            return _executing(incident)
        case State.VERIFYING:
            return f"Done; watching whether it heals.{_half_done(incident)}"
        case State.UNDOING:
            return _taking_back(incident)
        case _:
            return _taken_back(incident)


def _taking_back(incident: Incident) -> str:
    """What failed before anything was written leaves nothing to take back."""
    why = because(*(incident.failure or _worse(incident)))
    in_place, unclear = still_in_place(incident), _unclear(incident)
    if incident.undone_steps or _of_this_round(incident) or unclear:
        left = f" Still in place: {'; '.join(in_place)}." if in_place else ""
        told = f" Nobody can tell yet whether this was applied: {'; '.join(unclear)}." if unclear else ""
        return f"Taking back what was done, because of {why}.{told}{left}"
    return f"Nothing of it was written, so there is nothing to take back: {why}.{_half_done(incident)}"


def _taken_back(incident: Incident) -> str:
    why = because(*(incident.failure or _worse(incident)))
    if incident.undone_steps:
        return f"What was done has been taken back, because of {why}."
    return f"Nothing of it was written, so there was nothing to take back: {why}.{_half_done(incident)}"


def _of_this_round(incident: Incident) -> bool:
    return any(run.intent.direction is Direction.DO for run in incident.done_writes)


def _storm(said: StormCounted) -> str:
    told = f"A storm: {storm.lines(said)[0]}. Nothing is asked and nothing written until it is over"
    return f"{told}, at {clock(said.until)} unless more come; {said.waiting} incidents wait and are looked at then."


def _again(incident: Incident, sentence: str) -> str:
    if not incident.voids:
        return _round(incident, sentence)
    return f"Things changed under the plan ({plural(incident.voids, 'time')}); looking again.{_half_done(incident)}"


def _round(incident: Incident, sentence: str) -> str:
    if incident.round == 1:
        return sentence
    return f"Round {incident.round}: {sentence[0].lower()}{sentence[1:]}{_half_done(incident)}"


def _asking(incident: Incident, now: datetime) -> str:
    if incident.request is None or _too_late(incident, now):
        return f"The time to decide is over; a person gets it.{_half_done(incident)}"
    caution = incident.caution
    but = f" An approval now would be refused: {because(caution.reason, caution.detail, 300)}." if caution else ""
    return f"Waits for a person to decide until {clock(incident.request.expires)}.{but}{_half_done(incident)}"


def _executing(incident: Incident) -> str:
    by = f"Approved by {incident.approved_by}" if incident.approved_by else "Policy lets this run without asking"
    if incident.open_write is not None:
        return f"{by}; a write was sent and its outcome is awaited: {_summary(incident.open_write)}."
    steps = incident.saga.steps if incident.saga else ()
    done = {run.index for run in incident.steps if run.done}
    current = next((step for step in steps if step.index not in done), None)
    if current is None:
        return f"{by}; every step is done."
    if incident.caution is not None and incident.caution.reason is Reason.HANDS_BUSY:
        return f"{by}; it waits for its turn: {because(incident.caution.reason, incident.caution.detail, 300)}."
    return f"{by}; step {current.index + 1} of {len(steps)}: {one_line(current.summary, 300)}."


def _worse(incident: Incident) -> tuple[None, str]:
    return None, one_line(incident.verified.detail, 300) if incident.verified else "what happened after it"
