"""Kubernetes objects as plain JSON, and the few questions that everybody asks of them.

An object that the store has handed out is frozen by agreement: whoever wants another one clones it first.
Nothing here knows the store, the clock or the wire.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

Obj = dict[str, Any]


def clone(value: Obj) -> Obj:
    """A deep copy of plain JSON (half the time that text and back takes, and much of all that a cluster does)."""
    return {key: _copied(part) if type(part) in _NESTED else part for key, part in value.items()}


_NESTED = (dict, list, tuple)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return clone(value)
    return [_copied(part) if type(part) in _NESTED else part for part in value]


def at(value: Any, *path: str, default: Any = None) -> Any:
    """What stands at this path of nested objects, or the default when any part of it is missing or null."""
    for key in path:
        if not isinstance(value, dict) or value.get(key) is None:
            return default
        value = value[key]
    return value


def meta(obj: Obj) -> Obj:
    found: Obj = obj["metadata"]
    return found


def name_of(obj: Obj) -> str:
    return str(meta(obj)["name"])


def namespace_of(obj: Obj) -> str:
    return str(meta(obj).get("namespace", ""))


def uid_of(obj: Obj) -> str:
    return str(meta(obj).get("uid", ""))


def labels_of(obj: Obj) -> dict[str, str]:
    return at(obj, "metadata", "labels", default={}) or {}


def annotations_of(obj: Obj) -> dict[str, str]:
    return at(obj, "metadata", "annotations", default={}) or {}


def is_terminating(obj: Obj) -> bool:
    return bool(meta(obj).get("deletionTimestamp"))


def owners_of(obj: Obj) -> list[Obj]:
    return list(meta(obj).get("ownerReferences") or [])


def controller_uid(obj: Obj) -> str:
    """UID of the owner that controls this object, or an empty string."""
    return next((str(o["uid"]) for o in owners_of(obj) if o.get("controller")), "")


def controlled_by(owner: Obj, objects: Iterable[Obj]) -> list[Obj]:
    return [obj for obj in objects if controller_uid(obj) == uid_of(owner)]


def owned_metadata(owner: Obj) -> Obj:
    """The start of the metadata of an object that this owner makes."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {"namespace": namespace_of(owner), "ownerReferences": [reference]}


def stamp(time: datetime) -> str:
    """Kubernetes writes times in UTC and whole seconds."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def condition_of(obj: Obj, kind: str) -> Obj | None:
    conditions: list[Obj] = at(obj, "status", "conditions", default=[])
    return next((c for c in conditions if c["type"] == kind), None)


def is_true(obj: Obj, kind: str) -> bool:
    condition = condition_of(obj, kind)
    return condition is not None and condition["status"] == "True"
