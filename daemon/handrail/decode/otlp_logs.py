"""Alerts in OTLP log records: by attributes, or a whole Alertmanager webhook as the record's body.

OpenTelemetry has no signal and no convention for alerts, so this decides which attributes make one. It never takes
a plain log line for an alert, and never takes one without a state for firing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from handrail.decode import alertmanager
from handrail.decode.object_keys import cluster_of, with_object_keys
from handrail.decode.otlp_wire import LogRecord, json_records, protobuf_records
from handrail.decode.parts import Origin, Part, named, refuse
from handrail.decode.severity import severity_of
from handrail.decode.sniff import Json, foreign, parse
from handrail.decode.text import clean, text_of, words_of
from handrail.decode.times import time_of
from handrail.model.alert import Alert
from handrail.model.reason import Reason, Refusal

NAMES = ("alert.name", "alertname")
STATES = ("alert.state", "alertstate")
EVENTS = {"alert.firing": "firing", "alert.resolved": "resolved"}


def from_protobuf(value: bytes, origin: Origin) -> Iterator[Part]:
    """One part per log record (or per alert of an embedded webhook)."""
    try:
        data = LogsData.FromString(value)
    except DecodeError:
        yield _no_logs(value)
        return
    yield from _parts(protobuf_records(data), origin)


def from_json(data: Mapping[str, object], origin: Origin) -> Iterator[Part]:
    """As `from_protobuf`, of parsed OTLP JSON."""
    if not isinstance(data.get("resourceLogs"), list):
        yield refuse(Reason.MALFORMED, "resourceLogs is no list")
        return
    yield from _parts(json_records(data), origin)


def _no_logs(value: bytes) -> Refusal:
    for signal, message in (("metrics", MetricsData), ("traces", TracesData)):
        try:
            message.FromString(value)
        except DecodeError:
            continue
        return refuse(Reason.WRONG_SIGNAL, f"OTLP {signal} where logs were expected")
    return refuse(Reason.MALFORMED, "begins like OTLP protobuf but can't be parsed as such")


def _parts(records: Iterable[LogRecord | Refusal], origin: Origin) -> Iterator[Part]:
    empty = True
    for record in records:
        empty = False
        if isinstance(record, Refusal):
            yield record
        else:
            yield from _of_record(record, origin)
    if empty:
        yield refuse(Reason.NO_ALERT, "an OTLP batch without log records")


def _of_record(record: LogRecord, origin: Origin) -> Iterator[Part]:
    labels = _labels(record.attributes)
    name = named(_first(record.attributes, NAMES) or labels.get("alertname", ""))
    if name:
        yield _alert(name, labels, record, origin)
    else:
        yield from _embedded(record, origin)


def _alert(name: str, labels: dict[str, str], record: LogRecord, origin: Origin) -> Part:
    state = _state(record)
    if isinstance(state, Refusal):
        return state
    attributes = record.attributes
    labels = with_object_keys(labels, record.resource, attributes)
    return Alert(
        name=name,
        status=state,
        labels=labels,
        annotations=_annotations(record),
        starts_at=time_of(attributes.get("alert.starts_at")),
        ends_at=time_of(attributes.get("alert.ends_at")) if state == "resolved" else None,
        seen_at=origin.at,
        cluster=labels.get("cluster", ""),
        severity=severity_of(text_of(attributes.get("alert.severity")) or labels.get("severity", "")),
        wire=origin.wire,
        trace_id=record.trace_id,
    )


def _state(record: LogRecord) -> Literal["firing", "resolved"] | Refusal:
    """The attribute, else the event's name; an alert that says neither is not taken for firing."""
    event = record.event_name or text_of(record.attributes.get("event.name"))
    word = _first(record.attributes, STATES) or EVENTS.get(event, "")
    match word.strip().lower():
        case "firing":
            return "firing"
        case "resolved":
            return "resolved"
        case "":
            return refuse(Reason.MALFORMED, "has no alert.state and no event name alert.firing or alert.resolved")
        case _:
            return refuse(Reason.MALFORMED, f"alert.state is {clean(word, 40)!r}, neither firing nor resolved")


def _first(attributes: Mapping[str, object], keys: Iterable[str]) -> str:
    return next((text for key in keys if (text := text_of(attributes.get(key)))), "")


def _labels(attributes: Mapping[str, object]) -> dict[str, str]:
    """A map, or the same as JSON text, as some senders flatten it."""
    labels = attributes.get("alert.labels")
    if isinstance(labels, str) and labels.startswith("{"):
        parsed = parse(labels)
        labels = parsed.data if isinstance(parsed, Json) else None
    return words_of(labels)


def _annotations(record: LogRecord) -> dict[str, str]:
    """The sender's own; the body's text stands as the summary where they have none."""
    annotations = words_of(record.attributes.get("alert.annotations"))
    if isinstance(record.body, str) and record.body and "summary" not in annotations:
        return {**annotations, "summary": clean(record.body)}
    return annotations


def _embedded(record: LogRecord, origin: Origin) -> Iterator[Part]:
    """Of the resource only the cluster: its other keys describe the collector that received the webhook."""
    body = record.body
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        parsed = parse(body)
        body = parsed.data if isinstance(parsed, Json) else None
    if alertmanager.recognised(body):
        inner = Origin(at=origin.at, wire=f"{origin.wire}+alertmanager")
        yield from alertmanager.parts_of(body, inner, cluster_of(record.resource, record.attributes))
    elif isinstance(body, dict) and body is not record.body:
        yield refuse(Reason.UNKNOWN_FORMAT, f"the log record's body is {foreign(body)}")
    else:
        yield refuse(Reason.NO_ALERT_NAME, _why_nameless(record))


def _why_nameless(record: LogRecord) -> str:
    event = any(key.startswith("k8s.event.") for key in record.attributes)
    if event or record.attributes.get("k8s.resource.name") == "events":
        return "a Kubernetes event, not an alert"
    return "a log record without alert.name"
