"""What a fuzzed input means: its first byte is the way it is read, the rest is a record's value."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import NamedTuple

from handrail.core.correlate import arrival, findings_of, woken
from handrail.decode import ENCODINGS, SIGNALS, decode
from handrail.decode.parts import MAX_ALERTS, MAX_DETAIL, MAX_REFUSED
from handrail.model.mapping import NO_MAPPING, AlertMapping
from handrail.model.record import Record
from handrail_detectors import named_alert

CORPUS = Path(__file__).parent / "corpus"
AT = datetime(2026, 3, 2, 9, 20, tzinfo=UTC)
MAPPED = AlertMapping(name=("title",), status=("state.value",), kind=("k",), object=("o",), labels={"team": ("t.x",)})
EVENT = tuple(
    (f"ce_{key}", text) for key, text in (("specversion", b"1.0"), ("id", b"1"), ("source", b"/x"), ("type", b"a"))
)


class Way(NamedTuple):
    """How a record is read."""

    signal: str = "auto"
    encoding: str = "auto"
    mapping: AlertMapping = NO_MAPPING
    headers: tuple[tuple[str, bytes], ...] = ()


WAYS = (
    *(Way(signal, encoding) for encoding, signal in product(("auto", "otlp_proto"), SIGNALS)),
    *(Way(encoding=encoding) for encoding in ENCODINGS if encoding not in ("auto", "otlp_proto")),
    Way(mapping=MAPPED),
    Way(headers=EVENT),
    Way(headers=(*EVENT, ("content-type", b"application/x-protobuf"))),
)


def check(given: bytes) -> None:
    """Decoding answers within its bounds, and what it found can be identified and written. Raises where it doesn't."""
    way = WAYS[given[0] % len(WAYS)] if given else WAYS[0]
    record = Record(topic="t", partition=0, offset=0, value=given[1:], headers=way.headers, at=AT)
    found = decode(record, signal=way.signal, encoding=way.encoding, mapping=way.mapping)
    assert found.alerts or found.refused or found.passed
    assert len(found.alerts) <= MAX_ALERTS
    assert len(found.refused) <= MAX_REFUSED + 2
    assert all(len(part.detail) <= MAX_DETAIL for part in found.refused)
    for alert in found.alerts:
        came = arrival(alert, "prod-eu1", findings_of(alert, woken((named_alert.detector,)), AT))
        assert type(came).model_validate(came.model_dump(), strict=True) == came, "made without validation, but valid"
        assert type(came).model_validate_json(json.dumps(came.model_dump(mode="json")).encode()) == came


def seeds(folder: Path) -> list[bytes]:
    """Every example in every way."""
    values = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    return [bytes([way]) + value for value in values for way in range(len(WAYS))]
