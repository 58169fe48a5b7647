"""OTLP log records of both encodings as one plain shape. Reads structure; what it means is `otlp_logs`' affair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from handrail.decode.otlp_shallow import attributes_of, resource_of
from handrail.decode.otlp_values import (
    inner,
    items,
    json_attributes,
    json_value,
    known_only,
    number_of,
    proto_attributes,
    proto_value,
    trace_id_of,
)
from handrail.decode.parts import refuse
from handrail.model.reason import Reason, Refusal

LAST_FIELD = 12
"""Highest field number of LogRecord (event_name)."""

OLD_NAME = 4
"""Of a field that LogRecord lost in 2022; k8seventsreceiver wrote an event's reason there."""


class LogRecord(NamedTuple):
    """Attributes with duplicate keys: the last wins. `trace_id` is 32 hex digits or "". `time` is in epoch ns or 0."""

    resource: dict[str, object]
    attributes: dict[str, object]
    body: object
    event_name: str
    trace_id: str
    time: object = 0
    severity_number: int = 0
    severity_text: str = ""
    old_name: str = ""


def protobuf_records(data: LogsData) -> Iterator[LogRecord | Refusal]:
    """Every log record of the batch, or a refusal in its place where the bytes are of another signal."""
    for resource_logs in data.resource_logs:
        resource = proto_attributes(resource_logs.resource.attributes)
        for scope in resource_logs.scope_logs:
            for record in scope.log_records:
                yield proto_record(record, resource)


def proto_record(record: Any, resource: dict[str, object]) -> LogRecord | Refusal:
    """One record, or a refusal where the bytes are of another signal."""
    if _of_another_signal(record):
        return refuse(Reason.WRONG_SIGNAL, "OTLP metrics or traces where logs were expected")
    return _proto_record(record, resource, proto_attributes(record.attributes))


def shallow_record(record: Any, pairs: tuple[bytes, ...], resource: bytes) -> LogRecord | Refusal:
    """As `proto_record`, of a record whose attributes are these bytes, and its resource's."""
    if _of_another_signal(record):
        return refuse(Reason.WRONG_SIGNAL, "OTLP metrics or traces where logs were expected")
    try:
        return _proto_record(record, resource_of(resource), attributes_of(pairs))
    except DecodeError:
        return refuse(Reason.MALFORMED, "a log record whose attributes, or whose resource's, can't be parsed")


def _proto_record(record: Any, resource: dict[str, object], attributes: dict[str, object]) -> LogRecord:
    return LogRecord(
        resource=resource,
        attributes=attributes,
        body=proto_value(record.body),
        event_name=record.event_name,
        trace_id=trace_id_of(record.trace_id.hex()),
        time=record.time_unix_nano,
        severity_number=record.severity_number,
        severity_text=record.severity_text,
        old_name=_old_name(record) if "k8s.event.uid" in attributes else "",
    )


def _of_another_signal(record: Any) -> bool:
    """A field number of LogRecord with another wire type: metrics and spans put texts where logs put times."""
    if record.time_unix_nano or record.observed_time_unix_nano:
        return False
    return not known_only(record, LAST_FIELD)


def _old_name(record: Any) -> str:
    unknown: Any = UnknownFieldSet(record)
    found = (field.data for field in unknown if field.field_number == OLD_NAME and isinstance(field.data, bytes))
    return next(found, b"").decode("utf-8", "replace")


def json_records(data: Mapping[str, object]) -> Iterator[LogRecord | Refusal]:
    """As `protobuf_records`; what is no object where one belongs is refused in its place."""
    for resource_logs in items(data, "resourceLogs"):
        if not isinstance(resource_logs, dict):
            yield refuse(Reason.MALFORMED, "an entry of resourceLogs is no object")
            continue
        resource = json_attributes(inner(resource_logs, "resource"))
        for scope in items(resource_logs, "scopeLogs"):
            for record in items(scope, "logRecords"):
                yield _json_record(record, resource)


def _json_record(record: object, resource: dict[str, object]) -> LogRecord | Refusal:
    if not isinstance(record, dict):
        return refuse(Reason.MALFORMED, "a log record is no object")
    return LogRecord(
        resource=resource,
        attributes=json_attributes(record),
        body=json_value(record.get("body")),
        event_name=_text(record.get("eventName")),
        trace_id=trace_id_of(record.get("traceId")),
        time=record.get("timeUnixNano"),
        severity_number=int(number_of(record.get("severityNumber"))),
        severity_text=_text(record.get("severityText")),
        old_name=_text(record.get("name")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
