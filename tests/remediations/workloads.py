"""Workloads as an API server sends them, cut to the fields that count: the worlds in which steps are judged."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from handrail.model.autoscaler import Autoscaler
from handrail.model.marks import CORDONED_AT
from handrail.model.node import Node
from handrail.model.value import Raw
from handrail.model.workload import HASH_LABEL, REVISION, Workload

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=3)


def text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def template(image: str = "shop/checkout:1.0", **spec: Any) -> Raw:
    container = {"name": "app", "image": image, "resources": {}, "imagePullPolicy": "IfNotPresent"}
    return {
        "metadata": {"labels": {"app": "checkout"}},
        "spec": {"containers": [container], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", **spec},
    }


def owned(kind: str, name: str, uid: str) -> list[Raw]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


def replica_set(revision: int, of: Raw, ready: int = 0, replicas: int | None = None, history: str = "") -> Raw:
    tag = f"h{revision}"
    body = copy.deepcopy(of)
    body["metadata"]["labels"][HASH_LABEL] = tag
    notes = {REVISION: str(revision)}
    if history:
        notes["deployment.kubernetes.io/revision-history"] = history
    count = ready if replicas is None else replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "namespace": "shop",
            "name": f"checkout-{tag}",
            "uid": f"rs-{revision}",
            "annotations": notes,
            "ownerReferences": owned("Deployment", "checkout", "dep-1"),
        },
        "spec": {"replicas": count, "template": body},
        "status": {"replicas": count, "readyReplicas": ready} if ready else {"replicas": count},
    }


def pod(number: int, owner: Raw, *, ready: bool = True, since: datetime = LONG_AGO, waiting: str = "") -> Raw:
    meta = owner["metadata"]
    state: Raw = {"waiting": {"reason": waiting}} if waiting else {"running": {"startedAt": text(since)}}
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": text(since)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": "shop",
            "name": f"{meta['name']}-{number}",
            "uid": f"pod-{meta['uid']}-{number}",
            "labels": {"app": "checkout"},
            "ownerReferences": owned(owner["kind"], meta["name"], meta["uid"]),
        },
        "spec": {},
        "status": {
            "phase": "Running",
            "conditions": [condition],
            "containerStatuses": [{"name": "app", "ready": ready, "restartCount": 0, "state": state}],
        },
    }


def thing(kind: str, of: Raw, replicas: int, status: Raw, **spec: Any) -> Raw:
    counted = {} if kind == "DaemonSet" else {"replicas": replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {
            "namespace": "shop",
            "name": "checkout",
            "uid": "dep-1",
            "resourceVersion": "100",
            "generation": 2,
            "labels": {"app": "checkout"},
            "annotations": {},
        },
        "spec": {**counted, "selector": {"matchLabels": {"app": "checkout"}}, "template": copy.deepcopy(of), **spec},
        "status": {"observedGeneration": 2, **status},
    }


def counted(total: int, updated: int, ready: int) -> Raw:
    return {"replicas": total, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": ready}


def bad_rollout() -> Workload:
    """Three replicas; revision 2 crashes, revision 1 still serves with two pods."""
    old, new = template(), template("shop/checkout:1.1-broken", serviceAccountName="checkout")
    one, two = replica_set(1, old, ready=2), replica_set(2, new, ready=0, replicas=2)
    two["metadata"]["creationTimestamp"] = text(NOW - timedelta(minutes=5))
    pods = [pod(1, one), pod(2, one)]
    pods += [pod(n, two, ready=False, since=NOW, waiting="CrashLoopBackOff") for n in (3, 4)]
    live = thing("Deployment", new, 3, counted(4, 2, 2), progressDeadlineSeconds=120)
    return Workload(object=live, replica_sets=(one, two), pods=tuple(pods), observed_at=NOW)


def undone(since: datetime) -> Workload:
    """The same after its undo has rolled out: the old ReplicaSet has become revision 3 and serves with all pods."""
    old, new = template(), template("shop/checkout:1.1-broken", serviceAccountName="checkout")
    one, two = replica_set(3, old, ready=3, history="1"), replica_set(2, new, ready=0)
    one["metadata"]["uid"] = "rs-1"
    live = thing("Deployment", old, 3, counted(3, 3, 3), progressDeadlineSeconds=120)
    pods = (pod(1, one), pod(2, one), pod(3, one, since=since))
    return Workload(object=live, replica_sets=(one, two), pods=pods, observed_at=NOW)


def steady(kind: str = "Deployment", replicas: int = 3, ready: int | None = None, **spec: Any) -> Workload:
    """A workload that has rolled out long ago; `ready` of its pods are."""
    up = replicas if ready is None else ready
    if kind == "DaemonSet":
        names = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled")
        status = {**dict.fromkeys(names, replicas), "numberReady": up, "numberAvailable": up}
    else:
        status = counted(replicas, replicas, up)
    live = thing(kind, template(), replicas, status, **spec)
    sets = (replica_set(1, template(), ready=up, replicas=replicas),) if kind == "Deployment" else ()
    pods = tuple(pod(n, sets[0] if sets else live, ready=n <= up) for n in range(1, replicas + 1))
    return Workload(object=live, replica_sets=sets, pods=pods, observed_at=NOW)


def deadlocked(kind: str = "Deployment", *, since: datetime = LONG_AGO) -> Workload:
    """Five pods of one revision; the fifth hangs since then, the others serve."""
    w = steady(kind, replicas=5, ready=4)
    hung = copy.deepcopy(w.pods[4])
    hung["status"]["conditions"][0]["lastTransitionTime"] = text(since)
    return changed(w, pods=(*w.pods[:4], hung))


def strewn(corpses: int) -> Workload:
    """Three pods that serve, and what is listed still of those that were evicted, the oldest first, with the condition
    that a kubelet leaves on what it evicts (Kubernetes 1.26)."""
    w = steady()
    found = []
    for number in range(corpses):
        one = pod(100 + number, w.replica_sets[0], ready=False)
        made = text(LONG_AGO + timedelta(minutes=number))
        one["metadata"].update(uid=f"corpse-{number}", creationTimestamp=made)
        told = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
        moved = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
        one["status"] = {**told, "conditions": [moved]}
        found.append(one)
    return changed(w, pods=(*w.pods, *found))


def with_pod(workload: Workload, number: int, **parts: Any) -> Workload:
    """Pod `number` (from 1) with other spec, status or metadata; what is not named stays."""
    found = list(workload.pods)
    one = copy.deepcopy(found[number - 1])
    for part, values in parts.items():
        one[part].update(values)
    found[number - 1] = one
    return changed(workload, pods=tuple(found))


def budget(allowed: int, name: str = "checkout", **spec: Any) -> Raw:
    """A budget over the pods of checkout; four of five are healthy, as many as are needed."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "shop", "name": name, "uid": f"pdb-{name}"},
        "spec": {"selector": {"matchLabels": {"app": "checkout"}}, **spec},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 4, "desiredHealthy": 4 - allowed},
    }


