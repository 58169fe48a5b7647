"""How bad is it, before and after: pure measures over what was seen. Decides nothing about what to do."""

from __future__ import annotations

from handrail.model.autoscaler import Autoscaler
from handrail.model.node import Node, ready_pods
from handrail.model.rollout import counts, live
from handrail.model.severity import Severity
from handrail.model.step import Thing
from handrail.model.workload import Workload


def measure(thing: Thing) -> Severity:
    """Pods that should be ready and pods that are, by the API server's status.

    A node counts the pods on it that still count, an autoscaler those of what it scales.
    """
    if isinstance(thing, Node):
        return Severity(desired=len(live(thing.pods)), ready=len(ready_pods(thing)))
    workload = thing.workload if isinstance(thing, Autoscaler) else thing
    return Severity(desired=workload.desired, ready=workload.ready) if workload else Severity(desired=0, ready=0)


def healthy(thing: Thing) -> bool:
    """Nothing is wrong with it now, by what the API server says: missing data is not health."""
    if isinstance(thing, Node):
        return not thing.sickness and not thing.cordoned
    if isinstance(thing, Autoscaler):
        active = thing.condition("ScalingActive").get("status") == "True"
        return active and not thing.at_most and thing.workload is not None and _rolled_out(thing.workload)
    return _rolled_out(thing)


def _rolled_out(workload: Workload) -> bool:
    """All wanted pods are ready, on the newest template, and nothing is still rolling (observed by the controller)."""
    now = counts(workload)
    observed = int(workload.status.get("observedGeneration") or 0) >= workload.generation
    return observed and min(now.updated, now.ready) >= now.desired and not workload.paused
