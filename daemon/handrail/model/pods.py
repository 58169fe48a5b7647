"""Guards over single pods of a workload: may this very pod go? Pure; each says why not, or None.

A pod goes only where a controller makes another one, nothing is lost with it, and others serve meanwhile. Never
decides how it goes: a delete and an eviction ask the same.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.model.guards import below_majority
from handrail.model.reason import Reason, Refusal
from handrail.model.rollout import live
from handrail.model.selector import labels_of, selects
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, moment
from handrail.model.workload import Workload, controller_of, pod_is_ready

STATIC = "kubernetes.io/config.mirror"
"""The mirror of a static pod: deleting it changes nothing, its node makes it again from a file."""

STEADY = timedelta(seconds=60)
"""How long a pod must have been not ready: less may be one flapping reading."""


def pod_of(w: Workload, uid: str) -> Raw | None:
    """By UID alone: a StatefulSet's pod comes again under the same name (kubernetes#64923)."""
    return next((pod for pod in w.pods if pod["metadata"].get("uid") == uid), None)


def has_ended(pod: Raw) -> bool:
    """It will not start again: no pod leaves this phase."""
    return (pod.get("status") or {}).get("phase") == "Failed"


def is_corpse(pod: Raw) -> bool:
    """It has ended, and stays listed until somebody deletes it."""
    return has_ended(pod) and "deletionTimestamp" not in pod["metadata"]


def spare_corpses(w: Workload) -> list[Raw]:
    """Corpses, oldest first, but for the newest one of each owner: what it says of its end stays as evidence."""
    found = sorted(filter(is_corpse, w.pods), key=lambda pod: (_made_at(pod), name_of(pod)))
    newest = {(controller_of(pod) or {}).get("uid"): pod["metadata"]["uid"] for pod in found}
    return [pod for pod in found if pod["metadata"]["uid"] not in newest.values()]


def not_spare(w: Workload, pod: Raw) -> Refusal | None:
    if pod in spare_corpses(w):
        return None
    detail = f"{ObjectRef.of(pod)} is no corpse, or the newest one of its owner, which stays as evidence"
    return Refusal(reason=Reason.NO_CHANGE, detail=detail)


def name_of(pod: Raw) -> str:
    return str(pod["metadata"]["name"])


def _made_at(pod: Raw) -> str:
    """As the API server writes it, which sorts by time."""
    return str(pod["metadata"].get("creationTimestamp") or "")


def not_ready_since(pod: Raw) -> datetime | None:
    """None where it is ready, or where the API server does not say since when it is not."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready: Raw = next((one for one in conditions if one.get("type") == "Ready"), {})
    return moment(ready.get("lastTransitionTime")) if ready.get("status") == "False" else None


def replaced(w: Workload, pod: Raw) -> Refusal | None:
    """Only what a controller makes again, and nothing that is going already."""
    ref, meta = ObjectRef.of(pod), pod["metadata"]
    owner = controller_of(pod)
    if STATIC in (meta.get("annotations") or {}) or (owner or {}).get("kind") == "Node":
        return Refusal(reason=Reason.STATIC_POD, detail=f"{ref} is a static pod: a file on its node makes it")
    if owner is None or owner.get("uid") not in _makers(w):
        return Refusal(reason=Reason.BARE_POD, detail=f"no controller of {w.ref} would make {ref} again")
    if "deletionTimestamp" in meta:
        return Refusal(reason=Reason.BEING_DELETED, detail=f"{ref} is being deleted already")
    return None


def loses_data(pod: Raw) -> Refusal | None:
    """What lies on the node alone would be gone with the pod (an emptyDir in memory holds nothing that lasts)."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        kept = "hostPath" in volume or ("emptyDir" in volume and (volume["emptyDir"] or {}).get("medium") != "Memory")
        if kept:
            detail = f"{ObjectRef.of(pod)} keeps data on its node in volume {volume.get('name')}; a person decides"
            return Refusal(reason=Reason.LOCAL_DATA, detail=detail)
    return None


