"""OTLP of any signal -> that signal's decoder. Decides which signal the bytes are, where the topic doesn't say.

Protobuf bytes don't name it, and those of one signal can often be parsed as another: they are told apart only where the
shape of their fields leaves one possible, else refused. A batch is never guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from handrail.decode import otlp_logs, otlp_metrics, otlp_shallow, otlp_traces, otlp_wire
from handrail.decode.otlp_values import known_only
from handrail.decode.parts import Origin, Part, refuse
from handrail.model.reason import Reason, Refusal

JSON_KEYS = {
    "resourceLogs": "logs",
    "resourceMetrics": "metrics",
    "resourceSpans": "traces",
    "resourceProfiles": "profiles",
}
MESSAGES: dict[str, Any] = {"logs": LogsData, "metrics": MetricsData, "traces": TracesData}


class Batch(NamedTuple):
    """A parsed protobuf message and its signal."""

    signal: str
    data: Any


def signal_of(data: object) -> str:
    """ "logs", "metrics", "traces" or "profiles" of parsed OTLP JSON, else ""."""
    if not isinstance(data, dict) or JSON_KEYS.keys().isdisjoint(data):
        return ""
    return next(signal for key, signal in JSON_KEYS.items() if key in data)


def from_json(data: Mapping[str, object], signal: str, origin: Origin) -> Iterable[Part]:
    """The parts of a batch; refused where the topic is of another signal."""
    found = signal_of(data)
    if signal not in ("auto", found) or found not in MESSAGES:
        return [_wrong(found, "logs" if signal == "auto" else signal)]
    if found == "logs":
        return otlp_logs.from_json(data, origin)
    return otlp_metrics.from_json(data, origin) if found == "metrics" else otlp_traces.from_json(data, origin)


def from_protobuf(value: bytes, signal: str, origin: Origin) -> Iterable[Part]:
    """As `from_json`, of bytes; refused where their signal can't be told."""
    if signal in ("auto", "logs"):
        shallow = otlp_shallow.batch_of(value)
        if shallow is not None and _surely_logs(shallow):
            return otlp_logs.from_shallow(shallow, origin)
    batch = told(value) if signal == "auto" else _as_configured(value, signal)
    if isinstance(batch, Refusal):
        return [batch]
    if batch.signal == "logs":
        return otlp_logs.from_protobuf(batch.data, origin)
    read = otlp_metrics.from_protobuf if batch.signal == "metrics" else otlp_traces.from_protobuf
    return read(batch.data, origin)


def told(value: bytes) -> Batch | Refusal:
    """The one signal that the bytes can be: logs are tried first, since their times settle it."""
    logs = _parsed(value, "logs")
    if logs is not None and _surely_logs(logs):
        return Batch("logs", logs)
    parsed = {"logs": logs, "metrics": _parsed(value, "metrics"), "traces": _parsed(value, "traces")}
    likely = [signal for signal, data in parsed.items() if data is not None and _LIKELY[signal](data)]
    if len(likely) == 1:
        return Batch(likely[0], parsed[likely[0]])
    if likely:
        words = " or ".join(likely)
        return refuse(Reason.WRONG_SIGNAL, f"OTLP protobuf that may be {words}: set the topic's `signal`")
    if logs is not None:
        return Batch("logs", logs)
    return refuse(Reason.MALFORMED, "begins like OTLP protobuf but can't be parsed as such")


def _as_configured(value: bytes, signal: str) -> Batch | Refusal:
    data = _parsed(value, signal)
    if data is not None:
        return Batch(signal, data)
    other = told(value)
    return other if isinstance(other, Refusal) else _wrong(other.signal, signal)


def _wrong(found: str, expected: str) -> Refusal:
    return refuse(Reason.WRONG_SIGNAL, f"OTLP {found} where {expected} were expected")


def _parsed(value: bytes, signal: str) -> Any:
    try:
        return MESSAGES[signal].FromString(value)
    except DecodeError:
        return None


def _surely_logs(data: Any) -> bool:
    """A record has a time, in fields where neither metrics nor spans have fixed 64-bit numbers."""
    for each in data.resource_logs:
        for scope in each.scope_logs:
            for record in scope.log_records:
                return bool(record.time_unix_nano or record.observed_time_unix_nano)
    return False


def _likely_logs(data: Any) -> bool:
    records = [r for each in data.resource_logs for scope in each.scope_logs for r in scope.log_records]
    return bool(records) and all(known_only(r, otlp_wire.LAST_FIELD) for r in records)


def _likely_metrics(data: Any) -> bool:
    metrics = [m for each in data.resource_metrics for scope in each.scope_metrics for m in scope.metrics]
    return bool(metrics) and all(
        m.name and m.WhichOneof("data") and known_only(m, otlp_metrics.LAST_FIELD) for m in metrics
    )


def _likely_traces(data: Any) -> bool:
    spans = [s for each in data.resource_spans for scope in each.scope_spans for s in scope.spans]
    return bool(spans) and all(
        len(s.trace_id) == 16 and len(s.span_id) == 8 and known_only(s, otlp_traces.LAST_FIELD) for s in spans
    )


_LIKELY = {"logs": _likely_logs, "metrics": _likely_metrics, "traces": _likely_traces}
