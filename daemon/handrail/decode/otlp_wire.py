"""OTLP log records of both encodings as one plain shape. Reads structure alone; what it means is `otlp_logs`' affair.

JSON by the specification's rules: lowerCamelCase keys, unknown ones ignored, 64-bit integers as text or number,
trace ids in hex. A protobuf JSON library would read such an id as base64 without an error and reject unknown keys.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from handrail.decode.parts import refuse
from handrail.model.reason import Reason, Refusal

MAX_DEPTH = 16
MAX_ATTRIBUTES = 512
LAST_FIELD = 12
"""Highest field number of LogRecord (event_name)."""


class LogRecord(NamedTuple):
    """Attributes with duplicate keys: the last wins. `trace_id` is 32 hex digits or ""."""

    resource: dict[str, object]
    attributes: dict[str, object]
    body: object
    event_name: str
    trace_id: str


def protobuf_records(data: LogsData) -> Iterator[LogRecord | Refusal]:
    """Every log record of the batch, or a refusal in its place where the bytes are of another signal."""
    for resource_logs in data.resource_logs:
        resource = _proto_attributes(resource_logs.resource.attributes, MAX_DEPTH)
        for scope in resource_logs.scope_logs:
            for record in scope.log_records:
                yield _proto_record(record, resource)


def _proto_record(record: Any, resource: dict[str, object]) -> LogRecord | Refusal:
    if _of_another_signal(record):
        return refuse(Reason.WRONG_SIGNAL, "OTLP metrics or traces where logs were expected")
    return LogRecord(
        resource=resource,
        attributes=_proto_attributes(record.attributes, MAX_DEPTH),
        body=_proto_value(record.body, MAX_DEPTH),
        event_name=record.event_name,
        trace_id=_trace_id(record.trace_id.hex()),
    )


def _of_another_signal(record: Any) -> bool:
    """A field number of LogRecord with another wire type: metrics and spans put texts where logs put times."""
    if record.time_unix_nano or record.observed_time_unix_nano:
        return False
    unknown: Any = UnknownFieldSet(record)
    return any(field.field_number <= LAST_FIELD for field in unknown)


def _proto_attributes(pairs: Iterable[Any], depth: int) -> dict[str, object]:
    return {pair.key: _proto_value(pair.value, depth) for pair in list(pairs)[:MAX_ATTRIBUTES]}


def _proto_value(value: Any, depth: int) -> object:
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "int_value":
            return value.int_value
        case "double_value":
            return value.double_value
        case "bytes_value":
            return value.bytes_value
        case "kvlist_value" if depth:
            return _proto_attributes(value.kvlist_value.values, depth - 1)
        case "array_value" if depth:
            return [_proto_value(item, depth - 1) for item in list(value.array_value.values)[:MAX_ATTRIBUTES]]
        case _:
            return None


def json_records(data: Mapping[str, object]) -> Iterator[LogRecord | Refusal]:
    """As `protobuf_records`; what is no object where one belongs is refused in its place."""
    for resource_logs in _items(data, "resourceLogs"):
        if not isinstance(resource_logs, Mapping):
            yield refuse(Reason.MALFORMED, "an entry of resourceLogs is no object")
            continue
        resource = _json_attributes(_inner(resource_logs, "resource"), MAX_DEPTH)
        for scope in _items(resource_logs, "scopeLogs"):
            for record in _items(scope, "logRecords"):
                yield _json_record(record, resource)


def _json_record(record: object, resource: dict[str, object]) -> LogRecord | Refusal:
    if not isinstance(record, Mapping):
        return refuse(Reason.MALFORMED, "a log record is no object")
    event_name, trace_id = record.get("eventName"), record.get("traceId")
    return LogRecord(
        resource=resource,
        attributes=_json_attributes(record, MAX_DEPTH),
        body=_json_value(record.get("body"), MAX_DEPTH),
        event_name=event_name if isinstance(event_name, str) else "",
        trace_id=_trace_id(trace_id) if isinstance(trace_id, str) else "",
    )


def _items(data: object, key: str) -> list[object]:
    items = data.get(key) if isinstance(data, Mapping) else None
    return items if isinstance(items, list) else []


def _inner(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    inner = data.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _json_attributes(holder: object, depth: int, key: str = "attributes") -> dict[str, object]:
    pairs = [pair for pair in _items(holder, key)[:MAX_ATTRIBUTES] if isinstance(pair, Mapping)]
    return {pair["key"]: _json_value(pair.get("value"), depth) for pair in pairs if isinstance(pair.get("key"), str)}


def _json_value(value: object, depth: int) -> object:
    if not isinstance(value, Mapping) or not depth:
        return None
    kind = next((kind for kind in _READ if kind in value), "")
    return _READ[kind](value[kind], depth - 1) if kind else None


def _json_array(value: object, depth: int) -> object:
    return [_json_value(item, depth) for item in _items(value, "values")[:MAX_ATTRIBUTES]]


def _json_bytes(value: object, _depth: int) -> object:
    try:
        return base64.b64decode(value) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        return None


def _scalar(value: object, _depth: int) -> object:
    """Text, truth and numbers as they came: an integer in text stays one, nothing passes through a float."""
    return value if isinstance(value, str | bool | int | float) else None


_READ: dict[str, Callable[[object, int], object]] = {
    "stringValue": _scalar,
    "boolValue": _scalar,
    "intValue": _scalar,
    "doubleValue": _scalar,
    "kvlistValue": lambda value, depth: _json_attributes(value, depth, "values"),
    "arrayValue": _json_array,
    "bytesValue": _json_bytes,
}


def _trace_id(text: str) -> str:
    """Lower case hex; all zeros, another length and anything else is no trace."""
    lower = text.lower()
    hexadecimal = len(lower) == 32 and all(digit in "0123456789abcdef" for digit in lower)
    return lower if hexadecimal and lower.strip("0") else ""
