"""Objects as an API server sends them, cut to what counts, and eyes that see only these."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from handrail.adapters.kubernetes.paths import KINDS
from handrail.model.alert import Alert
from handrail.model.autoscaler import Autoscaler
from handrail.model.errors import Permanent, Transient
from handrail.model.node import Node
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import HASH_LABEL, REVISION, Workload, owned_by

Objects = list[Raw]
NOW = datetime(2026, 11, 29, 15, 0, tzinfo=UTC)


def raw(kind: str, name: str, uid: str = "", owner: Raw | None = None, **parts: Any) -> Raw:
    """An object of the namespace `shop`; `owner` controls it."""
    row = KINDS.get(kind)
    meta: Raw = {"name": name, "uid": uid or f"uid-{kind}-{name}", "resourceVersion": "7"}
    if row is None or row.namespaced:
        meta["namespace"] = "shop"
    if owner is not None:
        meta["ownerReferences"] = [reference(owner)]
    meta.update(parts.pop("metadata", {}))
    return {"apiVersion": row.api_version if row else "example.org/v1", "kind": kind, "metadata": meta, **parts}


def reference(owner: Raw, *, controller: bool = True) -> Raw:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": controller,
    }


def deployment(image: str = "shop/checkout:v2", **spec: Any) -> Raw:
    return raw(
        "Deployment",
        "checkout",
        spec={
            "replicas": 3,
            "selector": {"matchLabels": {"app": "checkout"}},
            "template": template(image),
            **spec,
        },
        status={"observedGeneration": 2, "replicas": 4, "readyReplicas": 2, "updatedReplicas": 1},
    )


def template(image: str = "shop/checkout:v2", **container: Any) -> Raw:
    return {
        "metadata": {"labels": {"app": "checkout"}},
        "spec": {"containers": [{"name": "checkout", "image": image, **container}]},
    }


def replica_set(owner: Raw, revision: int, of: Raw, ready: int = 0) -> Raw:
    body = {**of, "metadata": {"labels": {**of["metadata"]["labels"], HASH_LABEL: f"h{revision}"}}}
    return raw(
        "ReplicaSet",
        f"checkout-h{revision}",
        owner=owner,
        metadata={"annotations": {REVISION: str(revision)}, "creationTimestamp": f"2026-11-29T1{revision}:00:00Z"},
        spec={"replicas": max(ready, 1), "template": body},
        status={"readyReplicas": ready},
    )


def pod(owner: Raw | None, number: int, *, ready: bool = True, restarts: int = 0, **state: Any) -> Raw:
    now = state or {"running": {"startedAt": "2026-11-29T14:00:00Z"}}
    status: Raw = {
        "name": "checkout",
        "ready": ready,
        "restartCount": restarts,
        "state": now,
        "containerID": "containerd://1",
    }
    if restarts:
        ended = {"reason": "Error", "exitCode": 1, "finishedAt": "2026-11-29T14:59:00Z", "message": "boom token=abc123"}
        status["lastState"] = {"terminated": ended}
    name = f"{owner['metadata']['name'] if owner else 'bare'}-{number}"
    return raw(
        "Pod",
        name,
        owner=owner,
        spec={"nodeName": "node-1", "containers": [{"name": "checkout", "image": "shop/checkout:v2"}]},
        status={
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False", "reason": "ContainersNotReady"}],
            "containerStatuses": [status],
        },
    )


def event(about: Raw, reason: str, message: str, last: str, count: int = 1, kind: str = "Warning") -> Raw:
    meta = about["metadata"]
    return raw(
        "Event",
        f"{meta['name']}.{reason}.{last}",
        type=kind,
        reason=reason,
        message=message,
        count=count,
        lastTimestamp=last,
        involvedObject={"kind": about["kind"], "name": meta["name"], "uid": meta["uid"]},
    )


def alert(**labels: str) -> Alert:
    return Alert(
        name="KubeDeploymentReplicasMismatch",
        status="firing",
        labels={"namespace": "shop", "deployment": "checkout", **labels},
        annotations={"summary": "checkout is short of replicas"},
        starts_at=NOW,
        seen_at=NOW,
        wire="alertmanager",
    )


class KnownObjects:
    """Eyes over a fixed set of objects. `away` and `denied` name what then raises: get, workload, events, logs."""

    def __init__(self, *known: Raw, logs: dict[tuple[str, bool], str] | None = None) -> None:
        self.known = list(known)
        self.logs_of = logs or {}
        self.away: set[str] = set()
        self.denied: set[str] = set()

    async def get(self, ref: ObjectRef) -> Raw | None:
        self._reach("get")
        return next((one for one in self.known if self._is(one, ref)), None)

    async def workload(self, ref: ObjectRef) -> Workload | None:
        self._reach("workload")
        found = next((one for one in self.known if self._is(one, ref)), None)
        if found is None:
            return None
        sets = self._owned("ReplicaSet", (found,)) if ref.kind == "Deployment" else ()
        return Workload(object=found, replica_sets=sets, pods=self._owned("Pod", (found, *sets)), observed_at=NOW)

    async def node(self, ref: ObjectRef) -> Node | None:
        self._reach("node")
        found = next((one for one in self.known if self._is(one, ref)), None)
        if found is None:
            return None
        pods = tuple(pod for pod in self._of("Pod") if (pod.get("spec") or {}).get("nodeName") == ref.name)
        return Node(object=found, pods=pods, observed_at=NOW)

    async def autoscaler(self, ref: ObjectRef) -> Autoscaler | None:
        self._reach("autoscaler")
        found = next((one for one in self.known if self._is(one, ref)), None)
        return Autoscaler(object=found, observed_at=NOW) if found else None

    async def list(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> tuple[Raw, ...]:
        self._reach("list")
        return tuple(self._of(kind))

    async def events(self, namespace: str, uid: str) -> tuple[Raw, ...]:
        self._reach("events")
        return tuple(e for e in self._of("Event") if e["involvedObject"]["uid"] == uid)

    async def logs(self, pod: ObjectRef, container: str, *, previous: bool = False) -> str | None:
        self._reach("logs")
        return self.logs_of.get((pod.name, previous))

    def _reach(self, what: str) -> None:
        if what in self.away:
            raise Transient(f"{what}: connection refused")
        if what in self.denied:
            raise Permanent(f"{what}: forbidden")

    def _of(self, kind: str) -> Objects:
        return [one for one in self.known if one["kind"] == kind]

    def _owned(self, kind: str, owners: tuple[Raw, ...]) -> tuple[Raw, ...]:
        uids = [owner["metadata"]["uid"] for owner in owners]
        return tuple(one for one in self._of(kind) if any(owned_by(one, uid) for uid in uids))

    @staticmethod
    def _is(one: Raw, ref: ObjectRef) -> bool:
        mine = ObjectRef.of(one)
        return (mine.api_version, mine.kind, mine.namespace, mine.name) == (
            ref.api_version,
            ref.kind,
            ref.namespace,
            ref.name,
        )
