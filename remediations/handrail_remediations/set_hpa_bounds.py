"""Set an autoscaler's bounds: lets it have more replicas where it wants more than it may, and keep more of them.

Decides whether and how far. Neither bound above double, the lower never above the old upper one; never where its
metrics are away, where pods find no room already, or where KEDA or another owner sets the bounds. How many are too many
is the policy's to say (`limits`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import Field

from handrail.model import rollout, scaling
from handrail.model.autoscaler import Autoscaler
from handrail.model.reason import Reason, Refusal
from handrail.model.scaling import MOST
from handrail.model.step import (
    Bound,
    Candidate,
    CannotUndo,
    Done,
    Eyes,
    Risk,
    Rule,
    SeenAutoscaler,
    Undone,
    Verdict,
    Verification,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.write import Verb, Write

PATIENCE = timedelta(minutes=10)


class SetHpaBounds:
    """Reversible: the autoscaler decides within the bounds, and the old ones can be set again."""

    name = "set_hpa_bounds"
    risk = Risk.REVERSIBLE
    kinds = frozenset({"HorizontalPodAutoscaler"})
    needs = (Rule(api_group="autoscaling", resources=("horizontalpodautoscalers",), verbs=("patch",)),)
    admits = ("/spec/maxReplicas", "/spec/minReplicas")
    bounds = tuple(Bound(pointer=pointer, least=1, most=MOST, times=2) for pointer in admits)
    way_back = "the old bounds are set again"

    class Params(Value):
        """Without `min_replicas` the lower bound stays."""

        max_replicas: int = Field(ge=1, le=MOST)
        min_replicas: int | None = Field(default=None, ge=1, le=MOST)

    async def look(self, eyes: Eyes, target: ObjectRef) -> SeenAutoscaler | None:
        found = await eyes.autoscaler(target)
        return SeenAutoscaler(autoscaler=found) if found else None

    def why_not(self, seen: SeenAutoscaler) -> Refusal | None:
        return scaling.held(seen.autoscaler) or scaling.blind(seen.autoscaler) or scaling.no_need(seen.autoscaler)

    def propose(self, seen: SeenAutoscaler) -> tuple[Candidate, ...]:
        if self.why_not(seen):
            return ()
        a, most, keep = seen.autoscaler, min(2 * seen.autoscaler.high, MOST), _keep(seen.autoscaler)
        summary, upper = f"let {a.ref} have more than {a.high} replicas, at most {most}", (a.high + 1, most)
        more = Candidate(params={}, ranges={"max_replicas": upper}, summary=summary)
        both = {"max_replicas": upper, "min_replicas": (a.low + 1, keep)}
        kept = Candidate(params={}, ranges=both, summary=f"{summary}, and keep more than {a.low}, at most {keep}")
        return (more, kept) if keep > a.low else (more,)

    def check(self, seen: SeenAutoscaler, p: Params) -> Refusal | None:
        a = seen.autoscaler
        if p.max_replicas == a.high:
            return Refusal(reason=Reason.NO_CHANGE, detail=f"{a.ref} may have {a.high} replicas already")
        if not a.high < p.max_replicas <= min(2 * a.high, MOST):
            detail = f"{a.ref} may have {a.high} replicas; {p.max_replicas} is not above, within double and {MOST}"
            return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=detail)
        if p.min_replicas is not None and not a.low <= p.min_replicas <= _keep(a):
            detail = f"{a.ref} keeps {a.low} replicas; {p.min_replicas} is not above, within double and {a.high}"
            return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=detail)
        return self.why_not(seen)

    def remember(self, seen: SeenAutoscaler, p: Params) -> Raw:
        return {"min": seen.autoscaler.low, "max": seen.autoscaler.high, "ready": scaling.ready(seen.autoscaler)}

    def writes(self, seen: SeenAutoscaler, p: Params) -> tuple[Write, ...]:
        return (_set(seen.autoscaler, _wanted(p, seen.autoscaler.low)),)

    def next(self, seen: SeenAutoscaler, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        if _now(seen.autoscaler) == _wanted(p, seen.autoscaler.low):
            return Done(detail=f"{seen.autoscaler.ref} may have {p.max_replicas} replicas")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: SeenAutoscaler, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        a, until = seen.autoscaler, acted_at + PATIENCE
        if _now(a) != _wanted(p, _old(a, before)[0]):
            return Verification(verdict=Verdict.NO_EFFECT, detail=f"somebody has set {a.low} to {a.high} since")
        missing = scaling.unsettled(a)
        if not missing and now - acted_at >= rollout.SETTLE:
            return Verification(verdict=Verdict.HEALED, detail=f"{a.ref} has the {a.wanted} replicas that it wants")
        if now < until:
            return Verification(verdict=Verdict.NOT_YET, detail=missing or "settling", until=until)
        verdict = Verdict.WORSE if scaling.ready(a) < before["ready"] else Verdict.NO_EFFECT
        return Verification(verdict=verdict, detail=missing or "never settled")

    def undo(self, seen: SeenAutoscaler, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        a, old = seen.autoscaler, _old(seen.autoscaler, before)
        if _now(a) == old:
            return Undone(detail=f"it may have {a.high} replicas, as before")
        if _now(a) != _wanted(p, old[0]):
            return CannotUndo(detail=f"somebody has set {a.low} to {a.high} since; theirs stays")
        return CannotUndo(detail=no.detail) if (no := scaling.held(a)) else _set(a, old)


Bounds = tuple[int, int]
"""The least and the most replicas."""


def _now(a: Autoscaler) -> Bounds:
    return a.low, a.high


def _wanted(p: SetHpaBounds.Params, low: int) -> Bounds:
    return low if p.min_replicas is None else p.min_replicas, p.max_replicas


def _old(a: Autoscaler, before: Raw) -> Bounds:
    """What was remembered; the first build remembered the upper bound alone."""
    return before.get("min", a.low), before["max"]


def _keep(a: Autoscaler) -> int:
    """As many as it may keep: what it may have now, for it wants more."""
    return min(2 * a.low, a.high)


def _set(a: Autoscaler, to: Bounds) -> Write:
    least, most = to
    lower: tuple[Raw, ...] = ({"op": "add", "path": "/spec/minReplicas", "value": least},) if least != a.low else ()
    ops = ({"op": "replace", "path": "/spec/maxReplicas", "value": most}, *lower)
    kept = f" and keep {least}, not {a.low}" if lower else ""
    return Write(
        verb=Verb.PATCH, object=a.ref, ops=ops, summary=f"let {a.ref} have {most} replicas, not {a.high}{kept}"
    )


step = SetHpaBounds()
