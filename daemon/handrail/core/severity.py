"""How bad is it, before and after: pure measures over a workload. Decides nothing about what to do."""

from __future__ import annotations

from handrail.model.rollout import counts
from handrail.model.severity import Severity
from handrail.model.workload import Workload


def measure(workload: Workload) -> Severity:
    """Pods that should be ready and pods that are, by the API server's status."""
    return Severity(desired=workload.desired, ready=workload.ready)


def healthy(workload: Workload) -> bool:
    """All wanted pods are ready, on the newest template, and nothing is still rolling (observed by the controller)."""
    now = counts(workload)
    observed = int(workload.status.get("observedGeneration") or 0) >= workload.generation
    return observed and min(now.updated, now.ready) >= now.desired and not workload.paused
