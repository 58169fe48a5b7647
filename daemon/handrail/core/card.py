"""The card of an incident: what a person decides from, in Slack, in a terminal and on a page. Pure.

Says what is known, what would be done, how to take it back, who may decide and until when, and where it stands now.
Never escapes and never colours: its text is bounded and stays hostile. Nothing stands on it that the journal does not
hold; `status` and `next_action` are in core/standing.py.
"""

from __future__ import annotations

import json
from datetime import datetime

from handrail.core import storm
from handrail.core.attached import attached
from handrail.core.fingerprint import DIFF_LIMIT, shown
from handrail.core.headline import headline
from handrail.core.standing import asked_now, next_action, status
from handrail.core.story import before
from handrail.core.veil import veiled
from handrail.core.words import cut_off, one_line, plural, who_may
from handrail.model.card import Card
from handrail.model.evidence import EvidenceItem, Trust
from handrail.model.incident import Incident
from handrail.model.reason import Reason
from handrail.model.saga import Rehearsal, RehearsedWrite

MOST_EVIDENCE = 8
MOST_FACTS = 3
MOST_LINES = 8
LINE = 300
FACT = 150

_TRUSTED_FIRST = {Trust.API: 0, Trust.METRIC: 1, Trust.TEXT: 2}


def card(incident: Incident, now: datetime) -> Card:
    asked = asked_now(incident)
    rehearsal = incident.rehearsal
    return Card(
        incident=incident.id,
        state=incident.state,
        title=one_line(incident.alert.name, 100),
        cluster=one_line(incident.cluster, 100),
        target=one_line(_target(incident), 200),
        status=status(incident, now),
        next_action=next_action(incident, now),
        diagnosis=_diagnosis(incident),
        evidence=_evidence(incident),
        away=tuple(one_line(f"{away.source}: {away.why}", LINE) for away in incident.away[:MOST_LINES]),
        actions=_actions(incident),
        diff=shown(_diffs(rehearsal), DIFF_LIMIT) if rehearsal else "",
        undo_diff=shown(_undo_diffs(rehearsal), DIFF_LIMIT) if rehearsal else "",
        blast=_blast(rehearsal) if rehearsal else "",
        approvers=one_line(who_may(asked.approvers), 600) if asked else "",
        expires=asked.expires if asked else None,
        request=asked.id if asked else "",
        decided=_decided(incident),
    )


def _target(incident: Incident) -> str:
    return str(incident.target or incident.labelled or "no object that the alert names")


def _diagnosis(incident: Incident) -> tuple[str, ...]:
    """What it follows; then the plan's hypotheses with what they cite, or what the detectors found before a plan."""
    plan = incident.proposal
    if incident.storm is not None:
        return tuple(one_line(line, LINE) for line in storm.lines(incident.storm))
    follows = [before(incident.follows).strip()] if incident.follows else []
    if plan is None:
        found = [one_line(f"found: {f.summary}{_words_only(f.corroborated)}", LINE) for f in incident.findings]
        return (*follows, *found[:MOST_LINES], *_not_offered(incident))
    lines = follows + [
        one_line(f"{h.confidence.replace('_', ' ')} confidence: {h.statement} ({', '.join(h.evidence)})", LINE)
        for h in plan.diagnosis[:4]
    ]
    lines.append(one_line(f"expected: {plan.expected_effect}", LINE))
    lines.append(one_line(f"this would prove it wrong: {plan.would_disprove}", LINE))
    return tuple(lines)


def _words_only(corroborated: bool) -> str:
    return "" if corroborated else " (neither the API nor a metric shows it)"


def _not_offered(incident: Incident) -> tuple[str, ...]:
    """What was considered and refused is worth knowing when there is no plan."""
    refused = incident.menu.not_offered if incident.menu else ()
    return tuple(one_line(f"not offered: {no.step}: {no.reason}: {no.detail}", LINE) for no in refused[:MOST_LINES])


def _evidence(incident: Incident) -> tuple[str, ...]:
    """What detectors found by typed facts; then most trusted first, and among those what the plan cites.

    One short line each: a person reads the whole text in the report.
    """
    plan = incident.proposal
    cited = {id_ for hypothesis in plan.diagnosis for id_ in hypothesis.evidence} if plan else set()
    ranked = sorted(incident.evidence, key=lambda item: (_TRUSTED_FIRST[item.trust], item.id not in cited))
    lines = [_fact(item) for item in ranked[:MOST_EVIDENCE]]
    hidden = len(ranked) - len(lines)
    more = [f"and {hidden} more in the report"] if hidden else []
    return (*_facts(incident), *lines, *more, *attached(incident), *cut_off(incident.alerts))


def _facts(incident: Incident) -> list[str]:
    """Before there is a plan, and where the plan says it itself, the diagnosis tells it already."""
    plan = incident.proposal
    told = {hypothesis.statement for hypothesis in plan.diagnosis} if plan else set()
    shown = [f for f in incident.findings if f.corroborated and f.summary not in told] if plan else []
    return [one_line(f"found by {finding.detector}: {finding.summary}", FACT) for finding in shown[:MOST_FACTS]]


def _fact(item: EvidenceItem) -> str:
    words = " (words, not proof)" if item.trust is Trust.TEXT else ""
    return f"{item.id}{words} {headline(item)}"


def _actions(incident: Incident) -> tuple[str, ...]:
    steps = incident.saga.steps if incident.saga else ()
    return tuple(one_line(f"{step.index + 1}. {step.summary} ({step.risk})", LINE) for step in steps[:MOST_LINES])


def _diffs(rehearsal: Rehearsal) -> str:
    return "\n".join(_diff(write, write.diff) for write in rehearsal.writes)


def _undo_diffs(rehearsal: Rehearsal) -> str:
    """Last write first: that is the order in which they would be taken back."""
    undo = (one for one in reversed(rehearsal.writes) if one.rehearsed)
    return "\n".join(f"{one_line(f'# takes back: {one.write.summary}', LINE)}\n{one.undo_diff}" for one in undo)


def _diff(rehearsed: RehearsedWrite, diff: str) -> str:
    """A write that depends on an earlier one has no diff: its very body is shown, for that is what binds it.
    Secrets are hidden as in a diff."""
    write = rehearsed.write
    title = one_line(f"# {write.verb} {write.object}: {write.summary}", LINE)
    if rehearsed.rehearsed:
        return f"{title}\n{diff}"
    body = json.dumps(veiled(list(write.ops) or write.body or {}), indent=1, sort_keys=True, ensure_ascii=False)
    return f"{title}\n# not rehearsed: it depends on a write before it\n{body}"


def _blast(rehearsal: Rehearsal) -> str:
    """Of a saga that restarts nothing only the notes: what is ready now, who else scales it."""
    blast = rehearsal.blast
    line = f"up to {plural(blast.pods, 'pod')} may be replaced" if blast.pods else "no pod is replaced"
    return one_line("; ".join((line, *blast.notes)), LINE * 2)


def _decided(incident: Incident) -> str:
    reason, detail = incident.end or (None, "")
    if reason is Reason.REJECTED:
        return one_line(detail, LINE)
    if incident.approved_by is not None:
        return one_line(f"approved by {incident.approved_by}", LINE)
    return "policy lets this run without asking" if incident.cleared_hash else ""
