"""What fields an object may have, by the JSON schemas that `kubernetes-validate` ships.

It decides which fields of a body are unknown (and leaves them out), whether a scalar has the wrong type, and by
which key a list is merged. It judges no values: that is `validate`. Without the package nothing is unknown.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

from .kinds import Kind
from .objects import Obj
from .quantity import canonical, is_quantity

_VERSION = "v1.36.0-local"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
# Numbers and switches whose zero is not kept; of others a zero is a value (no replicas, say).
_ZERO_IS_NOTHING = frozenset(
    {
        *("minReadySeconds", "paused", "unschedulable", "hostNetwork", "hostPID", "hostIPC", "readOnly", "stdin"),
        *("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"),
        *("containerPort", "tty"),
    }
)
_NAMES = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
_ACCEPTED: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


@dataclass
class Reading:
    """A body as it was read: what is left of it, which fields are unknown, which have the wrong type."""

    body: Any = None
    unknown: list[str] = field(default_factory=list)
    mistyped: list[str] = field(default_factory=list)


@cache
def _definitions() -> dict[str, Obj]:
    try:
        folder = resources.files("kubernetes_validate") / "kubernetes-json-schema" / _VERSION
    except ModuleNotFoundError:
        return {}
    found: dict[str, Obj] = json.loads((folder / "_definitions.json").read_bytes())["$defs"]
    return found


@cache
def _roots() -> dict[tuple[str, str, str], Obj]:
    found = {}
    for definition in _definitions().values():
        for named in definition.get("x-kubernetes-group-version-kind", ()):
            found[named["group"], named["version"], named["kind"]] = definition
    return found


def schema_of(kind: Kind) -> Obj:
    return _roots().get((kind.group, kind.version, kind.name), {})


def resolve(schema: Obj) -> Obj:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    return resolve(_definitions()[str(reference).rpartition("/")[2]])


def child(schema: Obj, key: str) -> Obj | None:
    """The schema of this field: None when there is no such field, empty when anything goes."""
    schema = resolve(schema)
    if key in schema.get("properties", {}):
        return dict(schema["properties"][key])
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    return None if "properties" in schema else {}


def merge_key(schema: Obj) -> str | None:
    """The field by which a strategic merge pairs the elements of this list; None when it replaces the list.

    A list of scalars that is merged has the empty string.
    """
    if schema.get("x-kubernetes-patch-strategy", "").split(",")[0] != "merge":
        return None
    return str(schema.get("x-kubernetes-patch-merge-key", ""))


def read(kind: Kind, body: Obj) -> Reading:
    """The body without the fields that this kind does not have."""
    reading = Reading()
    reading.body = _walk(schema_of(kind), body, "", reading)
    return reading


def _types(schema: Obj) -> Iterator[str]:
    for part in (schema, *schema.get("oneOf", ())):
        listed = part.get("type", ())
        yield from [listed] if isinstance(listed, str) else listed


def _walk(schema: Obj, value: Any, path: str, reading: Reading) -> Any:
    schema = resolve(schema)
    if not _fits(schema, value):
        wanted = "/".join(t for t in dict.fromkeys(_types(schema)) if t != "null")
        reading.mistyped.append(f"cannot unmarshal {_NAMES[type(value)]} into field {path} of type {wanted}")
        return value
    if schema is _definitions().get(_QUANTITY) and value is not None:
        return canonical(value)
    if isinstance(value, dict):
        return _walk_object(schema, value, path, reading)
    if isinstance(value, list) and "items" in schema:
        return [_walk_item(schema["items"], item, f"{path}[{i}]", reading) for i, item in enumerate(value)]
    return value


def _walk_item(schema: Obj, value: Any, path: str, reading: Reading) -> Any:
    if value is None and "object" in _types(resolve(schema)):
        value = {}
    return _walk(schema, value, path, reading)


def _walk_object(schema: Obj, value: Obj, path: str, reading: Reading) -> Obj:
    kept = {}
    for key, inner in value.items():
        where = f"{path}.{key}" if path else key
        found = child(schema, key)
        if found is None:
            reading.unknown.append(where)
        else:
            if inner is None and key not in schema.get("properties", {}) and "string" in _types(resolve(found)):
                inner = _null_in_map(found)
            read_value = _walk(found, inner, where, reading)
            if not _counts_as_nothing(schema, found, key, inner):
                kept[key] = read_value
    return kept


def _null_in_map(found: Obj) -> str:
    """A null as the value of a map of strings is an empty string, of quantities a zero; neither is left out."""
    return "0" if resolve(found) is _definitions().get(_QUANTITY) else ""


def _counts_as_nothing(schema: Obj, found: Obj, key: str, value: Any) -> bool:
    """Is a field with this value the same as none? So it is for null, empty lists and maps, empty strings and
    some zeros, but not inside a map (the data of a ConfigMap, say), where an empty string is a value."""
    if value is None:
        return True
    if key not in schema.get("properties", {}):
        return False
    if value == {}:
        return "additionalProperties" in resolve(found)
    if value == "":
        return "string" in resolve(found).get("type", ())
    return value == [] or (not value and key in _ZERO_IS_NOTHING)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _fits(schema: Obj, value: Any) -> bool:
    types = set(_types(schema))
    if not types or value is None:
        return True
    if schema is _definitions().get(_QUANTITY):
        return not isinstance(value, bool) and is_quantity(value)
    if schema.get("format") == "date-time":
        return isinstance(value, str) and _is_time(value)
    accepted = tuple(t for name in types for t in _ACCEPTED.get(name, ()))
    if isinstance(value, bool):
        return bool in accepted
    return isinstance(value, accepted)