def node(name: str, *, ready: bool = True, since: datetime = LONG_AGO, **spec: Any) -> Raw:
    condition = {"type": "Ready", "status": "True" if ready else "Unknown", "lastTransitionTime": text(since)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "annotations": {}, "labels": {}},
        "spec": spec,
        "status": {"conditions": [condition]},
    }


def revision(number: int, of: Raw, kind: str, *, at: datetime = LONG_AGO) -> Raw:
    """A ControllerRevision as the controllers write it: a patch of the template, its hash as a label."""
    labels = {"controller-revision-hash": f"h{number}"} if kind == "DaemonSet" else {"app": "checkout"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "namespace": "shop",
            "name": f"checkout-h{number}",
            "uid": f"cr-{number}",
            "labels": labels,
            "creationTimestamp": text(at + timedelta(minutes=number)),
            "ownerReferences": owned(kind, "checkout", "dep-1"),
        },
        "revision": number,
        "data": {"spec": {"template": {**copy.deepcopy(of), "$patch": "replace"}}},
    }


def bad_revision(kind: str) -> Workload:
    """Three pods of a StatefulSet or DaemonSet; the third is on revision 2 and can't pull its image."""
    old, new = template(), template("shop/checkout:1.1-missing")
    w = steady(kind, ready=2)
    live = copy.deepcopy(w.object)
    live["spec"]["template"] = new
    label = "h" if kind == "DaemonSet" else "checkout-h"
    found = [pod(n, live, ready=n < 3, waiting="" if n < 3 else "ImagePullBackOff") for n in (1, 2, 3)]
    for one, number in zip(found, (1, 1, 2), strict=True):
        one["metadata"]["labels"] = {"app": "checkout", "controller-revision-hash": f"{label}{number}"}
    kept = (revision(1, old, kind), revision(2, new, kind))
    return changed(w, object=live, revisions=kept, pods=tuple(found))


