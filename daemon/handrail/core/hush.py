"""Whether Alertmanager keeps quiet about an incident's alerts, and what follows of it. Pure.

A silence is somebody's will that nobody is called: nothing is done then. That an alert is inhibited, or muted at this
hour, only says that another alert tells more, so that is evidence. What Alertmanager does not know is not silenced.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from handrail.core.correlate import identity
from handrail.core.words import clock
from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.evidence import Away
from handrail.model.incident import Incident
from handrail.model.labels import labelled_target
from handrail.model.silence import Silence, Standing
from handrail.model.value import Value

LOOKED_AT_AGAIN = timedelta(hours=1)
"""A silence can be ended early, and Alertmanager tells nobody: an alert that it has told of before comes again only
after its repeat_interval."""

SOON = timedelta(minutes=5)
"""Where nobody says when it ends."""


class Hush(Value):
    """What was found. `silences` are the ids that must all be over for one of the alerts to be heard, one tuple an
    alert; () where an alert is active, or none is silenced. `quiet` are the other reasons. `away`: it can't be told."""

    silences: tuple[tuple[str, ...], ...] = ()
    inhibited_by: tuple[str, ...] = ()
    muted_by: tuple[str, ...] = ()
    partly: bool = False
    away: Away | None = None


def names(incident: Incident) -> tuple[str, ...]:
    """What its alerts are called, the one that opened it first."""
    return tuple(dict.fromkeys(alert.name for alert in incident.alerts))


def judge(incident: Incident, found: Iterable[Standing], now: datetime) -> Hush:
    """By our own identity, as it is made of any alert that comes in: labels that churn count for nothing."""
    ours = {_identity(alert, incident.cluster) for alert in incident.alerts}
    known = [one for one in found if _identity(_alert(one, now), incident.cluster) in ours]
    silenced = tuple(one.silences for one in known if one.silences)
    active = any(not one.suppressed for one in known)
    return Hush(
        silences=() if active else silenced,
        inhibited_by=tuple(dict.fromkeys(by for one in known for by in one.inhibited_by)),
        muted_by=tuple(dict.fromkeys(by for one in known for by in one.muted_by)),
        partly=active and bool(silenced),
    )


def silenced(hush: Hush, known: Iterable[Silence], now: datetime) -> ev.Silenced:
    """The first moment at which one of the alerts may be heard again: each is quiet until its last silence ends."""
    by_id = {one.id: one for one in known}
    lasting = [[by_id[id_] for id_ in ids if id_ in by_id] for ids in hush.silences]
    last = [max(ones, key=lambda one: one.until) for ones in lasting if ones]
    if not last:
        return ev.Silenced(until=now + SOON, detail="silenced in Alertmanager; it does not say by whom or until when")
    first = min(last, key=lambda one: one.until)
    said = f": {first.comment}" if first.comment else ""
    by = first.by or "somebody who gave no name"
    detail = f"silenced in Alertmanager by {by} until {first.until:%Y-%m-%d} {clock(first.until)}{said}"
    soonest = max(first.until, now + timedelta(seconds=1))
    return ev.Silenced(until=min(soonest, now + LOOKED_AT_AGAIN), detail=detail)


def evidence(hush: Hush, inhibitors: tuple[str, ...]) -> tuple[str, ...]:
    """Lines for whoever decides; () where there is nothing to say."""
    lines: list[str] = []
    if hush.inhibited_by:
        by = ", ".join(inhibitors) or f"{len(hush.inhibited_by)} alerts that can't be named"
        lines.append(f"inhibited: Alertmanager tells nobody of this alert while another fires: {by}")
    if hush.muted_by:
        lines.append(f"muted at this hour by the time intervals {', '.join(hush.muted_by)}")
    if hush.partly:
        lines.append("some of its alerts are silenced, others are not")
    return tuple(lines)


def _alert(standing: Standing, now: datetime) -> Alert:
    labels = standing.labels
    return Alert(
        name=labels.get("alertname", ""),
        status="firing",
        labels=labels,
        seen_at=now,
        cluster=labels.get("cluster", ""),
        wire="alertmanager",
    )


def _identity(alert: Alert, cluster: str) -> str:
    return identity(alert, labelled_target(alert), cluster)
