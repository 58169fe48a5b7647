"""Values, attributes and ids of OTLP as plain Python, of both encodings. What they mean is for each signal's decoder.

JSON by the specification's rules: lowerCamelCase keys, unknown ones ignored, 64-bit integers as text or number,
ids in hex. A protobuf JSON library would read such an id as base64 without an error and reject unknown keys.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

MAX_DEPTH = 16
MAX_ATTRIBUTES = 512


def proto_attributes(pairs: Iterable[Any], depth: int = MAX_DEPTH) -> dict[str, object]:
    """Texts are nearly all of them, and are read without asking first which kind they are."""
    return {
        pair.key: (value := pair.value).string_value or proto_value(value, depth)
        for pair in list(pairs)[:MAX_ATTRIBUTES]
    }


def proto_value(value: Any, depth: int = MAX_DEPTH) -> object:
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
            return proto_attributes(value.kvlist_value.values, depth - 1)
        case "array_value" if depth:
            return [proto_value(item, depth - 1) for item in list(value.array_value.values)[:MAX_ATTRIBUTES]]
        case _:
            return None


def items(data: object, key: str) -> list[object]:
    items = data.get(key) if isinstance(data, dict) else None
    return items if isinstance(items, list) else []


def inner(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    inner = data.get(key)
    return inner if isinstance(inner, dict) else {}


def json_attributes(holder: object, depth: int = MAX_DEPTH, key: str = "attributes") -> dict[str, object]:
    pairs = [pair for pair in items(holder, key)[:MAX_ATTRIBUTES] if isinstance(pair, dict)]
    return {pair["key"]: json_value(pair.get("value"), depth) for pair in pairs if isinstance(pair.get("key"), str)}


def json_value(value: object, depth: int = MAX_DEPTH) -> object:
    if not isinstance(value, dict) or not depth:
        return None
    kind = next((kind for kind in _READ if kind in value), "")
    return _READ[kind](value[kind], depth - 1) if kind else None


def _json_array(value: object, depth: int) -> object:
    return [json_value(item, depth) for item in items(value, "values")[:MAX_ATTRIBUTES]]


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
    "kvlistValue": lambda value, depth: json_attributes(value, depth, "values"),
    "arrayValue": _json_array,
    "bytesValue": _json_bytes,
}


def trace_id_of(text: object) -> str:
    """Lower case hex; all zeros, another length and anything else is no trace."""
    if not isinstance(text, str) or len(text) != 32:
        return ""
    lower = text.lower()
    hexadecimal = not lower.strip("0123456789abcdef")
    return lower if hexadecimal and lower.strip("0") else ""


def known_only(message: Any, last_field: int) -> bool:
    """False where a field up to `last_field` came with another wire type: the bytes are of another message."""
    unknown: Any = UnknownFieldSet(message)
    return not any(field.field_number <= last_field for field in unknown)


def number_of(value: object) -> float:
    """A number, or text that is one (64-bit integers); anything else is 0."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) <= 20:
        return int(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
