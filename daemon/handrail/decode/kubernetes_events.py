"""A Kubernetes event as an alert: a warning about an object, that no event ever takes back.

Decides what a Warning names and when it is too old to say anything (a collector sends all events again when it
restarts; each of several replicas sends its own copy). Never takes an event for proof, nor its end for recovery: they
expire after an hour. The alert's name is "Event <reason>", so that no event passes for an alert of the rules' tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from handrail.decode.otlp_wire import LogRecord
from handrail.decode.parts import Origin, Part, named, passed, refuse
from handrail.decode.sender import object_labels
from handrail.decode.text import clean, text_of
from handrail.decode.times import time_of
from handrail.model.alert import made
from handrail.model.reason import Reason

UID = "k8s.event.uid"
SEVERITIES = {"warning": "warning", "error": "error", "critical": "critical"}
NUMBERS = {9: "normal", 13: "warning", 17: "error", 21: "critical"}
"""Of k8seventsreceiver; other types have no severity number."""

NO_OBJECT = ("namespace", "event", "object", "container", "cluster")
_FIELD_PATH = re.compile(r"spec\.(?:containers|initContainers|ephemeralContainers)\{([^{}]{1,253})\}")
_KIND_KEY = re.compile(r"k8s\.([a-z]+)\.name")


class About(NamedTuple):
    """The object of an event; `uid` is the object's, not the event's."""

    kind: str
    namespace: str
    name: str
    uid: str
    container: str = ""


class Event(NamedTuple):
    """`last` is when it last occurred, None where the event doesn't say. `uid` is the event's own."""

    about: About
    uid: str
    reason: str
    type: str
    note: str
    times: str
    last: datetime | None
    cluster: str = ""
    trace_id: str = ""


def recognised(record: LogRecord) -> bool:
    """A record of k8seventsreceiver, in any of its three layouts."""
    return UID in record.attributes


def part_of(record: LogRecord, origin: Origin) -> Part:
    """The alert of a record that was `recognised`, or why it is none."""
    return alert_of(_event(record), origin)


def alert_of(event: Event, origin: Origin) -> Part:
    """Normal events and old ones are passed over. Without a start of its own each count is another episode."""
    kind = event.type.lower()
    if kind in ("normal", ""):
        return passed("a Kubernetes event of type Normal" if kind else "a Kubernetes event without a type")
    if event.last is None:
        return refuse(Reason.MALFORMED, "a Kubernetes event without a time: it may be hours old")
    if origin.at - event.last > origin.event_age:
        return passed("a Kubernetes event that last occurred too long ago (alerts.event_age_minutes)")
    if not event.about.name or not event.uid:
        return refuse(Reason.MALFORMED, "a Kubernetes event that names no object, or has no UID")
    return made(
        name=named(f"Event {event.reason or event.type.capitalize()}"),
        status="firing",
        labels=_labels(event),
        annotations={"summary": event.note} if event.note else {},
        seen_at=origin.at,
        cluster=event.cluster or origin.cluster,
        severity=SEVERITIES.get(kind, ""),
        wire=origin.wire,
        trace_id=event.trace_id,
        message=f"{event.uid} {event.times}",
    )


def container_of(field_path: str) -> str:
    """The container in "spec.containers{app}", of any of the three lists; "" where the path names none."""
    found = _FIELD_PATH.fullmatch(field_path)
    return found[1] if found else ""


def _labels(event: Event) -> dict[str, str]:
    about = event.about
    labels = {
        "reason": event.reason,
        "namespace": about.namespace,
        **object_labels(about.kind, about.name),
        "uid": about.uid,
        "container": about.container,
        "cluster": event.cluster,
    }
    return {key: text for key, text in labels.items() if text}


def _event(record: LogRecord) -> Event:
    attributes = record.attributes
    return Event(
        about=_about(record),
        uid=text_of(attributes.get(UID)),
        reason=text_of(attributes.get("k8s.event.reason")) or clean(record.old_name),
        type=NUMBERS.get(record.severity_number, clean(record.severity_text)),
        note=text_of(record.body),
        times=text_of(attributes.get("k8s.event.count")) or "1",
        last=time_of(record.time) or time_of(attributes.get("k8s.event.start_time")),
        cluster=text_of(record.resource.get("k8s.cluster.name")),
        trace_id=record.trace_id,
    )


def _about(record: LogRecord) -> About:
    """The object's own keys (core/v1, events.k8s.io/v1), or one key named after its kind (legacy)."""
    attributes, resource = record.attributes, record.resource
    namespace = text_of(attributes.get("k8s.namespace.name") or resource.get("k8s.namespace.name"))
    kind = text_of(resource.get("k8s.object.kind"))
    if not kind:
        return _legacy(attributes, namespace)
    return About(
        kind=kind,
        namespace=namespace,
        name=text_of(resource.get("k8s.object.name")),
        uid=text_of(resource.get("k8s.object.uid")),
        container=container_of(text_of(resource.get("k8s.object.fieldpath"))),
    )


def _legacy(attributes: Mapping[str, object], namespace: str) -> About:
    """Its container's key holds the whole field path (contrib before core/v1 layouts, 2022)."""
    kinds = (found[1] for key in attributes if (found := _KIND_KEY.fullmatch(key)) and found[1] not in NO_OBJECT)
    kind = next(kinds, "")
    return About(
        kind=kind,
        namespace=namespace,
        name=text_of(attributes.get(f"k8s.{kind}.name")),
        uid=text_of(attributes.get(f"k8s.{kind}.uid")),
        container=container_of(text_of(attributes.get("k8s.container.name"))),
    )
