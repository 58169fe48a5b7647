"""The closed list of what may be chosen for one incident. Built by code; a planner can name nothing else."""

from __future__ import annotations

from typing import Any

from handrail.model.step import Risk
from handrail.model.target import ObjectRef
from handrail.model.value import Value


class Option(Value):
    """One offer: `params` are fixed by code, `ranges` are the integers the planner may choose within."""

    id: str
    step: str
    risk: Risk
    target: ObjectRef
    params: dict[str, Any]
    ranges: dict[str, tuple[int, int]] = {}
    summary: str


class NotOffered(Value):
    """A step that was considered and refused, with the reason: people and the planner see both."""

    step: str
    reason: str
    detail: str


class Menu(Value):
    options: tuple[Option, ...]
    not_offered: tuple[NotOffered, ...] = ()

    def option(self, id_: str) -> Option | None:
        return next((option for option in self.options if option.id == id_), None)
