"""A Kubernetes event in typed words: what happened to which object, how often. Its text is left out on purpose.

Decides when an alert is such an event. Nobody decides from a note: two reasons (BackOff, Failed) have several meanings
that only the note tells apart, so the object's own status has to tell them.
"""

from __future__ import annotations

import re
from datetime import datetime

from handrail.model.alert import Alert
from handrail.model.labels import labelled_target
from handrail.model.target import LabelledTarget
from handrail.model.value import Raw, Value, moment

PREFIX = "Event "
"""How decode names the alert of an event, so that none passes for an alert of the rules' tables."""

_WORD = re.compile(r"[A-Za-z0-9]{1,128}")
_CONTAINER = re.compile(r"spec\.(?:containers|initContainers|ephemeralContainers)\{([^{}]{1,253})\}")


class Occurrence(Value):
    """`uid` is the event's own: the same one comes again with a higher `times`. `seen_at` is when it came last."""

    reason: str
    target: LabelledTarget | None
    uid: str
    times: int = 1
    seen_at: datetime


def is_event(alert: Alert) -> bool:
    """Told by its name and by a message of its own, which no alert of a rule has both of."""
    if not alert.name.startswith(PREFIX) or not alert.message:
        return False
    return alert.name == f"{PREFIX}{alert.labels.get('reason') or alert.severity.capitalize()}"


def occurrence(alert: Alert) -> Occurrence:
    """Of an alert that `is_event`."""
    uid, _, times = alert.message.rpartition(" ")
    return Occurrence(
        reason=alert.labels.get("reason", ""),
        target=labelled_target(alert),
        uid=uid or alert.message,
        times=_count(times),
        seen_at=alert.seen_at,
    )


def reported(event: Raw, now: datetime) -> Occurrence | None:
    """The same of an Event object that the API server gave; None where it names nothing, or no time."""
    about, series = event.get("involvedObject") or {}, event.get("series") or {}
    stamps = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    at = next((found for stamp in stamps if (found := moment(stamp))), None)
    if at is None or not about.get("name"):
        return None
    container = _CONTAINER.fullmatch(str(about.get("fieldPath") or ""))
    return Occurrence(
        reason=str(event.get("reason") or "") if _WORD.fullmatch(str(event.get("reason") or "")) else "",
        target=LabelledTarget(
            kind=str(about.get("kind") or ""),
            namespace=str(about.get("namespace") or ""),
            name=str(about["name"]),
            uid=str(about.get("uid") or ""),
            container=container[1] if container else "",
        ),
        uid=str(event["metadata"].get("uid") or ""),
        times=_count(event.get("count") or series.get("count") or 1),
        seen_at=min(at, now),
    )


def distinct(found: tuple[Occurrence, ...]) -> tuple[Occurrence, ...]:
    """Each event once, with its highest count: collectors and replicas send copies (contrib#45897), oldest first."""
    newest: dict[str, Occurrence] = {}
    for one in found:
        known = newest.get(one.uid)
        if known is None or (known.times, known.seen_at) < (one.times, one.seen_at):
            newest[one.uid] = one
    return tuple(sorted(newest.values(), key=lambda one: (one.seen_at, one.uid)))


def _count(text: object) -> int:
    """At least once; a number nobody counts to is cut."""
    try:
        return min(max(int(str(text)), 1), 1_000_000)
    except ValueError:
        return 1
