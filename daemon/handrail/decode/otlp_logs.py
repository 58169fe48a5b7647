"""Alerts in OTLP log records: by attributes, as Kubernetes events, or a whole document as the record's body.

OpenTelemetry has no signal and no convention for alerts, so this decides which attributes make one. It never takes
a plain log line for an alert, and never takes one without a state for firing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from handrail.decode import documents, kubernetes_events, repeats
from handrail.decode.foreign import foreign
from handrail.decode.object_keys import cluster_of
from handrail.decode.otlp_shallow import batch_of
from handrail.decode.otlp_values import items, trace_id_of
from handrail.decode.otlp_wire import LogRecord, json_records, protobuf_records, shallow_record
from handrail.decode.parts import Origin, Part, refuse
from handrail.decode.repeats import Around
from handrail.decode.sender import OTEL, Said, alert_of
from handrail.decode.sniff import Json, parse
from handrail.decode.text import text_of
from handrail.model.mapping import NO_MAPPING
from handrail.model.reason import Reason, Refusal

EVENTS = {"alert.firing": "firing", "alert.resolved": "resolved"}
SPLIT_HINT = "a piece of JSON: let the webhook receiver split at JSON boundaries or not at all (split_logs_at_newline)"


def from_protobuf(data: LogsData, origin: Origin) -> Iterator[Part]:
    """One part per log record (or per alert of an embedded webhook)."""
    return _parts(protobuf_records(data), origin)


def from_shallow(data: Any, origin: Origin) -> Iterator[Part]:
    """The same of an `otlp_shallow.batch_of`. What says the same as before, but for its times and its trace, is not
    read again; a record that is malformed within costs no other."""
    empty = True
    for each in data.resource_logs:
        around = Around(b"".join(each.resource), origin.wire, origin.cluster, origin.message)
        for scope in each.scope_logs:
            for record in scope.log_records:
                empty = False
                yield from _read_or_known(record, around, origin)
    if empty:
        yield _nothing_in_it()


def _read_or_known(record: Any, around: Around, origin: Origin) -> Iterable[Part]:
    pairs = tuple(record.attributes)
    said = None
    if record.time_unix_nano and origin.mapping is NO_MAPPING:
        said = (pairs, record.event_name, record.body.SerializeToString(), around)
        known = repeats.log_record(said, origin, trace_id_of(record.trace_id.hex()))
        if known is not None:
            return (known,)
    read = shallow_record(record, pairs, around.resource)
    if isinstance(read, Refusal):
        return (read,)
    parts = tuple(_of_record(read, origin))
    if said is not None:
        repeats.keep_log_record(said, parts)
    return parts


def from_json(data: Mapping[str, object], origin: Origin) -> Iterator[Part]:
    """As `from_protobuf`, of parsed OTLP JSON."""
    if not isinstance(data.get("resourceLogs"), list):
        return iter([refuse(Reason.MALFORMED, "resourceLogs is no list")])
    return _parts(json_records(data), origin)


def entries_of(value: bytes, encoding: str) -> int | None:
    """How many log records the bytes hold in `encoding` ("otlp_proto", "otlp_json"), those that are malformed within
    too; None where they are no logs."""
    if encoding == "otlp_proto":
        data = batch_of(value)
        return None if data is None else _count(data)
    parsed = parse(value)
    if isinstance(parsed, Refusal) or not isinstance(parsed.data, dict):
        return None
    if parsed.data and not isinstance(parsed.data.get("resourceLogs"), list):
        return None
    scopes = (scope for each in items(parsed.data, "resourceLogs") for scope in items(each, "scopeLogs"))
    return sum(len(items(scope, "logRecords")) for scope in scopes)


def _count(data: Any) -> int:
    return sum(len(scope.log_records) for each in data.resource_logs for scope in each.scope_logs)


def _parts(records: Iterable[LogRecord | Refusal], origin: Origin) -> Iterator[Part]:
    empty = True
    for record in records:
        empty = False
        if isinstance(record, Refusal):
            yield record
        else:
            yield from _of_record(record, origin)
    if empty:
        yield _nothing_in_it()


def _nothing_in_it() -> Refusal:
    return refuse(Reason.NO_ALERT, "an OTLP batch without log records")


def _of_record(record: LogRecord, origin: Origin) -> Iterator[Part]:
    """An event of the cluster is never read by attributes that a mapping names: it has no state."""
    if kubernetes_events.recognised(record):
        yield kubernetes_events.part_of(record, origin.within("kubernetes_events"))
        return
    part = alert_of(_said(record), origin)
    if part is not None:
        yield part
    else:
        yield from _embedded(record, origin)


def _said(record: LogRecord) -> Said:
    body = record.body
    return Said(
        own=record.attributes,
        names=OTEL,
        around=(record.resource, body) if isinstance(body, dict) else (record.resource,),
        event=EVENTS.get(record.event_name or text_of(record.attributes.get("event.name")), ""),
        summary=body if isinstance(body, str) else "",
        trace_id=record.trace_id,
        names_objects=True,
    )


def _embedded(record: LogRecord, origin: Origin) -> Iterator[Part]:
    """Of the resource only the cluster: its other keys describe the collector that received the document."""
    body = record.body
    opens = isinstance(body, str) and body.lstrip()[:1] in ("{", "[")
    if isinstance(body, str) and opens:
        parsed = parse(body)
        body = parsed.data if isinstance(parsed, Json) else None
    shape = documents.shape_of(body, origin)
    if shape:
        within = origin._replace(cluster=cluster_of(record.resource, record.attributes))
        yield from documents.parts_of(body, shape, within)
    elif opens and isinstance(body, dict):
        yield refuse(Reason.UNKNOWN_FORMAT, f"the log record's body is {foreign(body)}")
    elif opens and body is None:
        yield refuse(Reason.NO_ALERT_NAME, f"a log record without alert.name, whose body is {SPLIT_HINT}")
    else:
        yield refuse(Reason.NO_ALERT_NAME, "a log record without alert.name")
