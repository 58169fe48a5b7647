"""Alertmanager: webhook version 4, and lists of alerts in the shape of its API v2.

Believes the status of each alert alone: the group's is "firing" while any fires, and a group is a snapshot, so the
absence of an alert says nothing. The sender's fingerprint is not read: it changes with every exporter restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from handrail.decode.parts import Origin, Part, named, refuse
from handrail.decode.severity import severity_of
from handrail.decode.text import clean, text_of, words_of
from handrail.decode.times import time_of
from handrail.model.alert import made
from handrail.model.reason import Reason, Refusal

Status = Literal["firing", "resolved"]
VERSIONS = ("4", 4, None)
"""None: since 0.32 operators may template the payload, and some templates drop the version."""


class Group(NamedTuple):
    """What stands above the alerts: the cluster for those that name none, that all of them are resolved, and how many
    more were cut off (`truncatedAlerts`)."""

    cluster: str = ""
    resolved: bool = False
    left_out: int = 0


MOST_LEFT_OUT = 1_000_000

USUAL = 1000
"""Alerts of a webhook of usual size."""


def recognised(data: object) -> bool:
    """A webhook of version 4, or a list of such or of alerts."""
    if isinstance(data, dict):
        known = data.get("version") in VERSIONS and "orgId" not in data
        return known and isinstance(data.get("alerts"), list)
    return isinstance(data, list) and any(recognised(item) or _has_labels(item) for item in data)


def timeless(data: Mapping[str, object]) -> bool:
    """Whether each alert of a webhook of usual size says its state itself: then the time of arrival changes nothing
    of it."""
    items = data.get("alerts")
    if not isinstance(items, list) or len(items) > USUAL:
        return False
    return all(isinstance(item, dict) and type(item.get("status")) is str for item in items)


def parts_of(data: object, origin: Origin, cluster: str = "") -> Iterable[Part]:
    """One part per alert of what was `recognised`; `cluster` stands in where an alert names none."""
    if isinstance(data, dict):
        return _group(data, origin, cluster)
    return _listed(data, origin, cluster) if isinstance(data, list) else ()


def _listed(data: list[object], origin: Origin, cluster: str) -> Iterator[Part]:
    for item in data:
        if recognised(item) and isinstance(item, dict):
            yield from _group(item, origin, cluster)
        else:
            yield _alert(item, origin, Group(cluster=cluster))


def _has_labels(item: object) -> bool:
    """Without a name beside them: that would be a sender's own shape."""
    return isinstance(item, dict) and isinstance(item.get("labels"), dict) and "alertname" not in item


def _group(data: Mapping[str, object], origin: Origin, cluster: str) -> Iterable[Part]:
    cut = data.get("truncatedAlerts")
    left_out = min(cut, MOST_LEFT_OUT) if type(cut) is int and cut > 0 else 0
    group = Group(cluster=cluster, resolved=data.get("status") == "resolved", left_out=left_out)
    items = data.get("alerts")
    if not isinstance(items, list) or not items:
        return [refuse(Reason.NO_ALERT, "the group holds no alert")]
    return (_alert(item, origin, group) for item in items)


def _alert(item: object, origin: Origin, group: Group) -> Part:
    if not isinstance(item, dict):
        return refuse(Reason.MALFORMED, f"an alert is a JSON object, not {type(item).__name__}")
    labels = words_of(item.get("labels"))
    name = named(labels.get("alertname", ""))
    if not name:
        return refuse(Reason.NO_ALERT_NAME, "its labels hold no alertname")
    ends_at = time_of(item.get("endsAt"))
    status = _status(item.get("status"), ends_at, origin.at, group)
    if not isinstance(status, str):
        return status
    return made(
        name=name,
        status=status,
        labels=labels,
        annotations=words_of(item.get("annotations")),
        starts_at=time_of(item.get("startsAt")),
        ends_at=ends_at if status == "resolved" else None,
        seen_at=origin.at,
        cluster=labels.get("cluster", "") or group.cluster,
        severity=severity_of(labels.get("severity", "")),
        wire=origin.wire,
        message=origin.message,
        left_out=group.left_out,
    )


def _status(status: object, ends_at: datetime | None, at: datetime, group: Group) -> Status | Refusal:
    """The API has no word for it: there an end that has passed is a resolve (a future one only an expiry)."""
    if status == "firing" or status == "resolved":
        return "firing" if status == "firing" else "resolved"
    if isinstance(status, dict):
        if text_of(status.get("state")) == "suppressed":
            return refuse(Reason.NO_ALERT, "silenced or inhibited in Alertmanager")
        status = None
    if status is None:
        ended = ends_at is not None and ends_at <= at
        return "resolved" if ended or group.resolved else "firing"
    word = clean(text_of(status), 40).strip().lower()
    match word:
        case "firing":
            return "firing"
        case "resolved":
            return "resolved"
        case _:
            return refuse(Reason.MALFORMED, f"the alert's status is {word!r}, neither firing nor resolved")
