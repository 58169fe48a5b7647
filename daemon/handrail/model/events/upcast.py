"""Events of older builds in today's shape, one step of one kind at a time. What is stored is never rewritten.

A kind begins at version 1. Whoever changes the shape of one so that older entries could not be read as they are adds
its new version here, and the step that leads there; tests/replay holds journals of every release against it. A new
field with a default needs neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handrail.model.errors import UnknownEvent

Data = dict[str, Any]
Step = Callable[[Data], Data]
"""Pure; gets a copy."""

VERSIONS: Mapping[str, int] = {}
"""Kinds that are beyond version 1."""

UPCASTERS: Mapping[tuple[str, int], Step] = {}
"""By kind and the version that a step begins at."""


def version_of(kind: str) -> int:
    """What this build writes."""
    return VERSIONS.get(kind, 1)


def upcast(
    data: Data,
    version: int,
    versions: Mapping[str, int] = VERSIONS,
    upcasters: Mapping[tuple[str, int], Step] = UPCASTERS,
) -> Data:
    """Raises UnknownEvent for a version that a newer build wrote, or that nobody can read any more."""
    kind = str(data.get("kind"))
    newest = versions.get(kind, 1)
    if version > newest:
        raise UnknownEvent(f"event {kind!r} is of version {version}, this build knows {newest}")
    for step in range(version, newest):
        if (kind, step) not in upcasters:
            raise UnknownEvent(f"event {kind!r} of version {step} can't be read any more")
        data = upcasters[kind, step](dict(data))
    return data
