"""Recorded windows: for each detector some in which it fires, some that are near misses, and some that lack data."""

from __future__ import annotations

from typing import NamedTuple

from handrail.model.detector import Window
from tests.detectors.things import (
    alert,
    awaited,
    bare_pod,
    condition,
    event,
    healthy,
    job,
    member,
    node,
    on_node,
    orders,
    scaler,
    thing,
    unready,
)
from tests.detectors.windows import DEADLINE, ago, crashing, ended, pod, rollout, running, state, unpullable, well

Windows = dict[str, Window]


class Recorded(NamedTuple):
    firing: Windows
    near: Windows
    missing: Windows


MOVED = condition("DisruptionTarget", reason="EvictionByEvictionAPI")
UNPLACED = condition("PodScheduled", "False", "Unschedulable")
REFUSED = condition("ReplicaFailure", "True", "FailedCreate", message='pods "x" is forbidden: exceeded quota: q, used')
SILENT = condition("Ready", "Unknown", "NodeStatusUnknown", lastHeartbeatTime=ago(minutes=30))
NOT_READY = condition("Ready", "False", "KubeletNotReady", lastHeartbeatTime=ago(minutes=1))
DISK = condition("DiskPressure", lastHeartbeatTime=ago(minutes=1))
TAINT = "node.kubernetes.io/unreachable"
LIMITED = condition("ScalingLimited", "True", "TooManyReplicas")
ACTIVE = condition("ScalingActive", "True", "ValidMetricFound")
BLIND = condition("ScalingActive", "False", "FailedGetResourceMetric")
PENDING = thing("PersistentVolumeClaim", "data", {"phase": "Pending"})
BOUND = thing("PersistentVolumeClaim", "data", {"phase": "Bound", "capacity": {"storage": "20Gi"}})
OOM = [{"name": "app", "resources": {"limits": {"memory": "128Mi"}}}]
FILLING = (alert("KubePersistentVolumeFillingUp", persistentvolumeclaim="data", namespace="shop"),)


def evicted(name: str) -> Window:
    found = orders(*healthy("0", "1", "2"), *(corpse(n) for n in ("a", "b", "c")), status={"readyReplicas": 3})
    return found.model_copy(update={"alerts": (alert("KubePodNotReady", pod=name, namespace="shop"),)})


def corpse(name: str) -> dict[str, object]:
    return member(1, name=name, phase="Failed", reason="Evicted", conditions=[{"type": "Ready", "status": "False"}])


def unrevised(window: Window) -> Window:
    workload = window.workload
    return window.model_copy(update={"workload": workload and workload.model_copy(update={"revisions": ()})})


def waiting_pod(**over: object) -> dict[str, object]:
    return member(2, name="2", phase="Pending", conditions=[{**UNPLACED, **over}])


def killed(**over: object) -> Window:
    end = {**ended(137, "OOMKilled"), **over}
    return orders(*healthy("0", "1"), member(1, state(running(), last=end, restarts=3), name="2", containers=OOM))


