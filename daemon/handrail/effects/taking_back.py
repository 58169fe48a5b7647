"""A step's own undo as a step of an undo that a person asked for: rehearsed, shown, approved and verified as any other.

The inverse is the step's own, computed from what the closed incident had remembered; nothing is written unless the
object is still as that run left it. Never takes back a taking back.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from handrail.model.reason import Reason, Refusal
from handrail.model.saga import RehearsedWrite, SagaStep
from handrail.model.step import (
    Bound,
    Candidate,
    CannotUndo,
    Done,
    Eyes,
    Risk,
    Rule,
    Sight,
    Step,
    Undone,
    Verdict,
    Verification,
    Wait,
)
from handrail.model.taking_back import PREFIX, takes_back
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.write import Write

NOT_AGAIN = "what is taken back is not put there again by itself; another try is asked anew"


class Inverse(Value):
    """`of` are the step's own; `after` says how that run left each object, by UID; `at` is when this was compiled."""

    of: dict[str, Any]
    before: Raw
    after: dict[str, str]
    at: datetime


class TakingBack:
    """`step` is the one whose undo this does."""

    Params = Inverse

    def __init__(self, step: Step) -> None:
        self._step = step
        self.name = f"{PREFIX}{step.name}"
        self.risk = step.risk if step.risk.always_asked else Risk.DISRUPTIVE
        self.kinds: frozenset[str] = step.kinds
        self.needs: tuple[Rule, ...] = step.needs
        self.admits: tuple[str, ...] = step.admits
        self.bounds: tuple[Bound, ...] = step.bounds
        self.way_back = NOT_AGAIN

    async def look(self, eyes: Eyes, target: ObjectRef) -> Sight | None:
        return await self._step.look(eyes, target)

    def propose(self, seen: Any) -> tuple[Candidate, ...]:
        return ()

    def check(self, seen: Any, p: Inverse) -> Refusal | None:
        following = self._undo(seen, p)
        if isinstance(following, CannotUndo):
            return Refusal(reason=Reason.CANNOT_UNDO, detail=following.detail)
        return None

    def remember(self, seen: Any, p: Inverse) -> Raw:
        return {}

    def writes(self, seen: Any, p: Inverse) -> tuple[Write, ...]:
        following = self._undo(seen, p)
        return (following,) if isinstance(following, Write) else ()

    def next(self, seen: Any, p: Inverse, before: Raw, now: datetime) -> Write | Wait | Done | Refusal:
        following = self._undo(seen, p)
        if isinstance(following, Write):
            return following
        if isinstance(following, Undone):
            return Done(detail=following.detail)
        return Refusal(reason=Reason.CANNOT_UNDO, detail=following.detail)

    def verify(self, seen: Any, p: Inverse, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        following = self._undo(seen, p)
        if isinstance(following, Undone):
            return Verification(verdict=Verdict.HEALED, detail=f"it is as it was before: {following.detail}")
        why = following.detail if isinstance(following, CannotUndo) else following.summary
        return Verification(verdict=Verdict.NO_EFFECT, detail=f"it is not as it was before: {why}")

    def undo(self, seen: Any, p: Inverse, before: Raw, now: datetime) -> CannotUndo:
        return CannotUndo(detail=NOT_AGAIN)

    def _undo(self, seen: Any, p: Inverse) -> Write | Undone | CannotUndo:
        return self._step.undo(seen, self._step.Params.model_validate(p.of), p.before, p.at)


def touched_since(step: SagaStep, rehearsed: RehearsedWrite) -> Refusal | None:
    """Somebody has changed the object since that run: it is not ours any more. What depends on another of these writes
    is held against what that one leaves."""
    if not takes_back(step.step) or not rehearsed.rehearsed:
        return None
    left = Inverse.model_validate(step.params).after.get(rehearsed.write.object.uid)
    if left and left == rehearsed.fingerprint:
        return None
    detail = f"somebody has changed {rehearsed.write.object} since that run; undo by hand what of it still stands"
    return Refusal(reason=Reason.CANNOT_UNDO, detail=detail)
