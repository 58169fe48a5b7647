"""The compiled plan: ordered steps with fixed parameters, and what their rehearsal on the API server showed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from handrail.model.reason import Reason
from handrail.model.step import Risk
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value, digest
from handrail.model.write import Write


class SagaStep(Value):
    """`params` are complete and final: nothing is filled in later."""

    index: int
    step: str
    risk: Risk
    target: ObjectRef
    params: dict[str, Any]
    summary: str


class Saga(Value):
    incident: str
    round: int
    at: datetime
    steps: tuple[SagaStep, ...]

    @property
    def hash(self) -> str:
        return digest(self)


class RehearsedWrite(Value):
    """A write as the API server would carry it out. `diff` and `undo_diff` are unified diffs of normalised objects.

    `rehearsed` is False for a write that depends on an earlier one: it is bound by its body instead of a diff.
    """

    step: int
    write: Write
    fingerprint: str
    after: str
    diff: str
    undo_diff: str
    rehearsed: bool = True


class Blast(Value):
    """What the saga touches, in numbers: `pods` that may restart out of `ready` now, per-cent rounded up.

    `budgets`: how many pods each PodDisruptionBudget lets go now. `endpoints`: ready ones that each Service keeps.
    """

    pods: int
    ready: int
    percent: int
    budgets: dict[str, int] = {}
    endpoints: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class Rehearsal(Value):
    """What an approval binds: `hash` covers saga, UIDs, fingerprints and diffs (design 1.4)."""

    saga: Saga
    writes: tuple[RehearsedWrite, ...]
    blast: Blast

    @property
    def hash(self) -> str:
        return digest(
            {
                "saga": self.saga.hash,
                "writes": [w.model_dump(mode="json", exclude={"undo_diff"}) for w in self.writes],
            }
        )

    def of(self, step: int, write: Write) -> RehearsedWrite | None:
        """The rehearsed twin of a write by its key, which it must equal in every field."""
        return next((w for w in self.writes if w.step == step and w.write.key == write.key), None)


class Tried(Value):
    """A step of an earlier round that was carried out, and what came of it: `reason` is NO_EFFECT or WORSE."""

    round: int
    step: str
    target: ObjectRef
    params: dict[str, Any]
    summary: str
    reason: Reason
    detail: str
    taken_back: bool

    def __str__(self) -> str:
        back = "; taken back" if self.taken_back else ""
        return f"round {self.round}: {self.summary}: {self.reason}: {self.detail}{back}"


class StepRun(Value):
    """The folded run of one step: what was remembered before it, and whether it has been done."""

    index: int
    before: Raw
    done: bool = False
