"""The whole incident as one plain text (Markdown): what was seen, thought, decided and done, and how it ended. Pure.

Read from the journal alone, round by round, so it tells earlier rounds too, which the folded state forgets. Bounded:
60,000 characters at most. Text of the world stands in it on single lines, without control characters, and no renderer
of Markdown finds anything in it to act upon: every line of every list passes `item`, and all else of the world is code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from handrail.core.fingerprint import shown
from handrail.core.headline import headline
from handrail.core.markdown import item, words
from handrail.core.redact import neutral
from handrail.core.report_times import Times, times
from handrail.core.standing import status, still_in_place
from handrail.core.story import line
from handrail.core.words import because, clock, cut_off, one_line, plural, span
from handrail.model import events as ev
from handrail.model.evidence import EvidenceItem
from handrail.model.incident import Incident
from handrail.model.saga import Rehearsal
from handrail.model.write import Direction

MOST = 60_000
LINE = 400
DIFF = 3_000


def report(incident: Incident, entries: Sequence[ev.Entry]) -> str:
    """Sections in the order in which a person asks; a section without content says so."""
    parts = [
        _head(incident, entries),
        _section("Times", _times(times(incident, entries))),
        _section("What was seen", _seen(entries)),
        _section("Evidence", _evidence(entries)),
        _section("Diagnosis and plan", _plans(entries)),
        _section("Who decided", _decisions(entries)),
        _section("What was written", _writes(entries)),
        _section("What came of it", _verdicts(entries)),
        _section("The model", _model(incident)),
        _section("The story", _story(entries)),
    ]
    text = "\n\n".join(parts)
    return text if len(text) <= MOST else f"{text[:MOST].rsplit(chr(10), 1)[0]}\n\n… the report is cut here\n"


def _section(title: str, lines: Iterable[str]) -> str:
    body = "\n".join(map(item, lines)) or "- nothing"
    return f"## {title}\n\n{body}"


def _head(incident: Incident, entries: Sequence[ev.Entry]) -> str:
    moment = entries[-1].at if entries else incident.moved_at
    about = incident.target or incident.labelled or "no object named"
    lines = [
        f"# {words(one_line(f'{incident.alert.name[:100]}: {about}', 300))}",
        "",
        f"- incident: {incident.id}, cluster {one_line(incident.cluster, 100)}",
        f"- state: {incident.state}",
        f"- {status(incident, moment)}",
    ]
    in_place = still_in_place(incident)
    lines += [f"- in place: {one_line(done, LINE)}" for done in in_place]
    return "\n".join(map(item, lines))


def _times(taken: Times) -> Iterator[str]:
    yield f"- opened {taken.opened:%Y-%m-%d %H:%M:%S} UTC"
    if taken.before is not None:
        yield f"- {span(taken.before)} after the alert began"
    if taken.mitigated is not None:
        yield f"- time to mitigate: {span(taken.mitigated)}"
        yield f"- time to mitigate without waiting for people: {span(taken.mitigated - taken.waited)}"
    else:
        yield f"- {'lasted' if taken.ended else 'so far'} {span(taken.lasted)}, not mitigated by Handrail"
    yield f"- waited for people: {span(taken.waited)}" if taken.waited > timedelta() else "- waited for nobody"


def _seen(entries: Sequence[ev.Entry]) -> Iterator[str]:
    for entry in entries:
        match entry.event:
            case ev.Opened() as event:
                alert = event.alert
                yield f"- {clock(entry.at)} alert {one_line(alert.name, 100)} ({alert.status}, {alert.wire})"
                yield from (f"    - {line}" for line in cut_off([alert]))
            case ev.AlertAttached() as event:
                yield f"- {clock(entry.at)} alert {one_line(event.alert.name, 100)} again ({event.alert.status})"
                yield from (f"    - {line}" for line in cut_off([event.alert]))
            case ev.Gathered() as event:
                yield f"- {clock(entry.at)} {event.target}: {event.severity}"
                yield from (f"    - {finding.cause}: {one_line(finding.summary, LINE)}" for finding in event.findings)


def _evidence(entries: Sequence[ev.Entry]) -> Iterator[str]:
    """Of the last look, with the sources that could not be asked."""
    looks = [entry.event for entry in entries if isinstance(entry.event, ev.Gathered)]
    if not looks:
        return
    for piece in looks[-1].evidence:
        yield f"- {piece.id} ({piece.trust}) {one_line(piece.title, 120)}, from {one_line(piece.source, 120)}"
        yield from _said(piece)
    yield from (f"- away: {one_line(f'{away.source}: {away.why}', LINE)}" for away in looks[-1].away)


def _said(piece: EvidenceItem) -> Iterator[str]:
    """The line that tells most, then the excerpt's other lines as code: its layout is half of what it says."""
    told = headline(piece)
    yield f"    - {told}"
    lines = [line for line in neutral(piece.excerpt).splitlines() if line.strip() and line != told]
    yield ""
    yield from (f"            {line[:LINE]}" for line in lines)
    yield ""


