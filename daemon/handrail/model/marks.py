"""Annotations of ours on other people's objects. Each is on the object's own metadata, never in a pod template."""

from __future__ import annotations

PAUSED_BY = "handrail.dev/paused-by"
"""Who paused a rollout, in a person's words. Handrail only reads it: it leaves such a rollout to them."""

CORDONED_AT = "handrail.dev/cordoned-at"
"""When Handrail cordoned a node (RFC 3339, UTC). Without it, a cordon is somebody else's."""

MIGRATION = "handrail.dev/migration"
"""On a pod template: the schema that this revision needs. Between two different ones there is no way back."""

NOTE = "handrail.dev/note"
"""One of our own fixed sentences about the object, with its time."""
