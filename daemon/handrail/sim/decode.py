"""From the body of a request to an object of the kind that the path names.

It decides what can't be read (400, or 422 for the result of a patch) and, by `fieldValidation`, what becomes of
unknown fields. Whether the values make sense is for `validate`.
"""

import json
from typing import Any

from . import schema
from .kinds import Kind
from .objects import Obj, at, clone
from .status import ApiError, bad_patch, bad_request

STRICT = "Strict"


def parse(raw: bytes) -> Any:
    """The JSON of a body."""
    try:
        return json.loads(raw)
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def whole(kind: Kind, body: Any, strictness: str) -> Obj:
    """An object that was sent as a whole, without its unknown fields."""
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.name})")
    if body.get("apiVersion", kind.api_version) != kind.api_version:
        sent = body.get("apiVersion")
        message = f"the API version in the data ({sent}) does not match the expected API version ({kind.api_version})"
        raise bad_request(message)
    if body.get("kind", kind.name) != kind.name:
        raise bad_request(f"the object provided is of kind {body.get('kind')} (must be of type {kind.name})")
    return _read(kind, body, strictness, lambda why: bad_request(_unreadable(kind, why)))


def result_of_patch(kind: Kind, body: Obj, strictness: str) -> Obj:
    """An object that a patch has made, without its unknown fields."""
    obj = _read(kind, body, strictness, bad_patch)
    version, name = body.get("apiVersion"), body.get("kind") or kind.name
    if not version:
        raise bad_request(f"the name of the object ({_name(body)} based on URL) was undeterminable")
    if (version, name) != (kind.api_version, kind.name):
        raise bad_patch(f"no kind {name} is registered for {version}")
    return obj


def _name(body: Obj) -> str:
    return str(at(body, "metadata", "name", default=""))


def _unreadable(kind: Kind, why: str) -> str:
    return f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: {why}'


def _read(kind: Kind, body: Obj, strictness: str, refusal: Any) -> Obj:
    reading = schema.read(kind, body)
    error: ApiError | None = None
    if reading.mistyped:
        error = refusal(f"json: {reading.mistyped[0]}")
    elif reading.unknown and strictness == STRICT:
        listed = ", ".join(f'unknown field "{field}"' for field in reading.unknown)
        error = refusal(f"strict decoding error: {listed}")
    if error is not None:
        raise error
    obj = clone(reading.body)
    obj |= {"apiVersion": kind.api_version, "kind": kind.name}
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return obj


def unknown_fields(kind: Kind, body: Any) -> list[str]:
    """What a client is warned of when its unknown fields are dropped."""
    return schema.read(kind, body).unknown if isinstance(body, dict) else []
