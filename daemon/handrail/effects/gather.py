"""Gathering: the target by UID, what is wrong with it, the evidence; then the claim to be the one incident on it."""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.adapters.evidence.pieces import MOST_PIECES
from handrail.adapters.kubernetes import look_at
from handrail.core import severity
from handrail.core.changes import is_own, only_repeated
from handrail.core.conditions import SEEN, raised
from handrail.effects import storm
from handrail.effects.quiet import silenced_now, told_by
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.detector import Detector, Watches, Window
from handrail.model.errors import HeadMoved, Transient
from handrail.model.evidence import LOGS, Away, EvidenceItem, Piece
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.gathering import Gathering
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.severity import Severity
from handrail.model.step import Thing, Verdict
from handrail.model.value import digest

SYMPTOM_PATIENCE = timedelta(minutes=2)
"""A workload that is not healthy but shows no cause yet is looked at again for this long before planning goes on."""

HOLD = timedelta(minutes=5)
"""Alertmanager's usual group_interval: the two of a pair have told the same by then (cases 1, 2)."""

SHOWN_BY_HEALTH = frozenset(
    {
        Cause.BAD_REVISION_CRASHES,
        Cause.BAD_REVISION_IMAGE,
        Cause.BAD_REVISION_STUCK,
        Cause.CRASH_LOOP,
        Cause.CREATION_BLOCKED,
        Cause.IMAGE_PULL,
        Cause.NODE_NOT_READY,
        Cause.NODE_PRESSURE,
        Cause.NOT_READY,
        Cause.ROLLOUT_STUCK,
    }
)
"""Trouble that can't be there while every wanted pod is ready on the newest template. Not so errors, load or memory."""

EXCERPT = 600
"""What matters stands at their end."""


async def gather(tools: Tools, incident: Incident) -> Incident:
    """One look. Appends Gathered (or merges), hands over, suppresses, or leaves the incident as it is to look again.
    Raises Transient."""
    now = tools.now()
    try:
        gathering = await tools.gatherer.gather(incident.labelled, incident.alert, now)
    except Transient as away:
        return await _while_away(tools, incident, away)
    if isinstance(gathering, Refusal):
        _seen, silence = await silenced_now(tools, incident)
        quiet = silence if not incident.taking_back else None
        over = quiet or await storm.not_found(tools, incident, gathering) or _cannot_look(incident, gathering)
        return await tools.store.append(incident, (over,))
    if incident.taking_back:
        return await _claim(tools, incident, gathering, incident.findings)
    thing = gathering.thing
    found = found_in(tools.detectors, incident, gathering, now)
    if (condition := raised(incident.identity, found, now, SEEN)) is not None:
        await tools.store.watching.raise_(condition)
    well = thing is not None and not found and severity.healthy(thing) and not _is_part(incident, gathering)
    if thing is not None and well and incident.tried:
        return await tools.store.append(incident, (_late_cure(thing),))
    noise = _noise(incident) if well else None
    if noise is not None:
        return await tools.store.append(incident, (_held(incident, now) or noise,))
    if _too_early(incident, thing, found, now):
        return incident
    seen, silence = await silenced_now(tools, incident)
    if silence is not None:
        return await tools.store.append(incident, (silence,))
    gathering = _besides(gathering, await told_by(tools, seen, now), seen.away)
    return await _claim(tools, incident, gathering, (*found, *incident.findings))


async def _while_away(tools: Tools, incident: Incident, away: Transient) -> Incident:
    """Raises it again where there is nothing but to try again."""
    waits = await storm.away(tools, incident, str(away)[:300])
    if waits is None:
        raise away
    return await tools.store.append(incident, (waits,))


async def _claim(tools: Tools, incident: Incident, gathering: Gathering, findings: tuple[Finding, ...]) -> Incident:
    """What an undo is about is wanted as it was, well or not: only the claim to the target counts there."""
    texts = {digest(piece.text): piece.text for piece in gathering.pieces}
    event = _gathered(gathering, findings)
    claimed = await _claimed(tools, incident, event, texts)
    if isinstance(claimed, str):
        merged = await tools.store.incident(incident.id)
        return merged or incident
    return claimed


async def _claimed(tools: Tools, incident: Incident, event: ev.Gathered, texts: dict[str, str]) -> Incident | str:
    """A repeat makes nobody look again: each of the first twenty is journalled, and would cost a whole look. Only here,
    where the looks were all made; what ends an incident instead, or lets it wait, is decided anew."""
    try:
        return await tools.store.claim(incident, event, texts)
    except HeadMoved:
        newest = await tools.store.incident(incident.id)
        if newest is None or not only_repeated(incident, newest):
            raise
        return await tools.store.claim(newest, event, texts)


def _besides(gathering: Gathering, said: Piece | None, away: Away | None) -> Gathering:
    """With what Alertmanager says, or that it can't be asked."""
    pieces = (*gathering.pieces[: MOST_PIECES - 1], said) if said else gathering.pieces
    return gathering.model_copy(update={"pieces": pieces, "away": (*gathering.away, *((away,) if away else ()))})


async def recheck(tools: Tools, incident: Incident) -> Incident:
    """A resolved alert came in while a person is asked: data, not proof. The live object decides (cases 4, 5)."""
    thing = await look_at(tools.eyes, incident.target) if incident.target else None
    if thing is not None and severity.healthy(thing):
        return await tools.store.append(incident, (_by_itself(incident),))
    what = "its alert is not repeated any more" if incident.lapsed_at else "an alert was resolved meanwhile"
    changed = ev.Voided(reason=Reason.STATE_CHANGED, detail=f"{what}; looking again")
    return await tools.store.append(incident, (changed,))