def well(w: Workload, pod: Raw) -> Refusal | None:
    """It serves, or has not been ill for long enough to be sure."""
    since, ref = not_ready_since(pod), ObjectRef.of(pod)
    if pod_is_ready(pod):
        nothing = Refusal(reason=Reason.NO_CHANGE, detail=f"{ref} is ready; nothing is mended by deleting it")
        return serves_alone(w, pod) or nothing
    if since is None or w.observed_at - since < STEADY:
        detail = f"{ref} has been not ready for less than {STEADY.seconds} seconds; it may come by itself"
        return Refusal(reason=Reason.TOO_EARLY, detail=detail)
    return None


def serves_alone(w: Workload, pod: Raw) -> Refusal | None:
    """The last ready one, or a member whose loss costs the majority."""
    if not pod_is_ready(pod):
        return below_majority(w, 0)
    others = [one for one in live(w.pods) if one is not pod and pod_is_ready(one)]
    if not others:
        return Refusal(reason=Reason.LAST_READY, detail=f"{ObjectRef.of(pod)} is the last ready pod of {w.ref}")
    return below_majority(w, 1)


def not_only_here(w: Workload, pod: Raw) -> Refusal | None:
    """A peer of the same revision must be ready: else the cause is shared, and another pod would fare no better."""
    owner = (controller_of(pod) or {}).get("uid")
    peers = [one for one in live(w.pods) if one is not pod and (controller_of(one) or {}).get("uid") == owner]
    same = [one for one in peers if revision_label(one) == revision_label(pod)]
    if any(map(pod_is_ready, same)):
        return None
    detail = f"no other pod of the same revision of {w.ref} is ready: it is not this pod alone"
    return Refusal(reason=Reason.NOT_LOCAL, detail=detail)


def someone_else(pod: Raw) -> Refusal | None:
    """Already being disrupted by somebody: a drain, the scheduler, the kubelet."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(one.get("type") == "DisruptionTarget" and one.get("status") == "True" for one in conditions):
        detail = f"{ObjectRef.of(pod)} is being moved by somebody else; two at once are one too many"
        return Refusal(reason=Reason.SOMEONE_ELSE_ACTS, detail=detail)
    return None


def budget_over(pod: Raw, budgets: tuple[Raw, ...]) -> Refusal | None:
    """What the budgets say before the API server is asked; asking it would spend nothing, but waiting for it might."""
    over = [one for one in budgets if selects((one.get("spec") or {}).get("selector"), labels_of(pod))]
    names = ", ".join(sorted(one["metadata"]["name"] for one in over))
    if len(over) > 1:
        detail = f"{names} all cover {ObjectRef.of(pod)}; the API server evicts nothing under two budgets"
        return Refusal(reason=Reason.BUDGETS_OVERLAP, detail=detail)
    if over and not _lets_go(pod, over[0]):
        status = over[0].get("status") or {}
        detail = (
            f"budget {names} lets no pod go now: it needs {status.get('desiredHealthy', 'an unknown number of')} "
            f"healthy pods and has {status.get('currentHealthy', 'an unknown number')}"
        )
        return Refusal(reason=Reason.DISRUPTION_BUDGET, detail=detail)
    return None


def revision_label(pod: Raw) -> str:
    """The revision that a DaemonSet or StatefulSet pod belongs to; "" for a Deployment's, whose ReplicaSet tells it."""
    return labels_of(pod).get("controller-revision-hash", "")


def _makers(w: Workload) -> set[str]:
    return {w.object["metadata"]["uid"], *(rs["metadata"]["uid"] for rs in w.replica_sets)}


def _lets_go(pod: Raw, budget: Raw) -> bool:
    """As the eviction API counts: a pod that is not ready is free where the others are healthy, or so declared."""
    status = budget.get("status") or {}
    healthy, desired = int(status.get("currentHealthy") or 0), int(status.get("desiredHealthy") or 0)
    declared = (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    if not pod_is_ready(pod) and (declared or healthy >= desired > 0):
        return True
    return int(status.get("disruptionsAllowed") or 0) > 0
