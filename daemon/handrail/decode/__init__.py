"""Bytes of a record -> alerts. Pure, and never raises, whatever the bytes: what can't be read is refused by name.

Decides the format (by configuration, else by the value itself); each format has its own file. It never looks at the
clock: an alert was seen when the broker says so.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from handrail.decode import cloudevents, documents, otlp, repeats, sniff
from handrail.decode.documents import Shape
from handrail.decode.foreign import foreign
from handrail.decode.parts import EVENT_AGE, Origin, Part, collect, in_turns, passed, refuse
from handrail.model.mapping import NO_MAPPING, AlertMapping
from handrail.model.published import ORIGIN, SEALED
from handrail.model.reason import Reason, Refusal
from handrail.model.record import Decoded, Record

__all__ = ["ENCODINGS", "EVENT_AGE", "MAX_RECORD", "SIGNALS", "How", "decode", "decode_in_turns"]

MAX_RECORD = 4 * 1024 * 1024
"""Bytes. Brokers and exporters stop at 1 MB by default; what is larger is not read at all."""

SIGNALS = ("logs", "metrics", "traces", "auto")
ENCODINGS = ("otlp_proto", "otlp_json", "alertmanager", "grafana", "cloudevents", "raw", "auto")

OWN_MARKS = {SEALED: "a dead letter of Handrail's own", ORIGIN: "an event of Handrail's own"}
"""Headers of all that we write, but for what we were told to send back to where it came from."""

TAKES: Mapping[str, frozenset[Shape]] = {
    "alertmanager": frozenset({Shape.ALERTMANAGER}),
    "grafana": frozenset({Shape.GRAFANA}),
    "cloudevents": frozenset({Shape.CLOUDEVENTS}),
    "otlp_proto": frozenset(),
    "otlp_json": frozenset(),
}
"""What a configured encoding takes besides OTLP; `raw` (kafkaexporter's, of a log's body) and `auto` take all."""


class How(NamedTuple):
    """How a record is read: `signal` is one of SIGNALS and matters to OTLP alone; `encoding` is one of ENCODINGS."""

    signal: str = "auto"
    encoding: str = "auto"
    mapping: AlertMapping = NO_MAPPING
    event_age: timedelta = EVENT_AGE


def decode(
    record: Record,
    *,
    signal: str = "auto",
    encoding: str = "auto",
    mapping: AlertMapping = NO_MAPPING,
    event_age: timedelta = EVENT_AGE,
) -> Decoded:
    """All alerts of a record, what was refused in it part by part, and what was never meant to be an alert. The
    keywords are those of How."""
    return collect(_read(record, How(signal, encoding, mapping, event_age)))


def decode_in_turns(record: Record, how: How) -> Generator[None, None, Decoded]:
    """The same of a large one, giving way again and again."""
    return in_turns(_read(record, how))


def _read(record: Record, how: How) -> Iterable[Part]:
    value = record.value
    own = _our_own(record) if record.headers else ""
    if own:
        return [passed(own)]
    if not value:
        return [refuse(Reason.EMPTY, _nothing(record))]
    if len(value) > MAX_RECORD:
        return [refuse(Reason.TOO_LARGE, f"{len(value)} bytes; at most {MAX_RECORD} are read")]
    return _parts(record, value, how, Origin(record.at, "", how.mapping, how.event_age))


def _our_own(record: Record) -> str:
    """A dead letter that came back would be buried again, and come back (keep #5111: own output set off a run)."""
    return next((OWN_MARKS[name] for name, _ in record.headers if name in OWN_MARKS), "")


def _nothing(record: Record) -> str:
    if cloudevents.binary(record.headers):
        return "a CloudEvent without data"
    return "a tombstone" if record.value is None else "an empty value"


def _parts(record: Record, value: bytes, how: How, origin: Origin) -> Iterable[Part]:
    attributes = cloudevents.binary(record.headers) if record.headers else None
    if attributes is not None and how.encoding in ("cloudevents", "auto"):
        return _event(cloudevents.of_binary(attributes, value), how, origin.within("cloudevents"))
    return _value(value, how, origin)


def _value(value: bytes, how: How, origin: Origin) -> Iterable[Part]:
    if how.encoding == "otlp_proto" or (how.encoding == "auto" and _looks_protobuf(value)):
        return otlp.from_protobuf(value, how.signal, origin.within("otlp_proto"))
    known = repeats.webhook(value, how.encoding, origin)
    if known is not None:
        return known
    binary = sniff.foreign_bytes(value)
    if binary:
        return [refuse(Reason.UNKNOWN_FORMAT, binary)]
    parsed = sniff.parse(value)
    if isinstance(parsed, sniff.Json) and isinstance(parsed.data, str):
        parsed = sniff.parse(parsed.data)
    if isinstance(parsed, Refusal):
        return [parsed]
    return repeats.keep_webhook(value, how.encoding, parsed.data, origin, _json(parsed.data, how, origin))


def _looks_protobuf(value: bytes) -> bool:
    """0x0a is also a line feed: JSON that begins with an empty line is not taken for protobuf."""
    return value.startswith(sniff.PROTOBUF) and not (sniff.opens_json(value) and _is_json(value))


def _is_json(value: bytes) -> bool:
    return isinstance(sniff.parse(value), sniff.Json)


def _json(data: object, how: How, origin: Origin) -> Iterable[Part]:
    if isinstance(data, dict) and otlp.signal_of(data):
        if how.encoding in ("otlp_json", "auto"):
            return otlp.from_json(data, how.signal, origin.within("otlp_json"))
        return [_elsewhere("OTLP JSON", how)]
    shape = documents.shape_of(data, origin)
    if shape is None:
        return [refuse(Reason.UNKNOWN_FORMAT, foreign(data))]
    if how.encoding in TAKES and shape is not Shape.OWN and shape not in TAKES[how.encoding]:
        return [_elsewhere(documents.NAMES[shape], how)]
    if shape is Shape.CLOUDEVENTS and isinstance(data, dict):
        return _event(cloudevents.opened(data), how, origin.within("cloudevents"))
    return documents.parts_of(data, shape, origin)


def _event(event: cloudevents.Event | Refusal, how: How, origin: Origin) -> Iterable[Part]:
    """OTLP may come in a CloudEvent too; everything else in it is a document."""
    if isinstance(event, Refusal):
        return [event]
    if isinstance(event.data, bytes):
        return otlp.from_protobuf(event.data, how.signal, origin.within("otlp_proto"))
    if isinstance(event.data, dict) and otlp.signal_of(event.data):
        return otlp.from_json(event.data, how.signal, origin.within("otlp_json"))
    return documents.of_event(event, origin)


def _elsewhere(what: str, how: How) -> Refusal:
    return refuse(Reason.UNKNOWN_FORMAT, f"{what} on a topic that is configured for {how.encoding}")
