"""Parameters that nobody chooses: times that a step writes to objects, fixed once, when a plan is compiled.

Were such a time read while acting, each dry run would show another diff, and no approval could bind it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel


class FixedByCompile:
    """Marks a field of a step's Params; neither menu nor planner sees it."""


CompileTime = Annotated[AwareDatetime, FixedByCompile()]


def stamp(at: datetime) -> str:
    """A compile time as it is written to objects (RFC 3339, UTC, whole seconds)."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def fill(params: type[BaseModel], given: dict[str, Any], now: datetime) -> dict[str, Any]:
    """`given` with every marked field set to `now`, in UTC and whole seconds; whatever was given for one is dropped."""
    at = now.astimezone(UTC).replace(microsecond=0)
    marked = [
        name
        for name, field in params.model_fields.items()
        if any(isinstance(mark, FixedByCompile) for mark in field.metadata)
    ]
    return {**given, **dict.fromkeys(marked, at)}
