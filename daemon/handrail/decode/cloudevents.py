"""CloudEvents 1.0, structured (an envelope in JSON) and binary (attributes in Kafka headers named `ce_...`).

Opens the envelope only: the data inside is decoded as the format that it is. `source` and `id` name the event, so the
same event delivered twice is known; they say nothing about whether two events are about the same alert.
Source: CloudEvents spec 1.0.2 and its Kafka protocol binding.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from handrail.decode.parts import refuse
from handrail.decode.sniff import Json, parse
from handrail.decode.text import clean, words_of
from handrail.model.reason import Reason, Refusal

REQUIRED = ("id", "source", "specversion", "type")
PREFIX = "ce_"
_JSON_TYPE = re.compile(r"(?:application|text)/(?:[\w.-]+\+)?json(?:;.*)?", re.IGNORECASE)
_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_STATES = ("firing", "resolved")


class Event(NamedTuple):
    """The attributes of one event, and its data: parsed, bytes that are no JSON, or None."""

    attributes: dict[str, str]
    data: object

    @property
    def message(self) -> str:
        return clean(f"{self.attributes['source']} {self.attributes['id']}")

    @property
    def state(self) -> str:
        """The word of the type that says a state ("com.example.alert.firing.v1"), or ""."""
        words = self.attributes["type"].lower().split(".")
        return next((word for word in words if word in _STATES), "")

    @property
    def trace_id(self) -> str:
        found = _TRACE.fullmatch(self.attributes.get("traceparent", ""))
        return found[1] if found and found[1].strip("0") else ""


def structured(data: object) -> bool:
    """The content-type header is only there "if present on the wire": the envelope is known by its own key."""
    return isinstance(data, dict) and "specversion" in data


def opened(data: Mapping[str, object]) -> Event | Refusal:
    """The event of a structured envelope; data in `data_base64` is taken for JSON where its type says so."""
    attributes = words_of({key: value for key, value in data.items() if key not in ("data", "data_base64")})
    wrong = _wrong(attributes)
    if wrong:
        return wrong
    if "data_base64" not in data:
        inner = data.get("data")
        return _event(attributes, inner) if not isinstance(inner, str) else _of_text(attributes, inner)
    try:
        return _of_bytes(attributes, base64.b64decode(str(data["data_base64"]), validate=True))
    except (binascii.Error, ValueError):
        return refuse(Reason.MALFORMED, "a CloudEvent whose data_base64 is no base64")


def binary(headers: Iterable[tuple[str, bytes]]) -> dict[str, str] | None:
    """The attributes in a record's headers, or None where it is no event in binary mode."""
    words = {key.lower(): value for key, value in headers}
    if "ce_specversion" not in words:
        return None
    found = {key.removeprefix(PREFIX): _text(value) for key, value in words.items() if key.startswith(PREFIX)}
    if "content-type" in words:
        found["datacontenttype"] = _text(words["content-type"])
    return words_of(found)


def of_binary(attributes: dict[str, str], value: bytes) -> Event | Refusal:
    """The event of a record's attributes and its value."""
    return _wrong(attributes) or _of_bytes(attributes, value)


def _wrong(attributes: Mapping[str, str]) -> Refusal | None:
    missing = next((key for key in REQUIRED if not attributes.get(key)), "")
    if missing:
        return refuse(Reason.MALFORMED, f"a CloudEvent without {missing}")
    version = attributes["specversion"]
    if not version.startswith("1."):
        return refuse(Reason.UNKNOWN_FORMAT, f"a CloudEvent of specversion {version!r}: 1.0 is read")
    return None


def _of_bytes(attributes: dict[str, str], value: bytes) -> Event | Refusal:
    """Data without a type is JSON (spec 3.1.1); what is neither that nor protobuf is nothing that we read."""
    kind = attributes.get("datacontenttype", "application/json")
    if _JSON_TYPE.fullmatch(kind.strip()):
        parsed = parse(value)
        return _event(attributes, parsed.data) if isinstance(parsed, Json) else parsed
    if "protobuf" in kind.lower():
        return _event(attributes, value)
    return refuse(
        Reason.UNKNOWN_FORMAT, f"a CloudEvent with data of type {clean(kind, 60)!r}: JSON and OTLP protobuf are read"
    )


def _of_text(attributes: dict[str, str], inner: str) -> Event | Refusal:
    """Text that is JSON inside the envelope's JSON, as senders do that know their data only as text."""
    parsed = parse(inner)
    return _event(attributes, parsed.data if isinstance(parsed, Json) else inner)


def _event(attributes: dict[str, str], data: object) -> Event | Refusal:
    return Event(attributes, data) if data is not None else refuse(Reason.EMPTY, "a CloudEvent without data")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
