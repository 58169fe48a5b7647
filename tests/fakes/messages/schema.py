"""Whether an output schema is one that structured outputs take.

Strict about: every object closed with `additionalProperties: false`, keywords outside the supported subset (bounds,
lengths, counts over 1, `oneOf`, formats that are not listed), enums of plain values, references that resolve inside the
schema and do not recur, at most 24 optional properties and 16 properties of union type in all. `pattern` is refused
too, which is stricter than the real API. Does not judge whether the grammar would be too large in other ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.fakes.messages.errors import bad

Json = dict[str, Any]

AT = "output_config.format.schema"
FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
)
OPTIONAL = 24
UNIONS = 16
_EVERYWHERE = frozenset({"title", "description", "default", "$defs", "definitions", "type", "enum", "const", "anyOf"})
_BY_TYPE = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems"}),
    "string": frozenset({"format"}),
    "number": frozenset[str](),
    "integer": frozenset[str](),
    "boolean": frozenset[str](),
    "null": frozenset[str](),
}


def _kinds(node: Json) -> list[str]:
    kind = node.get("type")
    return [kind] if isinstance(kind, str) else list(kind or [])


def _keywords(node: Json, kinds: list[str]) -> None:
    allowed = _EVERYWHERE.union(*(_BY_TYPE[kind] for kind in kinds), {"allOf"} if not kinds else set())
    extra = sorted(set(node) - allowed)
    if extra and kinds:
        which = f"properties {', '.join(extra)} are" if len(extra) > 1 else f"property '{extra[0]}' is"
        raise bad(f"{AT}: For '{kinds[0]}' type, {which} not supported")
    if extra:
        raise bad(f"{AT}: Schema keyword '{extra[0]}' is not supported")


def _enum(node: Json) -> None:
    if "enum" not in node:
        return
    values = node["enum"]
    if not isinstance(values, list) or not values:
        raise bad(f"{AT}: enum must be a non-empty array")
    if any(isinstance(value, list | dict) for value in values):
        raise bad(f"{AT}: enum values must be strings, numbers, booleans or null")


def _object(node: Json) -> None:
    if node.get("additionalProperties") is not False:
        raise bad(f"{AT}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        raise bad(f"{AT}: 'properties' must be an object")
    strangers = sorted(set(node.get("required", [])) - set(properties))
    if strangers:
        raise bad(f"{AT}: required property '{strangers[0]}' is not defined in properties")


def _array(node: Json) -> None:
    least = node.get("minItems", 0)
    if least not in (0, 1):
        raise bad(f"{AT}: For 'array' type, 'minItems' values other than 0 or 1 are not supported (got: {least})")


def _node(node: Any) -> None:
    if not isinstance(node, dict):
        raise bad(f"{AT}: a schema must be an object")
    if "$ref" in node:
        if set(node) - {"$ref", "$defs", "definitions", "title", "description"}:
            raise bad(f"{AT}: '$ref' can't be combined with other keywords")
        return
    kinds = _kinds(node)
    for kind in kinds:
        if kind not in _BY_TYPE:
            raise bad(f"{AT}: Invalid schema type: {kind}")
    if not kinds and not {"enum", "const", "anyOf", "allOf"} & set(node):
        raise bad(f"{AT}: Schema type is required")
    _keywords(node, kinds)
    _enum(node)
    if "object" in kinds:
        _object(node)
    if "array" in kinds:
        _array(node)
    if "format" in node and node["format"] not in FORMATS:
        raise bad(f"{AT}: For 'string' type, format '{node['format']}' is not supported")


def _children(node: Json) -> Iterator[Any]:
    for name in ("$defs", "definitions", "properties"):
        yield from (node.get(name) or {}).values()
    for name in ("anyOf", "allOf"):
        yield from node.get(name) or []
    if "items" in node:
        yield node["items"]


def _walk(node: Any) -> Iterator[Json]:
    _node(node)
    yield node
    for child in _children(node):
        yield from _walk(child)


def _resolve(root: Json, ref: str) -> Json:
    found: Any = root
    for part in ref.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    if not ref.startswith("#/") or not isinstance(found, dict):
        raise bad(f"{AT}: Invalid reference: {ref}")
    return found


def _no_recursion(root: Json, node: Json, above: tuple[str, ...]) -> None:
    ref = node.get("$ref")
    if ref is not None:
        if ref in above:
            raise bad(f"{AT}: Recursive schemas are not supported (at {ref})")
        _no_recursion(root, _resolve(root, ref), (*above, ref))
    for name in ("properties", "anyOf", "allOf", "items"):
        for child in _of(node, name):
            _no_recursion(root, child, above)


def _of(node: Json, name: str) -> list[Json]:
    value = node.get(name)
    if value is None:
        return []
    if name == "properties":
        return list(value.values())
    return value if isinstance(value, list) else [value]


def _count(nodes: list[Json]) -> None:
    fields = [(node, name, field) for node in nodes for name, field in (node.get("properties") or {}).items()]
    optional = sum(name not in node.get("required", []) for node, name, _ in fields)
    unions = sum("anyOf" in field or isinstance(field.get("type"), list) for _, _, field in fields)
    if optional > OPTIONAL:
        raise bad(
            f"Schemas contains too many optional parameters ({optional}), which would make grammar compilation"
            f" inefficient. Reduce the number of optional parameters in your tool schemas (limit: {OPTIONAL})."
        )
    if unions > UNIONS:
        raise bad(
            f"Schemas contains too many parameters with union types ({unions} parameters with type arrays or anyOf)."
            f" (limit: {UNIONS} parameters with unions)."
        )


def check_schema(schema: Any) -> None:
    """Raises Refused with the first thing that structured outputs would not take."""
    nodes = list(_walk(schema))
    _no_recursion(schema, schema, ())
    _count(nodes)
