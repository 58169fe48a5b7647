"""What a value is, by its first bytes: protobuf, JSON, or something packed that is refused by its name."""

from __future__ import annotations

import json
from typing import NamedTuple

from pydantic_core import from_json

from handrail.decode.parts import refuse
from handrail.model.reason import Reason, Refusal

PROTOBUF = b"\x0a"
JSON_OPENS = b'{["'

MAGIC = (
    (b"\x1f\x8b", "a gzip stream (let the producer compress the batch, not the value)"),
    (b"\x28\xb5\x2f\xfd", "a zstd stream (let the producer compress the batch, not the value)"),
    (b"\x04\x22\x4d\x18", "an lz4 stream (let the producer compress the batch, not the value)"),
    (b"\x00", "schema-registry framing (Avro, Protobuf or JSON Schema with a schema id)"),
)


class Json(NamedTuple):
    """A parsed text; `data` is anything JSON can say."""

    data: object


def foreign_bytes(value: bytes) -> str:
    """The name of a binary format that is refused, or ""."""
    if value[0] in JSON_OPENS:
        return ""
    return next((name for magic, name in MAGIC if value.startswith(magic)), "")


def opens_json(value: bytes) -> bool:
    """Whether the first character that counts can begin a document of ours."""
    return value[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[", b'"'))


def parse(value: bytes | str) -> Json | Refusal:
    """JSON of any depth and size within the record's, or why not."""
    try:
        return Json(from_json(value))
    except (ValueError, TypeError):  # a TypeError for text with half surrogates
        return _parse_slowly(value)


def _parse_slowly(value: bytes | str) -> Json | Refusal:
    """What the quick parser doesn't take: a byte order mark, half surrogates, deep nesting; and why it is no JSON."""
    try:
        text = value if isinstance(value, str) else value.decode("utf-8-sig")
        return Json(json.loads(text))
    except RecursionError:
        return refuse(Reason.MALFORMED, "JSON nested too deeply")
    except ValueError as error:
        return refuse(Reason.MALFORMED, f"neither protobuf nor JSON: {error}")
