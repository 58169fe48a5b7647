"""Kubernetes events as k8sobjectsreceiver watches or lists them: the whole Event object, of either API group.

A watch says DELETED when an event expires: that is no end of what it told. Other objects are no alerts.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from handrail.decode.kubernetes_events import About, Event, alert_of, container_of
from handrail.decode.parts import Origin, Part, passed
from handrail.decode.text import text_of
from handrail.decode.times import time_of

Raw = Mapping[str, object]
NOTHING: Raw = {}
OBJECT_KEYS = {"apiVersion", "kind", "metadata"}


def recognised(data: object) -> bool:
    """A watch's {type, object}, or an object as a pull lists it."""
    if not isinstance(data, dict):
        return False
    return _is_object(data) or (isinstance(data.get("type"), str) and _is_object(data.get("object")))


def part_of(data: Raw, origin: Origin) -> Part:
    """The alert of what was `recognised`, or why it is none."""
    watched = data.get("object")
    if not isinstance(watched, dict) or _is_object(data):
        return _of_object(data, origin)
    if data.get("type") not in ("ADDED", "MODIFIED"):
        return passed("a watch's notice that an object is gone, or of something else than an object")
    return _of_object(watched, origin)


def _is_object(data: object) -> bool:
    return isinstance(data, dict) and data.keys() >= OBJECT_KEYS


def _of_object(raw: Raw, origin: Origin) -> Part:
    if raw.get("kind") != "Event":
        return passed("a Kubernetes object that is no event")
    return alert_of(_event(raw), origin)


def _event(raw: Raw) -> Event:
    """core/v1 says involvedObject, message, count and lastTimestamp; events.k8s.io/v1 has other words for them."""
    regarding = _map(raw, "regarding") or _map(raw, "involvedObject")
    series, meta = _map(raw, "series"), _map(raw, "metadata")
    return Event(
        about=_about(regarding),
        uid=text_of(meta.get("uid")),
        reason=text_of(raw.get("reason")),
        type=text_of(raw.get("type")),
        note=text_of(raw.get("note") or raw.get("message")),
        times=text_of(series.get("count") or raw.get("count") or raw.get("deprecatedCount")) or "1",
        last=_first_time(
            series.get("lastObservedTime"),
            raw.get("lastTimestamp") or raw.get("deprecatedLastTimestamp"),
            raw.get("eventTime"),
            meta.get("creationTimestamp"),
        ),
    )


def _about(regarding: Raw) -> About:
    return About(
        kind=text_of(regarding.get("kind")),
        namespace=text_of(regarding.get("namespace")),
        name=text_of(regarding.get("name")),
        uid=text_of(regarding.get("uid")),
        container=container_of(text_of(regarding.get("fieldPath"))),
    )


def _map(raw: Raw, key: str) -> Raw:
    inner = raw.get(key)
    return inner if isinstance(inner, dict) else NOTHING


def _first_time(*values: object) -> datetime | None:
    return next((time for value in values if (time := time_of(value))), None)
