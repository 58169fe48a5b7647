"""Bytes of a record -> alerts. Pure, and never raises, whatever the bytes: what can't be read is refused by name.

Decides the format (by configuration, else by the value itself); each format has its own file. It never looks at the
clock: an alert was seen when the broker says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.decode import alertmanager, otlp_logs, sniff
from handrail.decode.parts import Origin, Part, collect, only, refuse
from handrail.model.reason import Reason, Refusal
from handrail.model.record import Decoded, Record

__all__ = ["MAX_RECORD", "decode"]

MAX_RECORD = 4 * 1024 * 1024
"""Bytes. Brokers and exporters stop at 1 MB by default; what is larger is not read at all."""


def decode(record: Record, *, signal: str = "auto", encoding: str = "auto") -> Decoded:
    """All alerts of a record and what was refused in it, part by part.

    `signal` is "logs" or "auto"; `encoding` "otlp_proto", "otlp_json", "alertmanager" or "auto" (by the first bytes).
    """
    value = record.value
    if not value:
        return only(Reason.EMPTY, "a tombstone" if value is None else "an empty value")
    if len(value) > MAX_RECORD:
        return only(Reason.TOO_LARGE, f"{len(value)} bytes; at most {MAX_RECORD} are read")
    if signal not in ("auto", "logs"):
        return only(Reason.WRONG_SIGNAL, "only logs carry alerts in this build")
    return collect(_parts(record, value, encoding))


def _parts(record: Record, value: bytes, encoding: str) -> Iterator[Part]:
    if encoding == "otlp_proto" or (encoding == "auto" and _looks_protobuf(value)):
        yield from otlp_logs.from_protobuf(value, Origin(at=record.at, wire="otlp_proto"))
        return
    binary = sniff.foreign_bytes(value)
    if binary:
        yield refuse(Reason.UNKNOWN_FORMAT, binary)
        return
    parsed = sniff.parse(value)
    if isinstance(parsed, sniff.Json) and isinstance(parsed.data, str):
        parsed = sniff.parse(parsed.data)
    if isinstance(parsed, Refusal):
        yield parsed
        return
    yield from _json(parsed.data, record, encoding)


def _looks_protobuf(value: bytes) -> bool:
    """0x0a is also a line feed: JSON that begins with an empty line is not taken for protobuf."""
    return value.startswith(sniff.PROTOBUF) and not (sniff.opens_json(value) and _is_json(value))


def _is_json(value: bytes) -> bool:
    return isinstance(sniff.parse(value), sniff.Json)


def _json(data: object, record: Record, encoding: str) -> Iterator[Part]:
    signal = sniff.other_signal(data)
    if isinstance(data, Mapping) and "resourceLogs" in data:
        if encoding == "alertmanager":
            yield refuse(Reason.UNKNOWN_FORMAT, "OTLP JSON on a topic that is configured for alertmanager")
        else:
            yield from otlp_logs.from_json(data, Origin(at=record.at, wire="otlp_json"))
    elif signal:
        yield refuse(Reason.WRONG_SIGNAL, f"OTLP {signal} where logs were expected")
    elif alertmanager.recognised(data):
        if encoding == "otlp_json":
            yield refuse(Reason.UNKNOWN_FORMAT, "an Alertmanager webhook on a topic that is configured for otlp_json")
        else:
            yield from alertmanager.parts_of(data, Origin(at=record.at, wire="alertmanager"))
    else:
        yield refuse(Reason.UNKNOWN_FORMAT, sniff.foreign(data, record.headers))
