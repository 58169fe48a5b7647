"""The contract of a remediation step: everything pure but `look`.

A step chooses; Hands alone writes. A step never holds a client: `look` gets the eyes, which can only read.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel

from handrail.model.autoscaler import Autoscaler
from handrail.model.node import Node
from handrail.model.reason import Refusal
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload
from handrail.model.write import Write


class Risk(StrEnum):
    """Ordered: safe < reversible < disruptive < dangerous. From `disruptive` on a person is always asked."""

    SAFE = "safe"
    REVERSIBLE = "reversible"
    DISRUPTIVE = "disruptive"
    DANGEROUS = "dangerous"

    @property
    def always_asked(self) -> bool:
        """The floor in code that no policy can lower."""
        return self in (Risk.DISRUPTIVE, Risk.DANGEROUS)


class Rule(Value):
    """One RBAC rule that a step needs, beside the deed.

    A resource that is the plural of one of the step's kinds is needed for that kind alone. `kinds` says the same of
    other resources, such as pods; empty means whatever the step acts on.
    """

    api_group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    kinds: tuple[str, ...] = ()


class Bound(Value):
    """What the API server itself holds a number to, whoever asks: both ends included, and at most `times` the old one.

    `pointer` is one of the step's `admits`; `times` 0 means any multiple.
    """

    pointer: str
    least: int
    most: int
    times: int = 0


class Eyes(Protocol):
    """Reads only. Raises Transient when the API server is away; None or () means it said there is none."""

    async def get(self, ref: ObjectRef) -> Raw | None: ...

    async def workload(self, ref: ObjectRef) -> Workload | None: ...

    async def node(self, ref: ObjectRef) -> Node | None: ...

    async def autoscaler(self, ref: ObjectRef) -> Autoscaler | None: ...

    async def list(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> tuple[Raw, ...]:
        """All objects of a kind, with apiVersion and kind set. More than can be read is an error, never a part."""
        ...


Thing = Workload | Node | Autoscaler
"""What a step is about: each has `ref`, `object` and `observed_at`."""


class Sight(Protocol):
    """What every `look` gives: the thing itself, and in subclasses of Seen and its like what else was seen."""

    @property
    def thing(self) -> Thing: ...


class Seen(Value):
    """A workload as it is. A step that needs more of its surroundings subclasses it."""

    workload: Workload

    @property
    def thing(self) -> Workload:
        return self.workload


class SeenPods(Seen):
    """With what else decides about its pods: the budgets of the namespace, and the nodes that its pods are on."""

    budgets: tuple[Raw, ...]
    nodes: tuple[Raw, ...]


class SeenNode(Value):
    node: Node

    @property
    def thing(self) -> Node:
        return self.node


class SeenAutoscaler(Value):
    autoscaler: Autoscaler

    @property
    def thing(self) -> Autoscaler:
        return self.autoscaler


class Candidate(Value):
    """A step with parameters that `check` has passed, to be offered in the menu.

    `ranges` are integers the planner may choose within, both ends included; everything else is fixed.
    """

    params: dict[str, Any]
    ranges: dict[str, tuple[int, int]] = {}
    summary: str


class Wait(Value):
    """Nothing to do before the world has moved on; look again, at the latest `until`."""

    until: datetime
    why: str


class Done(Value):
    """The step has nothing left to write."""

    detail: str = ""


class Undone(Value):
    detail: str = ""


class CannotUndo(Value):
    detail: str


class Verdict(StrEnum):
    HEALED = "healed"
    NOT_YET = "not_yet"
    NO_EFFECT = "no_effect"
    WORSE = "worse"


class Verification(Value):
    """`until` is set with NOT_YET: when patience ends."""

    verdict: Verdict
    detail: str
    until: datetime | None = None


class Step(Protocol):
    """One object of this shape, called `step`, in each file of remediations/.

    `Params` are bounded, extra forbidden; times written to objects are parameters fixed at compile time, so that
    the same Write comes out of rehearsal and of acting. `before` is plain JSON that `remember` made.
    """

    @property
    def name(self) -> str: ...

    @property
    def risk(self) -> Risk: ...

    @property
    def kinds(self) -> frozenset[str]: ...

    @property
    def Params(self) -> type[BaseModel]: ...  # noqa: N802 -- a class is what the attribute holds

    @property
    def needs(self) -> tuple[Rule, ...]: ...

    @property
    def admits(self) -> tuple[str, ...]:
        """JSON pointers of the fields that its writes may change, for the admission policy."""
        ...

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Bounds of the numbers among them, for the same."""
        ...

    @property
    def way_back(self) -> str:
        """How it is undone, in one sentence for people; that it can't be, where it can't."""
        ...

    async def look(self, eyes: Eyes, target: ObjectRef) -> Sight | None: ...

    def propose(self, seen: Any) -> tuple[Candidate, ...]: ...

    def check(self, seen: Any, p: Any) -> Refusal | None: ...

    def remember(self, seen: Any, p: Any) -> Raw: ...

    def writes(self, seen: Any, p: Any) -> tuple[Write, ...]: ...

    def next(self, seen: Any, p: Any, before: Raw, now: datetime) -> Write | Wait | Done | Refusal: ...

    def verify(self, seen: Any, p: Any, before: Raw, acted_at: datetime, now: datetime) -> Verification: ...

    def undo(self, seen: Any, p: Any, before: Raw, now: datetime) -> Write | Undone | CannotUndo: ...