def sick_node(**spec: Any) -> Node:
    """One node of five that nobody has heard of for long."""
    others = tuple(node(f"node-{n}") for n in range(2, 6))
    on_it = tuple(with_pod(steady(), 1, spec={"nodeName": "node-1"}).pods[:1])
    return Node(object=node("node-1", ready=False, **spec), pods=on_it, others=others, observed_at=NOW)


def our_cordon() -> Node:
    """One node of five, well again, that Handrail has cordoned."""
    live = node("node-1", unschedulable=True)
    live["metadata"]["annotations"] = {CORDONED_AT: text(LONG_AGO)}
    mine: Raw = {"f:spec": {"f:unschedulable": {}}, "f:metadata": {"f:annotations": {}}}
    live["metadata"]["managedFields"] = [{"manager": "handrail", "operation": "Update", "fieldsV1": mine}]
    return sick_node().model_copy(update={"object": live})


def limited(most: int = 5, **conditions: Raw) -> Autoscaler:
    """An autoscaler that wants more than it may; its Deployment has rolled out with all its replicas."""
    told = {
        "ScalingActive": {"status": "True", "reason": "ValidMetricFound"},
        "ScalingLimited": {"status": "True", "reason": "TooManyReplicas"},
        **conditions,
    }
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout"}
    live = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"namespace": "shop", "name": "checkout", "uid": "hpa-1", "labels": {}, "annotations": {}},
        "spec": {"minReplicas": 2, "maxReplicas": most, "scaleTargetRef": scaled},
        "status": {
            "currentReplicas": most,
            "desiredReplicas": most,
            "conditions": [{"type": kind, **one} for kind, one in told.items()],
        },
    }
    w = changed(steady(replicas=most), autoscalers=("checkout",))
    return Autoscaler(object=live, workload=w, observed_at=NOW)


def paused_by(manager: str = "deploy-bot", *, at: datetime = LONG_AGO) -> Workload:
    """A Deployment that stands still in the middle of its rollout: one new pod runs well, two are old."""
    old, new = template(), template("shop/checkout:1.1")
    one, two = replica_set(1, old, ready=2), replica_set(2, new, ready=1)
    live = thing("Deployment", new, 3, counted(3, 1, 3), paused=True)
    entry = {"manager": manager, "operation": "Update", "time": text(at), "fieldsV1": {"f:spec": {"f:paused": {}}}}
    live["metadata"]["managedFields"] = [entry]
    return Workload(object=live, replica_sets=(one, two), pods=(pod(1, one), pod(2, one), pod(3, two)), observed_at=NOW)


def changed(workload: Workload, **update: Any) -> Workload:
    return workload.model_copy(update=update)


def with_meta(workload: Workload, **meta: Any) -> Workload:
    live = copy.deepcopy(workload.object)
    live["metadata"].update(meta)
    return changed(workload, object=live)


def with_spec(workload: Workload, **spec: Any) -> Workload:
    live = copy.deepcopy(workload.object)
    live["spec"].update(spec)
    return changed(workload, object=live)


def with_status(workload: Workload, **status: Any) -> Workload:
    live = copy.deepcopy(workload.object)
    live["status"].update(status)
    return changed(workload, object=live)
