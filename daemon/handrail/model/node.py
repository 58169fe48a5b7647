"""A node as the eyes saw it: the object, the pods on it, and the other nodes of the cluster. Decides nothing."""

from __future__ import annotations

from datetime import datetime

from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value, moment
from handrail.model.workload import pod_is_ready

PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
"""Conditions of the kubelet's that are bad news when they are True."""

OTHERS_MARKS = {
    "ToBeDeletedByClusterAutoscaler": "the cluster autoscaler",
    "DeletionCandidateOfClusterAutoscaler": "the cluster autoscaler",
    "karpenter.sh/disrupted": "Karpenter",
    "karpenter.sh/disruption": "Karpenter",
    "aws-node-termination-handler/spot-itn": "the node termination handler",
    "aws-node-termination-handler/scheduled-maintenance": "the node termination handler",
    "node.kubernetes.io/out-of-service": "a person who declared it out of service",
    "weave.works/kured-node-lock": "kured",
    "weave.works/kured-reboot-in-progress": "kured",
    "kured.dev/reboot-needed": "kured",
}
"""Taints and annotations by which others say that they are working on a node."""


class Node(Value):
    """`pods` are those bound to it, corpses included; `others` are all nodes of the cluster but this one."""

    object: Raw
    pods: tuple[Raw, ...] = ()
    others: tuple[Raw, ...] = ()
    observed_at: datetime

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef.of(self.object)

    @property
    def cordoned(self) -> bool:
        return is_cordoned(self.object)

    @property
    def sickness(self) -> str:
        """What its kubelet, or the lack of word from it, says is wrong; "" for a node that is well."""
        return sickness_of(self.object)

    @property
    def sick_since(self) -> datetime | None:
        """Since when the sickness is there, by the API server; None where it does not say, or there is none."""
        names = ("Ready", *PRESSURES)
        sick = [condition(self.object, name) for name in names if _is_bad(self.object, name)]
        return min((at for one in sick if (at := moment(one.get("lastTransitionTime")))), default=None)

    @property
    def used_by(self) -> str:
        """Who else is working on it by their own marks; "" for nobody."""
        return used_by(self.object)


def used_by(node: Raw) -> str:
    meta, taints = node["metadata"], (node.get("spec") or {}).get("taints") or ()
    marks = {*(meta.get("annotations") or {}), *(str(taint.get("key")) for taint in taints)}
    return next((who for mark, who in OTHERS_MARKS.items() if mark in marks), "")


def condition(node: Raw, kind: str) -> Raw:
    found = (node.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == kind), {})


def is_cordoned(node: Raw) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def sickness_of(node: Raw) -> str:
    """Typed words only: condition, status and nothing that somebody wrote."""
    bad = [name for name in ("Ready", *PRESSURES) if _is_bad(node, name)]
    return ", ".join(f"{name} is {condition(node, name).get('status') or 'not reported'}" for name in bad)


def is_usable(node: Raw) -> bool:
    """Takes new pods: ready, and nobody has cordoned it."""
    return condition(node, "Ready").get("status") == "True" and not is_cordoned(node)


def ready_pods(node: Node) -> tuple[Raw, ...]:
    return tuple(pod for pod in node.pods if pod_is_ready(pod))


def _is_bad(node: Raw, name: str) -> bool:
    status = condition(node, name).get("status")
    return status != "True" if name == "Ready" else status == "True"
