"""Things as the eyes record them, for the detectors of all kinds: small builders in the API server's own words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from handrail.model.alert import Alert
from handrail.model.autoscaler import Autoscaler
from handrail.model.detector import Awaited, Window
from handrail.model.node import Node
from handrail.model.occurrence import Occurrence
from handrail.model.target import LabelledTarget
from handrail.model.value import Raw
from handrail.model.workload import Workload
from tests.detectors.windows import NOW, ago, running, state, template, well

UID = "s1111111-0000-4000-8000-000000000001"


def member(revision: int, *states: Raw, name: str = "0", kind: str = "StatefulSet", **over: Any) -> Raw:
    """A pod of a StatefulSet's or DaemonSet's revision; ready where all its containers are."""
    ready = bool(states) and all(one.get("ready") for one in states)
    since = over.pop("since", ago(minutes=20))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"orders-{name}",
            "namespace": "shop",
            "uid": f"pod-{name}",
            "labels": {"controller-revision-hash": f"orders-{revision}"},
            "ownerReferences": [{"kind": kind, "name": "orders", "uid": UID, "controller": True}],
        },
        "spec": {"nodeName": over.pop("node", f"node-{name}"), "containers": over.pop("containers", [])},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": since}],
            "containerStatuses": list(states),
            **over,
        },
    }


def revision(number: int, spec: Raw) -> Raw:
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "revision": number,
        "metadata": {
            "name": f"orders-{number}",
            "namespace": "shop",
            "creationTimestamp": ago(days=30 - number),
            "labels": {"controller-revision-hash": f"orders-{number}"},
        },
        "data": {"spec": {"template": {**spec, "$patch": "replace"}}},
    }


V1, V2 = template("registry.example/orders:1"), template("registry.example/orders:2")


def orders(*pods: Raw, kind: str = "StatefulSet", newest: Raw = V2, older: Raw | None = V1, **over: Any) -> Window:
    """StatefulSet shop/orders that wants three pods: revision 1 (`older`), then revision 2 (`newest`)."""
    ready = sum(pod["status"]["conditions"][0]["status"] == "True" for pod in pods)
    updated = sum(pod["metadata"]["labels"]["controller-revision-hash"] == "orders-2" for pod in pods)
    counts = {"replicas": len(pods), "readyReplicas": ready, "updatedReplicas": updated}
    if kind == "DaemonSet":
        counts = {"desiredNumberScheduled": 3, "numberReady": ready, "updatedNumberScheduled": updated}
    workload = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "orders", "namespace": "shop", "uid": UID, "generation": 2},
        "spec": {"replicas": 3, "template": newest, "updateStrategy": over.pop("strategy", {})},
        "status": {"observedGeneration": 2, **counts, **over.pop("status", {})},
    }
    revisions = (*((revision(1, older),) if older else ()), revision(2, newest))
    return Window(workload=Workload(object=workload, revisions=revisions, pods=pods, observed_at=NOW), **over)


def bare_pod(*states: Raw) -> Window:
    pod = member(1, *states)
    del pod["metadata"]["ownerReferences"]
    return Window(object=pod)


def unready(minutes: float = 20, started: str = "") -> Raw:
    """A container that runs and is not ready."""
    return state(running(started or ago(hours=3)))


def healthy(*names: str, revision: int = 1) -> tuple[Raw, ...]:
    return tuple(member(revision, well(), name=name) for name in names)


def event(reason: str, times: int = 1, *, kind: str = "Pod", name: str = "orders-0", **over: Any) -> Occurrence:
    namespace = "" if kind == "Node" else "shop"
    target = LabelledTarget(
        kind=kind, namespace=namespace, name=name, uid=over.get("about", ""), container=over.get("container", "")
    )
    at = NOW - timedelta(minutes=over.get("minutes", 1))
    return Occurrence(reason=reason, target=target, uid=over.get("uid", f"{reason}-{name}"), times=times, seen_at=at)


def condition(kind: str, status: str = "True", reason: str = "", **over: Any) -> Raw:
    since = over.pop("since", ago(minutes=20))
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": since, **over}


def node(name: str = "node-1", *conditions: Raw, taints: tuple[str, ...] = (), **spec: Any) -> Raw:
    ready = condition("Ready", "True", "KubeletReady", lastHeartbeatTime=ago(minutes=2))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", **spec.pop("metadata", {})},
        "spec": {"taints": [{"key": key, "effect": "NoExecute"} for key in taints], **spec},
        "status": {"conditions": list(conditions or (ready,))},
    }


def on_node(raw: Raw, *pods: Raw, others: int = 4, sick: int = 0, **over: Any) -> Window:
    silent = condition("Ready", "Unknown", "NodeStatusUnknown", lastHeartbeatTime=ago(minutes=30))
    around = [node(f"other-{n}", *((silent,) if n < sick else ())) for n in range(others)]
    return Window(node=Node(object=raw, pods=pods, others=tuple(around), observed_at=NOW), **over)


def scaler(*conditions: Raw, low: int = 2, high: int = 10, pods: tuple[Raw, ...] | None = None) -> Window:
    raw = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "orders", "namespace": "shop", "uid": "uid-hpa"},
        "spec": {"minReplicas": low, "maxReplicas": high},
        "status": {"currentReplicas": 10, "desiredReplicas": 10, "conditions": list(conditions)},
    }
    workload = orders(*healthy("0", "1", "2") if pods is None else pods).workload
    return Window(autoscaler=Autoscaler(object=raw, workload=workload, observed_at=NOW))


def thing(kind: str, name: str, status: Raw, **over: Any) -> Raw:
    meta = {"name": name, "namespace": "shop", "uid": f"uid-{name}", **over.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": over, "status": status}


def job(name: str, kind: str = "", reason: str = "", hours: float = 1, cron: str = "") -> Raw:
    owner = {"ownerReferences": [{"kind": "CronJob", "name": cron, "uid": f"uid-{cron}", "controller": True}]}
    conditions = [condition(kind, reason=reason)] if kind else []
    status = {"startTime": ago(hours=hours), "failed": 7 if kind == "Failed" else 0, "conditions": conditions}
    return thing("Job", name, status, metadata=owner if cron else {})


def awaited(silent: float, *, watchdog: bool = False, since: float = 1000, seen: bool = True) -> Awaited:
    """Minutes; it may be silent for 15."""
    return Awaited(
        name="Watchdog" if watchdog else "NightlyBackupDone",
        within=timedelta(minutes=15),
        since=NOW - timedelta(minutes=since),
        last_seen=NOW - timedelta(minutes=silent) if seen else None,
        shows_alerting=watchdog,
    )


def alert(name: str, severity: str = "critical", status: str = "firing", **labels: str) -> Alert:
    said = {"name": name, "status": status, "labels": {"alertname": name, **labels}, "severity": severity}
    return Alert.model_validate({**said, "seen_at": NOW, "wire": "test"})
