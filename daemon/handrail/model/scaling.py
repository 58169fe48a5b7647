"""Guards over an autoscaler: may its bounds be changed, and has it what it wants? Pure; each says why not, or None.

Never decides how far: the step and the policy do.
"""

from __future__ import annotations

from handrail.model.autoscaler import KEDA, Autoscaler
from handrail.model.guards import being_deleted, managed
from handrail.model.reason import Reason, Refusal
from handrail.model.selector import labels_of

MOST = 100
"""Replicas that no autoscaler is ever let go above, whatever a policy says."""


def held(a: Autoscaler) -> Refusal | None:
    if KEDA in labels_of(a.object):
        return Refusal(reason=Reason.OPERATOR_MANAGED, detail=f"KEDA made {a.ref}; change its ScaledObject instead")
    return being_deleted(a) or managed(a)


def blind(a: Autoscaler) -> Refusal | None:
    """Without numbers, or beside a second autoscaler, what it wants says nothing; at 0 replicas it is switched off."""
    active = a.condition("ScalingActive")
    if active.get("status") != "True" or a.workload is None or len(a.workload.autoscalers) != 1:
        detail = f"what {a.ref} wants can't be relied on: ScalingActive says {active.get('reason', 'nothing')}"
        return Refusal(reason=Reason.METRICS_AWAY, detail=detail)
    return None


def no_need(a: Autoscaler) -> Refusal | None:
    if not a.at_most:
        return Refusal(reason=Reason.NO_CHANGE, detail=f"{a.ref} does not want more than its {a.high} replicas")
    if a.high >= MOST:
        return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=f"{a.ref} may have {a.high}, as many as it ever may")
    if any((pod.get("status") or {}).get("phase") == "Pending" for pod in (a.workload.pods if a.workload else ())):
        return Refusal(reason=Reason.NO_ROOM, detail=f"pods that {a.ref} scales wait for a node; more would wait too")
    return None


def unsettled(a: Autoscaler) -> str:
    if a.at_most:
        return f"{a.ref} wants more than {a.high} replicas still"
    settled = a.workload is not None and a.current == a.wanted == a.workload.ready == a.workload.desired
    return "" if settled else f"{a.ref} has {a.current} of the {a.wanted} replicas that it wants, not all ready"


def ready(a: Autoscaler) -> int:
    return a.workload.ready if a.workload else 0
