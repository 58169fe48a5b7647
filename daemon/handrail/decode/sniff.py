"""What a value is, by its first bytes and its keys; formats that this build can't read are named, never guessed at.

Bytes of OTLP protobuf don't name their signal; `otlp_logs` tells the other two by the shape of their fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from handrail.decode.parts import refuse
from handrail.decode.text import clean
from handrail.model.reason import Reason, Refusal

PROTOBUF = b"\x0a"
JSON_OPENS = b'{["'

MAGIC = (
    (b"\x1f\x8b", "a gzip stream (let the producer compress the batch, not the value)"),
    (b"\x28\xb5\x2f\xfd", "a zstd stream (let the producer compress the batch, not the value)"),
    (b"\x04\x22\x4d\x18", "an lz4 stream (let the producer compress the batch, not the value)"),
    (b"\x00", "schema-registry framing (Avro, Protobuf or JSON Schema with a schema id)"),
)

OTHER_SIGNALS = {"resourceMetrics": "metrics", "resourceSpans": "traces", "resourceProfiles": "profiles"}

FOREIGN: tuple[tuple[str, frozenset[str]], ...] = (
    ("a CloudEvent (structured mode)", frozenset({"specversion"})),
    ("a Grafana alerting webhook", frozenset({"orgId", "alerts"})),
    ("an Alertmanager event-recorder entry", frozenset({"@timestamp", "instance", "data"})),
    ("an SNS message", frozenset({"Type", "MessageId"})),
    ("an EventBridge event", frozenset({"detail-type", "detail"})),
    ("a Datadog webhook", frozenset({"alert_transition"})),
    ("a Datadog webhook", frozenset({"alert_cycle_key"})),
    ("a PagerDuty events v2 request", frozenset({"event_action"})),
    ("an Opsgenie webhook", frozenset({"action", "alert"})),
)
"""Names by the keys that tell a format; the first that has all of its keys counts."""


class Json(NamedTuple):
    """A parsed text; `data` is anything JSON can say."""

    data: object


def foreign_bytes(value: bytes) -> str:
    """The name of a binary format that is refused, or ""."""
    return next((name for magic, name in MAGIC if value.startswith(magic)), "")


def opens_json(value: bytes) -> bool:
    return value.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in tuple(JSON_OPENS[i : i + 1] for i in range(len(JSON_OPENS)))


def parse(value: bytes | str) -> Json | Refusal:
    """JSON of any depth and size within the record's, or why not."""
    try:
        text = value if isinstance(value, str) else value.decode("utf-8-sig")
        return Json(json.loads(text))
    except RecursionError:
        return refuse(Reason.MALFORMED, "JSON nested too deeply")
    except ValueError as error:
        return refuse(Reason.MALFORMED, f"neither protobuf nor JSON: {error}")


def other_signal(data: object) -> str:
    """ "metrics", "traces" or "profiles" for OTLP JSON of that signal, else ""."""
    if not isinstance(data, Mapping):
        return ""
    return next((signal for key, signal in OTHER_SIGNALS.items() if key in data), "")


def foreign(data: object, headers: Iterable[tuple[str, bytes]] = ()) -> str:
    """A name for people of a JSON value that no decoder of ours reads."""
    keys = {key.lower() for key, _ in headers}
    if {"ce_specversion", "ce_type"} <= keys:
        return "a CloudEvent (binary mode)"
    if isinstance(data, Mapping):
        return _by_keys(data)
    return f"a JSON {type(data).__name__}"


def _by_keys(data: Mapping[str, object]) -> str:
    for name, keys in FOREIGN:
        if keys <= data.keys():
            return name
    event, inner = data.get("event"), data.get("data")
    if isinstance(event, Mapping) and "event_type" in event:
        return "a PagerDuty webhook (version 3)"
    if isinstance(inner, Mapping) and isinstance(inner.get("alerts"), list):
        return "an answer of Prometheus's alerts API"
    if "alerts" in data:
        return f"an alert group of version {clean(str(data.get('version')), 20)!r}"
    shown = ", ".join(clean(str(key), 30) for key in list(data)[:8])
    return f"a JSON object with the keys {shown}" if shown else "an empty JSON object"
