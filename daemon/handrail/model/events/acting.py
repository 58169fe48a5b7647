"""What was done: intents before, outcomes after, verdicts, undo."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from handrail.model.reason import Reason
from handrail.model.severity import Severity
from handrail.model.step import Verdict
from handrail.model.value import Raw, Value
from handrail.model.write import Direction, Write


class StepBegun(Value):
    """`before` is what `remember` made, recorded before the step's first write."""

    kind: Literal["step_begun"] = "step_begun"
    step: int
    before: Raw


class Intent(Value):
    """Committed by the gate's transaction before the write is sent. `resource_version` is the one it will name."""

    kind: Literal["intent"] = "intent"
    step: int
    direction: Direction
    write: Write
    expected: str
    resource_version: str


class Attempted(Value):
    """A further attempt after a conflict (three at most), gated again, before it is sent (state rule 4)."""

    kind: Literal["attempted"] = "attempted"
    key: str
    resource_version: str


class Result(StrEnum):
    """`done`: applied. `absent`: surely not applied. `refused`: the server said no. `stuck`: nobody can tell."""

    DONE = "done"
    ABSENT = "absent"
    REFUSED = "refused"
    STUCK = "stuck"

    def gives_way_to(self, later: Result) -> bool:
        """The first one stays; but that nobody can tell gives way to the word of who knows that it was applied."""
        return self is Result.STUCK and later is Result.DONE


class Outcome(Value):
    """Appended unfenced and once per key and attempt. `after` is the object's fingerprint when done."""

    kind: Literal["outcome"] = "outcome"
    key: str
    result: Result
    resource_version: str = ""
    after: str = ""
    reason: Reason | None = None
    detail: str = ""


class StepDone(Value):
    kind: Literal["step_done"] = "step_done"
    step: int
    detail: str = ""


class StepFailed(Value):
    kind: Literal["step_failed"] = "step_failed"
    step: int
    reason: Reason
    detail: str


class Acted(Value):
    """Every step of the saga is done; verification begins."""

    kind: Literal["acted"] = "acted"


class Verified(Value):
    kind: Literal["verified"] = "verified"
    verdict: Verdict
    severity: Severity
    detail: str


class StepUndone(Value):
    kind: Literal["step_undone"] = "step_undone"
    step: int
    detail: str = ""


class Undone(Value):
    kind: Literal["undone"] = "undone"