RECORDED: dict[str, Recorded] = {
    "named_alert": Recorded(
        firing={"known": Window(alerts=(alert("KubeDeploymentReplicasMismatch", deployment="checkout"),))},
        near={"nearly a name of the table": Window(alerts=(alert("KubeDeploymentReplicasMismatchX", deployment="c"),))},
        missing={"nothing": Window()},
    ),
    "workload_rollout": Recorded(
        firing={"crashes": rollout(pod(2, crashing())), "stuck": rollout(pod(2, unready()), conditions=(DEADLINE,))},
        near={"well": rollout(pod(2, well()))},
        missing={"nothing": Window(), "no pods": rollout()},
    ),
    "crash_loop": Recorded(
        firing={
            "newest revision": orders(*healthy("0", "1"), member(2, crashing(), name="2")),
            "all revisions": orders(member(1, crashing(), name="1"), member(2, crashing(), name="2")),
            "bare pod": bare_pod(crashing()),
            "events": Window(events=(event("BackOff", 5),)),
        },
        near={
            "rolling out": orders(*healthy("0", "1"), member(2, state(running(), last=ended(143), restarts=9))),
            "a Deployment": rollout(pod(2, crashing())),
            "somebody drains its node": orders(*healthy("0", "1"), member(2, crashing(), name="2", conditions=[MOVED])),
            "nobody knows how it ended": bare_pod(
                state(running(), last=ended(137, "ContainerStatusUnknown"), restarts=9)
            ),
            "one event": Window(events=(event("BackOff", 1),)),
            "old events": Window(events=(event("BackOff", 9, minutes=16),)),
            "seen to be well": bare_pod(well()).model_copy(update={"events": (event("BackOff", 9),)}),
        },
        missing={"nothing": Window(), "no statuses": orders(member(2)), "no events": Window(events=())},
    ),
    "image_pull": Recorded(
        firing={
            "newest revision": orders(*healthy("0", "1"), member(2, unpullable(), name="2")),
            "bare pod": bare_pod(unpullable("ErrImagePull")),
            "events": Window(events=(event("Failed", 3),)),
        },
        near={
            "creating": orders(*healthy("0", "1"), member(2, state({"waiting": {"reason": "ContainerCreating"}}))),
            "two events": Window(events=(event("Failed", 2),)),
        },
        missing={"nothing": Window(), "no statuses": orders(member(2))},
    ),
    "oom_killed": Recorded(
        firing={
            "killed": killed(),
            "named by the node": orders(
                member(1, state(running(), last=ended(137), restarts=1)),
                events=(event("OOMKilling", about="pod-0", container="app"),),
            ),
        },
        near={
            "137 alone": killed(reason="Error"),
            "a node's event of another container": orders(
                member(1, state(running(), last=ended(137), restarts=1)),
                events=(event("OOMKilling", about="pod-0", container="proxy"), event("SystemOOM", kind="Node")),
            ),
            "well since": orders(member(1, state(running(ago(minutes=11)), last=ended(137, "OOMKilled"), ready=True))),
        },
        missing={"nothing": Window(), "no last state": orders(member(1, state(running(), restarts=3)))},
    ),
    "rollout_stuck": Recorded(
        firing={
            "a StatefulSet": orders(*healthy("0", "1"), member(2, unready(), name="2")),
            "no older one ready": orders(member(2, unready(), name="2"), older=None),
            "paused half-way": rollout(pod(2, well()), paused=True),
        },
        near={
            "partition": orders(
                *healthy("0", "1"), member(2, unready(), name="2"), strategy={"rollingUpdate": {"partition": 2}}
            ),
            "OnDelete": orders(*healthy("0", "1"), member(2, unready(), name="2"), strategy={"type": "OnDelete"}),
            "just begun": orders(*healthy("0", "1"), member(2, unready(), name="2", since=ago(seconds=40))),
            "it crashes": orders(*healthy("0", "1"), member(2, crashing(), name="2")),
            "not yet observed": orders(
                *healthy("0", "1"), member(2, unready(), name="2"), status={"observedGeneration": 1}
            ),
        },
        missing={"nothing": Window(), "no revisions": unrevised(orders(member(2, unready())))},
    ),
    "unschedulable": Recorded(
        firing={
            "waits": orders(*healthy("0", "1"), waiting_pod()),
            "events": Window(events=(event("FailedScheduling", 2), event("FailedScheduling", 1, uid="other"))),
        },
        near={
            "gated": orders(waiting_pod(reason="SchedulingGated")),
            "just now": orders(waiting_pod(lastTransitionTime=ago(seconds=5))),
            "one event": Window(events=(event("FailedScheduling"),)),
        },
        missing={"nothing": Window(), "no time": orders(waiting_pod(lastTransitionTime=None))},
    ),
    "probe_failures": Recorded(
        firing={
            "one hangs": orders(*healthy("0", "2", revision=2), member(2, unready(), name="1")),
            "all": orders(*(member(2, unready(), name=n) for n in "012")),
            "events": Window(events=(event("Unhealthy", 10),)),
        },
        near={
            "a moment": orders(*healthy("0", "2", revision=2), member(2, unready(), name="1", since=ago(seconds=20))),
            "crashes": orders(*healthy("0", "2", revision=2), member(2, crashing(), name="1")),
            "some events": Window(events=(event("Unhealthy", 9),)),
        },
        missing={"nothing": Window(), "no conditions": orders(member(2, unready(), since=None))},
    ),
    "node_sick": Recorded(
        firing={
            "silent": on_node(node("node-1", SILENT, taints=(TAINT,))),
            "says so": on_node(node("node-1", NOT_READY), member(1, unready())),
            "pressure": on_node(node("node-1", condition("Ready"), DISK)),
            "events": Window(events=(event("EvictionThresholdMet", 3, kind="Node", name="node-1"),)),
        },
        near={
            "no second signal": on_node(node("node-1", NOT_READY)),
            "a moment": on_node(node("node-1", {**SILENT, "lastTransitionTime": ago(seconds=30)}, taints=(TAINT,))),
            "no heartbeat": on_node(node("node-1", condition("Ready"), condition("DiskPressure"))),
            "old heartbeat": on_node(
                node("node-1", condition("Ready"), {**DISK, "lastHeartbeatTime": ago(minutes=11)})
            ),
            "well": on_node(node()),
        },
        missing={"nothing": Window(), "no conditions": on_node({**node(), "status": {}})},
    ),
    "autoscaler": Recorded(
        firing={
            "at most": scaler(LIMITED, ACTIVE),
            "blind": scaler(BLIND),
            "events": Window(events=(event("FailedGetResourceMetric", 10, kind="HorizontalPodAutoscaler"),)),
        },
        near={
            "fixed size": scaler(LIMITED, ACTIVE, low=10),
            "at most just now": scaler({**LIMITED, "lastTransitionTime": ago(seconds=30)}, ACTIVE),
            "blind for seconds": scaler({**BLIND, "lastTransitionTime": ago(seconds=30)}),
            "too few": scaler(condition("ScalingLimited", "True", "TooFewReplicas"), ACTIVE),
        },
        missing={
            "nothing": Window(),
            "no conditions": scaler(),
            "no time": scaler({**LIMITED, "lastTransitionTime": ""}),
        },
    ),
    "volume_claim": Recorded(
        firing={
            "not provisioned": Window(object=PENDING, events=(event("ProvisioningFailed", name="data"),)),
            "lost": Window(object={**PENDING, "status": {"phase": "Lost"}}),
            "filling": Window(object=BOUND, alerts=FILLING),
            "events": Window(events=(event("VolumeResizeFailed", 3, kind="PersistentVolumeClaim"),)),
        },
        near={
            "waits for its first pod": Window(object=PENDING, events=(event("WaitForFirstConsumer", name="data"),)),
            "another alert": Window(object=BOUND, alerts=(alert("KubePodNotReady"),)),
        },
        missing={
            "nothing": Window(),
            "no events": Window(object=PENDING),
            "no status": Window(object={**BOUND, "status": {}}),
        },
    ),
    "job_failed": Recorded(
        firing={
            "failed": Window(object=job("report-29", "Failed", "BackoffLimitExceeded")),
            "a later run did well": Window(
                object=thing("CronJob", "report", {}),
                owned=(job("r-1", "Failed", "DeadlineExceeded", 9, "report"), job("r-2", "Complete", "", 1, "report")),
            ),
            "events": Window(events=(event("BackoffLimitExceeded", 2, kind="Job"),)),
        },
        near={
            "suspended": Window(object=job("report-29", "Suspended")),
            "another's run": Window(object=thing("CronJob", "report", {}), owned=(job("r-1", "Failed", "", 9, "x"),)),
            "one event": Window(events=(event("BackoffLimitExceeded", 1, kind="Job"),)),
        },
        missing={"nothing": Window(), "no conditions": Window(object=job("report-29"))},
    ),
    "evicted_corpses": Recorded(
        firing={"about one": evicted("orders-a"), "events": Window(events=(event("Evicted", 5),))},
        near={"about another": evicted("orders-0"), "one event": Window(events=(event("Evicted"),))},
        missing={"nothing": Window(), "no alert": evicted("x").model_copy(update={"alerts": ()})},
    ),
    "creation_blocked": Recorded(
        firing={
            "quota": orders(*healthy("0"), status={"conditions": [REFUSED]}),
            "by events": orders(*healthy("0"), events=(event("FailedCreate", 4, kind="StatefulSet", name="orders"),)),
            "quota object": Window(
                object=thing(
                    "ResourceQuota",
                    "q",
                    {
                        "hard": {"pods": "3", "cpu": "2"},
                        "used": {"pods": "3", "cpu": "900m"},
                    },
                )
            ),
            "events": Window(events=(event("FailedCreate", 3, kind="ReplicaSet"),)),
        },
        near={
            "none missing": orders(*healthy("0", "1", "2"), events=(event("FailedCreate", 4),)),
            "room left": Window(object=thing("ResourceQuota", "q", {"hard": {"pods": "3"}, "used": {"pods": "2"}})),
            "two events": Window(events=(event("FailedCreate", 2, kind="ReplicaSet"),)),
        },
        missing={
            "nothing": Window(),
            "no events": orders(*healthy("0")),
            "no numbers": Window(object=thing("ResourceQuota", "q", {"hard": {"pods": "?"}, "used": {"pods": "?"}})),
        },
    ),
    "expected_signal": Recorded(
        firing={"silent": Window(awaited=(awaited(20),)), "never seen": Window(awaited=(awaited(0, seen=False),))},
        near={
            "in time": Window(awaited=(awaited(14),)),
            "just started": Window(awaited=(awaited(500, since=14),)),
            "the watchdog": Window(awaited=(awaited(20, watchdog=True),)),
        },
        missing={"nothing": Window()},
    ),
    "watchdog_gone": Recorded(
        firing={"silent": Window(awaited=(awaited(16, watchdog=True),))},
        near={
            "in time": Window(awaited=(awaited(14, watchdog=True),)),
            "just started": Window(awaited=(awaited(500, watchdog=True, since=14),)),
            "another signal": Window(awaited=(awaited(20),)),
        },
        missing={"nothing": Window()},
    ),
    "control_plane_sick": Recorded(
        firing={
            "an alert": Window(alerts=(alert("KubeAPIDown"),)),
            "many nodes": on_node(node("node-1", SILENT), sick=1),
        },
        near={
            "a warning": Window(alerts=(alert("KubeAPIErrorBudgetBurn", "warning"),)),
            "a certificate": Window(alerts=(alert("KubeClientCertificateExpiration"),)),
            "one node": on_node(node("node-1", SILENT), others=1),
            "few of many": on_node(node("node-1", SILENT), others=9, sick=2),
        },
        missing={"nothing": Window(), "well": on_node(node())},
    ),
}
