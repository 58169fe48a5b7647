"""What a saga would touch, in numbers that stand on the card. Pure; counts only what the API server reported."""

from __future__ import annotations

import math

from handrail.model.saga import Blast, SagaStep
from handrail.model.step import Risk
from handrail.model.workload import Workload


def blast(workload: Workload, steps: tuple[SagaStep, ...]) -> Blast:
    """`pods` is the most that may be replaced; `percent` of the ready ones at a time (maxUnavailable, rounded up)."""
    disruptive = any(step.risk in (Risk.DISRUPTIVE, Risk.DANGEROUS) for step in steps)
    pods = len(workload.pods) if disruptive else 0
    at_once = unavailable_at_once(workload) if disruptive else 0
    percent = math.ceil(100 * at_once / workload.ready) if workload.ready else (100 if disruptive else 0)
    notes = [f"{workload.ready} of {workload.desired} pods are ready now"]
    if disruptive:
        notes.append(_pace(at_once, percent))
    if workload.autoscalers:
        notes.append(f"scaled by {', '.join(workload.autoscalers)}")
    return Blast(pods=pods, ready=workload.ready, percent=min(100, percent), notes=tuple(notes))


def _pace(at_once: int, percent: int) -> str:
    if not at_once:
        return "no ready pod goes before its replacement is ready"
    return f"at most {at_once} ready at a time ({min(100, percent)} % of them)"


def unavailable_at_once(workload: Workload) -> int:
    """maxUnavailable of the rollout strategy in pods, rounded down; all of them for Recreate.

    The API's default is 25 % for a Deployment; StatefulSets and DaemonSets replace one pod after the other.
    """
    strategy = workload.spec.get("strategy") or workload.spec.get("updateStrategy") or {}
    if strategy.get("type") == "Recreate":
        return workload.desired
    default: int | str = "25%" if workload.object.get("kind") == "Deployment" else 1
    bound = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", default)
    if isinstance(bound, int):
        return bound
    return workload.desired * int(str(bound).rstrip("%") or 0) // 100
