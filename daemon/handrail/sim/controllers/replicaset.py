"""ReplicaSets: as many pods as wanted, made from the template, the least useful deleted first.

It decides which pods are made and deleted, and sums up readiness. It never looks at Deployments.
"""

from datetime import datetime, timedelta

from ..deletes import Deletion, delete
from ..events import Recorder
from ..kinds import POD, REPLICA_SET
from ..objects import (
    Obj,
    annotations_of,
    at,
    clone,
    condition_of,
    controlled_by,
    is_terminating,
    is_true,
    labels_of,
    meta,
    moment,
    name_of,
    namespace_of,
    owned_metadata,
)
from ..registry import CONTROLLER_STATUS, Registry
from . import soonest

_EVENTS = Recorder("replicaset-controller")
_LONG_AGO = "1970-01-01T00:00:00Z"
_BATCH = 500  # of one call, as the real one has it
_PHASES = ("Pending", "Unknown", "Running")


def step(registry: Registry, now: datetime) -> datetime | None:
    """Bring every ReplicaSet to its number of pods and note how they are."""
    return soonest(*(_sync(registry, rs, now) for rs in registry.store.all(REPLICA_SET)))


def _sync(registry: Registry, replica_set: Obj, now: datetime) -> datetime | None:
    pods = controlled_by(replica_set, registry.store.all(POD, namespace_of(replica_set)))
    live = [pod for pod in pods if _is_live(pod)]
    if not is_terminating(replica_set):
        wanted = int(replica_set["spec"]["replicas"])
        for _ in range(min(wanted - len(live), _BATCH)):
            _make(registry, replica_set)
        for pod in sorted(live, key=_usefulness)[: max(len(live) - wanted, 0)]:
            _delete(registry, replica_set, pod)
    return _write_status(registry, replica_set, now)


def _is_live(pod: Obj) -> bool:
    return not is_terminating(pod) and at(pod, "status", "phase") not in ("Succeeded", "Failed")


def _make(registry: Registry, replica_set: Obj) -> None:
    template = clone(replica_set["spec"]["template"])
    metadata = owned_metadata(replica_set) | {
        "generateName": f"{name_of(replica_set)}-",
        "labels": labels_of(template),
    }
    if annotations_of(template):
        metadata["annotations"] = annotations_of(template)
    body = {"metadata": metadata, "spec": template["spec"]}
    pod = registry.create(POD, namespace_of(replica_set), body)
    _EVENTS.normal(registry, replica_set, "SuccessfulCreate", f"Created pod: {name_of(pod)}")


def _delete(registry: Registry, replica_set: Obj, pod: Obj) -> None:
    delete(registry, POD, pod, Deletion())
    _EVENTS.normal(registry, replica_set, "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")


def _usefulness(pod: Obj) -> tuple[bool, int, bool, float, int, float, str]:
    """The pod with the smallest one goes first: unplaced, not running, not ready, ready for the shortest time,
    restarted most, youngest."""
    ready = is_true(pod, "Ready")
    restarts = sum(int(s["restartCount"]) for s in at(pod, "status", "containerStatuses", default=[]))
    return (
        bool(at(pod, "spec", "nodeName")),
        _PHASES.index(at(pod, "status", "phase", default="Unknown")),
        ready,
        -_since(pod) if ready else 0.0,
        -restarts,
        -moment(meta(pod)["creationTimestamp"]).timestamp(),
        name_of(pod),
    )


def _since(pod: Obj) -> float:
    condition = condition_of(pod, "Ready")
    return moment(condition.get("lastTransitionTime", _LONG_AGO)).timestamp() if condition else 0.0


def _write_status(registry: Registry, replica_set: Obj, now: datetime) -> datetime | None:
    replica_set = registry.get(REPLICA_SET, namespace_of(replica_set), name_of(replica_set))
    pods = controlled_by(replica_set, registry.store.all(POD, namespace_of(replica_set)))
    live = [pod for pod in pods if _is_live(pod)]
    ready = [pod for pod in live if is_true(pod, "Ready")]
    patience = timedelta(seconds=int(replica_set["spec"].get("minReadySeconds", 0)))
    due = [datetime.fromtimestamp(_since(pod), now.tzinfo) + patience for pod in ready]
    counts = {
        "replicas": len(live),
        "fullyLabeledReplicas": len(live),
        "readyReplicas": len(ready),
        "availableReplicas": sum(1 for time in due if time <= now),
    }
    status = {key: count for key, count in counts.items() if count or key == "replicas"}
    status |= {
        "terminatingReplicas": sum(1 for pod in pods if is_terminating(pod)),
        "observedGeneration": meta(replica_set)["generation"],
    }

    def edit(obj: Obj) -> None:
        obj["status"] = status

    registry.change(REPLICA_SET, replica_set, edit, CONTROLLER_STATUS)
    return soonest(*(time for time in due if time > now))
