"""What a person asked to have taken back: the steps of a closed incident's last run, as its journal tells them."""

from __future__ import annotations

from typing import Any

from handrail.model.step import Risk
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value

PREFIX = "undo:"
"""Before the name of a step whose undo is the step: such a one is never on a menu and in no policy."""


class TakeBack(Value):
    """One step that wrote something and was not taken back. `before` is what its undo needs; `after` holds the
    fingerprint of each object as our last write left it, by UID."""

    step: str
    risk: Risk
    target: ObjectRef
    params: dict[str, Any]
    summary: str
    before: Raw
    after: dict[str, str]


def base_of(step: str) -> str:
    """The name that policy, rights and stops know."""
    return step.removeprefix(PREFIX)


def takes_back(step: str) -> bool:
    return step.startswith(PREFIX)
