"""Scale a workload: gives a Deployment or StatefulSet more replicas, within double of what it has.

Decides whether and how far scaling is safe. It never fights an autoscaler, never scales to nothing, and never
undoes a number that somebody has set since. The example to copy for a step of your own.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from handrail.model import rollout
from handrail.model.guards import autoscaled, being_deleted, managed
from handrail.model.reason import Reason, Refusal
from handrail.model.step import (
    Bound,
    Candidate,
    CannotUndo,
    Done,
    Eyes,
    Risk,
    Rule,
    Seen,
    Undone,
    Verdict,
    Verification,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload
from handrail.model.write import Verb, Write

MOST = 100
"""Replicas that this step never goes above, whatever the workload has."""


class ScaleWorkload:
    """Reversible: pods that run are left alone, and the old number can be set again."""

    name = "scale_workload"
    risk = Risk.REVERSIBLE
    kinds = frozenset({"Deployment", "StatefulSet"})
    needs = (Rule(api_group="apps", resources=("deployments", "statefulsets"), verbs=("patch",)),)
    admits = ("/spec/replicas",)
    bounds = (Bound(pointer="/spec/replicas", least=1, most=MOST, times=2),)
    way_back = "the old number of replicas is set again"

    class Params(Value):
        replicas: int = Field(ge=0, le=MOST)

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        return Seen(workload=workload) if workload else None

    def why_not(self, seen: Seen) -> Refusal | None:
        """What stands against scaling it at all, whatever the number."""
        w = seen.workload
        return being_deleted(w) or managed(w) or autoscaled(w) or _full(w)

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        """Up only, and the planner chooses how far: scaling down mends nothing that an alert complains of."""
        if self.why_not(seen):
            return ()
        w = seen.workload
        low, high = w.desired + 1, _most(w)
        summary = f"scale {w.ref} up from {w.desired} to at least {low}, at most {high} replicas"
        return (Candidate(params={}, ranges={"replicas": (low, high)}, summary=summary),)

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        w = seen.workload
        return being_deleted(w) or managed(w) or autoscaled(w) or _no_change(w, p.replicas) or _bounds(w, p.replicas)

    def remember(self, seen: Seen, p: Params) -> Raw:
        return {"replicas": seen.workload.desired, "ready": seen.workload.ready}

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        return (_set(seen.workload, p.replicas),)

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        """Done is asked first: after a crash this may be called again with the write already there."""
        if seen.workload.desired == p.replicas:
            return Done(detail=f"it has {p.replicas} replicas")
        return self.check(seen, p) or _set(seen.workload, p.replicas)

    def verify(self, seen: Seen, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        w = seen.workload
        if w.desired != p.replicas:
            detail = f"somebody has set {w.desired} replicas since we set {p.replicas}"
            return Verification(verdict=Verdict.NO_EFFECT, detail=detail)
        return rollout.outcome(w, rollout.unwell(w, acted_at, now), before["ready"], acted_at, now)

    def undo(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        w = seen.workload
        if w.desired == before["replicas"]:
            return Undone(detail=f"it has {w.desired} replicas, as before")
        if w.desired != p.replicas:
            return CannotUndo(detail=f"somebody has set {w.desired} replicas since; theirs stays")
        in_the_way = being_deleted(w) or managed(w) or autoscaled(w)
        return CannotUndo(detail=in_the_way.detail) if in_the_way else _set(w, before["replicas"])


def _most(w: Workload) -> int:
    return min(2 * max(w.desired, 1), MOST)


def _full(w: Workload) -> Refusal | None:
    if w.desired >= _most(w):
        return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=f"{w.ref} has {w.desired} replicas; more than {MOST} never")
    return None


def _no_change(w: Workload, replicas: int) -> Refusal | None:
    if replicas == w.desired:
        return Refusal(reason=Reason.NO_CHANGE, detail=f"{w.ref} has {replicas} replicas already")
    return None


def _bounds(w: Workload, replicas: int) -> Refusal | None:
    if not 1 <= replicas <= _most(w):
        detail = f"{w.ref} has {w.desired} replicas; {replicas} is not between 1 and {_most(w)}, double of them"
        return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=detail)
    return None


def _set(w: Workload, replicas: int) -> Write:
    """On the workload itself: its `/scale` subresource would drop the key that says whose write it was."""
    return Write(
        verb=Verb.PATCH,
        object=w.ref,
        ops=({"op": "add", "path": "/spec/replicas", "value": replicas},),
        sets_replicas=True,
        summary=f"scale {w.ref} from {w.desired} to {replicas} replicas",
    )


step = ScaleWorkload()
