"""The three kinds of patch: what an object looks like after one.

Pure functions from an object and a patch to an object. They judge nothing about the result; a patch that can't be
read or does not apply raises `ApiError` as the API server answers. Server-side apply is not known here.
"""

from collections.abc import Callable
from typing import Any

import jsonpatch
import jsonpointer

from . import schema
from .kinds import Kind
from .objects import Obj, clone
from .status import ApiError, bad_request, not_implemented, unprocessable

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = ("application/apply-patch+yaml", "application/apply-patch+cbor")

_DIRECTIVE = "$patch"
_ORDER = "$setElementOrder/"
_DELETE_SCALARS = "$deleteFromPrimitiveList/"
_KEEP = "$retainKeys"


def patched(kind: Kind, content_type: str, obj: Obj, patch: Any) -> Obj:
    """The object after this patch."""
    if content_type in APPLY:
        raise not_implemented("server-side apply")
    apply = _BY_TYPE.get(content_type)
    if apply is None:
        known = ", ".join((JSON, MERGE, STRATEGIC))
        message = f"the body of the request was in an unknown format - accepted media types include: {known}"
        raise ApiError(415, "UnsupportedMediaType", message, {})
    return apply(kind, clone(obj), patch)


def _json(kind: Kind, obj: Obj, patch: Any) -> Obj:
    if not isinstance(patch, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    try:
        result = _applied(obj, patch)
    except (jsonpatch.InvalidJsonPatch, jsonpatch.JsonPatchConflict, jsonpatch.JsonPatchTestFailed) as error:
        raise unprocessable() from error
    except (jsonpointer.JsonPointerException, TypeError, KeyError, IndexError) as error:
        raise unprocessable() from error
    if not isinstance(result, dict):
        raise unprocessable()
    return result


def _applied(obj: Any, patch: list[Any]) -> Any:
    """Apply these operations as the API server's library does, which is laxer than the standard: `replace` adds a
    key that is missing, and a missing key tests equal to null."""
    for operation in patch:
        if isinstance(operation, dict) and _is_missing_key(obj, str(operation.get("path"))):
            if operation.get("op") == "replace":
                operation = operation | {"op": "add"}
            elif operation.get("op") == "test" and operation.get("value", 0) is None:
                continue
        obj = jsonpatch.apply_patch(obj, [operation])
    return obj


def _is_missing_key(obj: Any, path: str) -> bool:
    """Does this path name a key that its object, which is there, does not have?"""
    parent, slash, key = path.rpartition("/")
    try:
        holder = jsonpointer.resolve_pointer(obj, parent)
    except jsonpointer.JsonPointerException:
        return False
    return bool(slash) and isinstance(holder, dict) and jsonpointer.unescape(key) not in holder


def _merge(kind: Kind, obj: Obj, patch: Any) -> Obj:
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: not an object")
    return _merged(obj, patch)


def _merged(target: Any, patch: Obj) -> Obj:
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _merged(result.get(key), value)
        else:
            result[key] = value
    return result


def _strategic(kind: Kind, obj: Obj, patch: Any) -> Obj:
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: not an object")
    if not (shape := schema.schema_of(kind)):
        raise not_implemented(f"strategic merge patch of {kind.qualified} (kubernetes-validate is not installed)")
    return _strategic_object(shape, obj, patch)


def _strategic_object(shape: Obj, target: Any, patch: Obj) -> Obj:
    if patch.get(_DIRECTIVE) == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if patch.get(_DIRECTIVE) == "delete":
        return {}
    result = dict(target) if isinstance(target, dict) else {}
    if _KEEP in patch:
        result = {key: value for key, value in result.items() if key in patch[_KEEP]}
    for key, value in patch.items():
        if not key.startswith("$"):
            _strategic_field(schema.child(shape, key) or {}, result, key, value)
    _drop_scalars(result, patch)
    return _in_order(shape, result, patch)


def _strategic_field(shape: Obj, result: Obj, key: str, value: Any) -> None:
    if value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        merged = _strategic_object(shape, result.get(key), value)
        if merged or value.get(_DIRECTIVE) != "delete":
            result[key] = merged
        else:
            result.pop(key, None)
    elif isinstance(value, list):
        result[key] = _strategic_list(shape, result.get(key) or [], value)
    else:
        result[key] = value


def _strategic_list(shape: Obj, target: list[Any], patch: list[Any]) -> list[Any]:
    key = schema.merge_key(shape)
    replace = [item for item in patch if not (isinstance(item, dict) and item.get(_DIRECTIVE) == "replace")]
    if key is None or len(replace) != len(patch):
        return replace
    if not key:
        return target + [item for item in patch if item not in target]
    return _paired(schema.resolve(shape).get("items", {}), key, target, patch)


def _paired(shape: Obj, key: str, target: list[Any], patch: list[Any]) -> list[Any]:
    """Merge two lists of objects, paired by this key."""
    order = [item.get(key) for item in target]
    kept = {item.get(key): item for item in target}
    changed: list[Any] = []
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        was = kept.pop(item[key], None)
        if item.get(_DIRECTIVE) != "delete":
            changed.append(_strategic_object(shape, was, item))
    return _interleaved(order, key, list(kept.values()), changed)


def _interleaved(order: list[Any], key: str, kept: list[Any], changed: list[Any]) -> list[Any]:
    """What the patch names keeps the patch's order, the rest its own; a new element comes as early as it can."""
    result = []
    while kept and changed:
        left, right = order.index(kept[0][key]), changed[0][key]
        takes_right = right not in order or order.index(right) < left
        result.append((changed if takes_right else kept).pop(0))
    return result + kept + changed


def _drop_scalars(result: Obj, patch: Obj) -> None:
    for key, values in patch.items():
        if key.startswith(_DELETE_SCALARS):
            name = key.removeprefix(_DELETE_SCALARS)
            result[name] = [item for item in result.get(name, []) if item not in values]


def _in_order(shape: Obj, result: Obj, patch: Obj) -> Obj:
    for directive, order in patch.items():
        name = directive.removeprefix(_ORDER)
        if name == directive or not isinstance(result.get(name), list):
            continue
        key = schema.merge_key(schema.child(shape, name) or {})
        wanted = [item.get(key) if key and isinstance(item, dict) else item for item in order]
        result[name] = sorted(result[name], key=_place(wanted, key))
    return result


def _place(wanted: list[Any], key: str | None) -> Callable[[Any], int]:
    def place(item: Any) -> int:
        value = item.get(key) if key and isinstance(item, dict) else item
        return wanted.index(value) if value in wanted else len(wanted)

    return place


_BY_TYPE: dict[str, Callable[[Kind, Obj, Any], Obj]] = {JSON: _json, MERGE: _merge, STRATEGIC: _strategic}
