"""Set an autoscaler's bounds: lets it have more replicas where it wants more than it may.

Decides whether and how far. Never above double, never where its metrics are away, where pods find no room already, or
where KEDA or another owner sets the bounds. How many are too many is the policy's to say (`limits`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import Field

from handrail.model import rollout
from handrail.model.autoscaler import KEDA, Autoscaler
from handrail.model.guards import being_deleted, managed
from handrail.model.reason import Reason, Refusal
from handrail.model.selector import labels_of
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

MOST = 100
"""Replicas that this step never lets an autoscaler go above, whatever a policy says."""

PATIENCE = timedelta(minutes=10)


class SetHpaBounds:
    """Reversible: the autoscaler decides within the bounds, and the old ones can be set again."""

    name = "set_hpa_bounds"
    risk = Risk.REVERSIBLE
    kinds = frozenset({"HorizontalPodAutoscaler"})
    needs = (Rule(api_group="autoscaling", resources=("horizontalpodautoscalers",), verbs=("patch",)),)
    admits = ("/spec/maxReplicas",)
    bounds = (Bound(pointer="/spec/maxReplicas", least=1, most=MOST, times=2),)
    way_back = "the old bound is set again"

    class Params(Value):
        max_replicas: int = Field(ge=1, le=MOST)

    async def look(self, eyes: Eyes, target: ObjectRef) -> SeenAutoscaler | None:
        found = await eyes.autoscaler(target)
        return SeenAutoscaler(autoscaler=found) if found else None

    def why_not(self, seen: SeenAutoscaler) -> Refusal | None:
        return _held(seen.autoscaler) or _blind(seen.autoscaler) or _no_need(seen.autoscaler)

    def propose(self, seen: SeenAutoscaler) -> tuple[Candidate, ...]:
        if self.why_not(seen):
            return ()
        a, high = seen.autoscaler, min(2 * seen.autoscaler.high, MOST)
        summary = f"let {a.ref} have more than {a.high} replicas, at most {high}"
        return (Candidate(params={}, ranges={"max_replicas": (a.high + 1, high)}, summary=summary),)

    def check(self, seen: SeenAutoscaler, p: Params) -> Refusal | None:
        a = seen.autoscaler
        if p.max_replicas == a.high:
            return Refusal(reason=Reason.NO_CHANGE, detail=f"{a.ref} may have {a.high} replicas already")
        if not a.high < p.max_replicas <= min(2 * a.high, MOST):
            detail = f"{a.ref} may have {a.high} replicas; {p.max_replicas} is not above, within double and {MOST}"
            return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=detail)
        return self.why_not(seen)

    def remember(self, seen: SeenAutoscaler, p: Params) -> Raw:
        return {"max": seen.autoscaler.high, "ready": _ready(seen.autoscaler)}

    def writes(self, seen: SeenAutoscaler, p: Params) -> tuple[Write, ...]:
        return (_set(seen.autoscaler, p.max_replicas),)

    def next(self, seen: SeenAutoscaler, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        if seen.autoscaler.high == p.max_replicas:
            return Done(detail=f"{seen.autoscaler.ref} may have {p.max_replicas} replicas")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: SeenAutoscaler, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        a, until = seen.autoscaler, acted_at + PATIENCE
        if a.high != p.max_replicas:
            return Verification(verdict=Verdict.NO_EFFECT, detail=f"somebody has set {a.high} since")
        missing = _unsettled(a)
        if not missing and now - acted_at >= rollout.SETTLE:
            return Verification(verdict=Verdict.HEALED, detail=f"{a.ref} has the {a.wanted} replicas that it wants")
        if now < until:
            return Verification(verdict=Verdict.NOT_YET, detail=missing or "settling", until=until)
        verdict = Verdict.WORSE if _ready(a) < before["ready"] else Verdict.NO_EFFECT
        return Verification(verdict=verdict, detail=missing or "never settled")

    def undo(self, seen: SeenAutoscaler, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        a = seen.autoscaler
        if a.high == before["max"]:
            return Undone(detail=f"it may have {a.high} replicas, as before")
        if a.high != p.max_replicas:
            return CannotUndo(detail=f"somebody has set {a.high} since; theirs stays")
        return CannotUndo(detail=no.detail) if (no := _held(a)) else _set(a, before["max"])


def _held(a: Autoscaler) -> Refusal | None:
    if KEDA in labels_of(a.object):
        return Refusal(reason=Reason.OPERATOR_MANAGED, detail=f"KEDA made {a.ref}; change its ScaledObject instead")
    return being_deleted(a) or managed(a)


def _blind(a: Autoscaler) -> Refusal | None:
    """Without numbers, or beside a second autoscaler, what it wants says nothing; at 0 replicas it is switched off."""
    active = a.condition("ScalingActive")
    if active.get("status") != "True" or a.workload is None or len(a.workload.autoscalers) != 1:
        detail = f"what {a.ref} wants can't be relied on: ScalingActive says {active.get('reason', 'nothing')}"
        return Refusal(reason=Reason.METRICS_AWAY, detail=detail)
    return None


def _no_need(a: Autoscaler) -> Refusal | None:
    if not a.at_most:
        return Refusal(reason=Reason.NO_CHANGE, detail=f"{a.ref} does not want more than its {a.high} replicas")
    if a.high >= MOST:
        return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=f"{a.ref} may have {a.high}, as many as it ever may")
    if any((pod.get("status") or {}).get("phase") == "Pending" for pod in (a.workload.pods if a.workload else ())):
        return Refusal(reason=Reason.NO_ROOM, detail=f"pods that {a.ref} scales wait for a node; more would wait too")
    return None


def _unsettled(a: Autoscaler) -> str:
    if a.at_most:
        return f"{a.ref} wants more than {a.high} replicas still"
    settled = a.workload is not None and a.current == a.wanted == a.workload.ready == a.workload.desired
    return "" if settled else f"{a.ref} has {a.current} of the {a.wanted} replicas that it wants, not all ready"


def _ready(a: Autoscaler) -> int:
    return a.workload.ready if a.workload else 0


def _set(a: Autoscaler, most: int) -> Write:
    ops = ({"op": "replace", "path": "/spec/maxReplicas", "value": most},)
    return Write(verb=Verb.PATCH, object=a.ref, ops=ops, summary=f"let {a.ref} have {most} replicas, not {a.high}")


step = SetHpaBounds()