def _cannot_look(incident: Incident, no: Refusal) -> ev.HandedOver:
    return ev.HandedOver(reason=no.reason, detail=f"{no.detail}{_said_of_it(incident)}")


def _said_of_it(incident: Incident) -> str:
    """What is known all the same, where nothing can be looked at."""
    known = (f for f in incident.findings if f.handling is not Handling.IGNORE and f.cause is not Cause.OTHER)
    found = next(known, None)
    return f"; {found.cause}: {found.summary}" if found else ""


def _by_itself(incident: Incident) -> ev.Suppressed:
    what = "its alert is not repeated any more" if incident.lapsed_at else "the alert was resolved"
    return ev.Suppressed(reason=Reason.RESOLVED_BY_ITSELF, detail=f"{what} and the workload is healthy")


def found_in(
    detectors: tuple[Detector, ...], incident: Incident, seen: Gathering, now: datetime
) -> tuple[Finding, ...]:
    """What the detectors say that are woken by what was seen."""
    wakes = {
        Watches.WORKLOAD: seen.workload is not None,
        Watches.NODE: seen.node is not None,
        Watches.AUTOSCALER: seen.autoscaler is not None,
        Watches.OBJECT: seen.object is not None,
    }
    window = Window(
        alerts=incident.alerts,
        events=seen.happened,
        workload=seen.workload,
        node=seen.node,
        autoscaler=seen.autoscaler,
        object=seen.object,
        owned=seen.owned,
    )
    woken = (d for d in detectors if any(wakes.get(what) for what in d.watches))
    return tuple(finding for d in woken for finding in d.detect(window, now, d.Params()))


def _late_cure(thing: Thing) -> ev.Verified:
    """After something was done it is no noise that it is well."""
    detail = "it is well now, later than it was waited for"
    return ev.Verified(verdict=Verdict.HEALED, severity=severity.measure(thing), detail=detail)


def _noise(incident: Incident) -> ev.Suppressed | None:
    """What a healthy workload says of its alert, None where it can't say: then a person has to look.

    A first alert must have said itself that it is resolved, unless it waited for the end of a storm. One that follows a
    closed incident may be a false resolve taken back (prometheus#5277) or the late word of a pair (alertmanager#4008):
    while its kind of trouble would show on the workload, and does not, it is noise; so is a lone echo, whatever it is
    about.
    """
    shown = _would_show(incident)
    if incident.resolved_seen_at is not None and (shown or _last_word(incident) == "resolved"):
        return _by_itself(incident)
    in_storm = incident.storm_at is not None and shown
    if in_storm or (incident.follows is not None and (shown or _lone_echo(incident))):
        return ev.Suppressed(reason=Reason.NOTHING_WRONG, detail="the alert fires, but the workload is healthy")
    return None


def _held(incident: Incident, now: datetime) -> ev.Held | None:
    """What follows a closed incident is looked at twice before it is closed: flapping opens one incident a hold."""
    if incident.follows is None or incident.follows.how != "alert" or incident.held_until is not None:
        return None
    return ev.Held(until=now + HOLD, detail="nothing wrong to be seen now")


def _is_part(incident: Incident, seen: Gathering) -> bool:
    """A static pod of a node: that the node is well says nothing of it."""
    return seen.ref.kind == "Node" and incident.labelled is not None and incident.labelled.kind == "Pod"


def _would_show(incident: Incident) -> bool:
    counted = [finding for finding in incident.findings if finding.handling is not Handling.IGNORE]
    return bool(counted) and all(finding.cause in SHOWN_BY_HEALTH for finding in counted)


def _last_word(incident: Incident) -> str:
    """What is not repeated any more is as good as taken back."""
    if incident.lapsed_at is not None:
        return "resolved"
    return [alert.status for alert in incident.alerts if is_own(incident, alert)][-1]


def _lone_echo(incident: Incident) -> bool:
    return incident.follows is not None and incident.follows.echo and len(incident.alerts) == 1


def _too_early(incident: Incident, thing: Thing | None, found: tuple[Finding, ...], now: datetime) -> bool:
    """A rollout that has just begun shows its cause a little later than the alert."""
    if thing is None or severity.healthy(thing):
        return False
    clear = any(finding.corroborated and finding.handling is Handling.APPROVE for finding in found)
    return not clear and now - incident.moved_at < SYMPTOM_PATIENCE


def _gathered(gathering: Gathering, findings: tuple[Finding, ...]) -> ev.Gathered:
    measured = severity.measure(gathering.thing) if gathering.thing else Severity(desired=0, ready=0)
    return ev.Gathered(
        target=gathering.ref,
        findings=_unique(findings),
        evidence=tuple(_item(index, piece) for index, piece in enumerate(gathering.pieces, start=1)),
        away=gathering.away,
        severity=measured,
    )


def _unique(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """A second look repeats what the first found."""
    return tuple(finding for index, finding in enumerate(findings) if finding not in findings[:index])


def _item(index: int, piece: Piece) -> EvidenceItem:
    return EvidenceItem(
        id=f"e{index}",
        kind=piece.kind,
        source=piece.source,
        at=piece.at,
        trust=piece.trust,
        title=piece.title,
        excerpt=piece.text[-EXCERPT:] if piece.kind in LOGS else piece.text[:EXCERPT],
        digest=digest(piece.text),
    )
