"""Placing pods on nodes: the ready, uncordoned node with the fewest pods.

It decides `spec.nodeName` of a new pod by nodeSelector and cordon alone; it weighs no resources, taints or affinity.
"""

from datetime import datetime

from ..events import Recorder
from ..kinds import NODE, POD
from ..objects import Obj, at, clone, is_terminating, is_true, labels_of, name_of, namespace_of, stamp
from ..registry import Registry

_EVENTS = Recorder("default-scheduler")


def step(registry: Registry, now: datetime) -> datetime | None:
    """Place what waits for a node."""
    for pod in registry.store.all(POD):
        if not at(pod, "spec", "nodeName") and not is_terminating(pod):
            _place(registry, pod, now)
    return None


def _place(registry: Registry, pod: Obj, now: datetime) -> None:
    load = [at(other, "spec", "nodeName") for other in registry.store.all(POD)]
    nodes = [node for node in registry.store.all(NODE) if _takes(node, pod)]
    placed = clone(pod)
    if not nodes:
        message = f"0/{len(registry.store.all(NODE))} nodes are available."
        _note(placed, "False", now, reason="Unschedulable", message=message)
        if placed["status"] != pod["status"]:
            registry.store.put(POD, placed)
            _EVENTS.warning(registry, pod, "FailedScheduling", message)
        return
    node = min(nodes, key=lambda n: (load.count(name_of(n)), name_of(n)))
    placed["spec"]["nodeName"] = name_of(node)
    _note(placed, "True", now)
    registry.store.put(POD, placed)
    where = f"{namespace_of(pod)}/{name_of(pod)} to {name_of(node)}"
    _EVENTS.normal(registry, pod, "Scheduled", f"Successfully assigned {where}")


def _takes(node: Obj, pod: Obj) -> bool:
    wanted = at(pod, "spec", "nodeSelector", default={})
    if at(node, "spec", "unschedulable") or not is_true(node, "Ready"):
        return False
    return all(labels_of(node).get(key) == value for key, value in wanted.items())


def _note(pod: Obj, status: str, now: datetime, **why: str) -> None:
    conditions = pod["status"].setdefault("conditions", [])
    before = next((c for c in conditions if c["type"] == "PodScheduled"), None)
    if before and before["status"] == status:
        return
    found = {"type": "PodScheduled", "status": status, "lastTransitionTime": stamp(now), "lastProbeTime": None}
    pod["status"]["conditions"] = [c for c in conditions if c is not before] + [found | why]
