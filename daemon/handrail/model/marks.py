"""Annotations of ours on other people's objects. Each is on the object's own metadata, never in a pod template."""

from __future__ import annotations

from handrail.model.value import Raw

PAUSED_BY = "handrail.dev/paused-by"
"""Who paused a rollout, in a person's words. Handrail only reads it: it leaves such a rollout to them."""

OWNER = "handrail"
"""Our field manager: the API server itself records which fields we were the last to set."""

CORDONED_AT = "handrail.dev/cordoned-at"
"""When Handrail cordoned a node (RFC 3339, UTC). Without it, a cordon is somebody else's."""

MIGRATION = "handrail.dev/migration"
"""On a pod template: the schema that this revision needs. Between two different ones there is no way back."""

MAINTENANCE = "handrail.dev/maintenance"
"""Somebody is at work here: a time (RFC 3339) until when, or any text while it is there. On an object, a namespace or a
node; Handrail only reads it."""

NOTE = "handrail.dev/note"
"""One of our own fixed sentences about the object, with its time."""


PEOPLES_TOOLS = ("kubectl", "k9s", "Lens", "OpenLens", "Mozilla", "headlamp", "dashboard")
"""Beginnings of field managers that stand for a person at a keyboard."""

PIPELINES = frozenset({"kubectl", "kubectl-client-side-apply", "kubectl-create", "kubectl-replace"})
"""Of these, those that send whole manifests: pipelines do it as people do, so for a rollout they prove nobody."""


def pointer(annotation: str) -> str:
    """The JSON pointer of an annotation on an object's own metadata."""
    return f"/metadata/annotations/{annotation.replace('~', '~0').replace('/', '~1')}"


def note_of(raw: Raw, annotation: str) -> str:
    """Its text, or ""."""
    return str((raw["metadata"].get("annotations") or {}).get(annotation, ""))


def set_by(raw: Raw, *path: str) -> Raw | None:
    """The managedFields entry of whoever set this field of the spec last; None where the API server does not say."""
    for entry in raw["metadata"].get("managedFields") or ():
        at = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        for part in path[:-1]:
            at = at.get(f"f:{part}") or {}
        if f"f:{path[-1]}" in at and not entry.get("subresource"):
            found: Raw = entry
            return found
    return None