def _plans(entries: Sequence[ev.Entry]) -> Iterator[str]:
    for entry in entries:
        match entry.event:
            case ev.Planned() as event:
                yield f"- {clock(entry.at)} planned by {event.planner}"
                for hypothesis in event.proposal.diagnosis:
                    cited = ", ".join(hypothesis.evidence)
                    yield f"    - {hypothesis.confidence}: {one_line(hypothesis.statement, LINE)} (evidence {cited})"
                yield f"    - expected: {one_line(event.proposal.expected_effect, LINE)}"
                yield f"    - would prove it wrong: {one_line(event.proposal.would_disprove, LINE)}"
            case ev.Compiled() as event:
                yield from (f"    - step {s.index + 1}: {one_line(s.summary, LINE)}" for s in event.saga.steps)
            case ev.CompileRefused() as event:
                yield f"- {clock(entry.at)} refused: {because(event.reason, event.detail)}"


def _decisions(entries: Sequence[ev.Entry]) -> Iterator[str]:
    kinds = (
        *(ev.Asked, ev.Cleared, ev.Approved, ev.Rejected, ev.Voided, ev.Taken, ev.GivenBack, ev.Paused, ev.Resumed),
        *(ev.Cancelled, ev.Retried, ev.UndoAsked, ev.TakingBack),
    )
    for entry in entries:
        if isinstance(entry.event, kinds):
            yield f"- {clock(entry.at)} {line(entry)}"


def _writes(entries: Sequence[ev.Entry]) -> Iterator[str]:
    """Each intent with the diff that its approver saw, every attempt, and what came of it."""
    rehearsal: Rehearsal | None = None
    for entry in entries:
        match entry.event:
            case ev.Rehearsed() as event:
                rehearsal = event.rehearsal
            case ev.Intent() as event:
                summary = one_line(event.write.summary, LINE)
                yield f"- {clock(entry.at)} {event.direction}: {summary} (key {event.write.key})"
                yield from _fenced(_diff_of(event, rehearsal))
            case ev.Attempted() as event:
                yield f"- {clock(entry.at)} tried again (key {event.key})"
            case ev.Outcome() as event:
                yield f"- {clock(entry.at)} {because(event.reason, f'{event.result} {event.detail}')} (key {event.key})"


def _diff_of(intent: ev.Intent, rehearsal: Rehearsal | None) -> str:
    """Of this very write. An undo carries another key than the write it takes back: it is found by object, and the
    last write to it is taken back first."""
    writes = rehearsal.writes if rehearsal else ()
    if intent.direction is Direction.DO:
        return next((one.diff for one in writes if one.write.key == intent.write.key), "")
    mine = (one for one in reversed(writes) if one.step == intent.step)
    return next((one.undo_diff for one in mine if one.write.object.uid == intent.write.object.uid), "")


def _fenced(diff: str) -> Iterator[str]:
    """Four spaces make code in Markdown and need no mark that the text could close."""
    if diff:
        yield ""
        yield from (f"        {each}" for each in neutral(shown(diff, DIFF)).splitlines())
        yield ""


def _verdicts(entries: Sequence[ev.Entry]) -> Iterator[str]:
    kinds = (ev.Verified, ev.StepFailed, ev.StepUndone, ev.Undone, ev.HandedOver, ev.Suppressed, ev.Replanned)
    for entry in entries:
        if isinstance(entry.event, kinds):
            yield f"- {clock(entry.at)} {line(entry)}"


def _model(incident: Incident) -> Iterator[str]:
    calls = incident.model_calls
    if not calls:
        yield "- no model was asked"
        return
    tokens_in, tokens_out = sum(c.input_tokens for c in calls), sum(c.output_tokens for c in calls)
    asked = sum(call.times for call in calls)
    yield f"- {plural(asked, 'call')}, {tokens_in} tokens in, {tokens_out} tokens out"
    yield from (f"- no usable answer: {call.failed}" for call in calls if call.failed)


def _story(entries: Sequence[ev.Entry]) -> Iterator[str]:
    for entry in entries:
        told = line(entry)
        if told:
            yield f"- {clock(entry.at)} {told}"
