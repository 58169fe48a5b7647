"""One intended change to one object of the cluster, as a value. Only Hands can perform it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value

KEY_ANNOTATION = "handrail.dev/key"
"""Where a write leaves its key: the object's own metadata, never a pod template (it would start another rollout)."""


class Verb(StrEnum):
    PATCH = "patch"
    CREATE = "create"
    DELETE = "delete"
    EVICT = "evict"


class Write(Value):
    """`ops` are JSON patch operations (RFC 6902) for `patch`; `body` is the whole object for `create`.

    `sets_replicas` says that the write is about `spec.replicas`, so the fingerprint counts it. `key` is empty
    until the saga stamps it: incident/round/step/do|undo/target-uid/verb (design, section 4).
    """

    verb: Verb
    object: ObjectRef
    ops: tuple[dict[str, Any], ...] = ()
    body: Raw | None = None
    sets_replicas: bool = False
    summary: str
    key: str = ""


class Direction(StrEnum):
    DO = "do"
    UNDO = "undo"


def key_of(incident: str, round_: int, step: int, direction: Direction, write: Write) -> str:
    """The stable name of a write. A key that is done is never written again."""
    return f"{incident}/{round_}/{step}/{direction}/{write.object.uid}/{write.verb}"
