"""What the steps that let one pod go have in common: when it is gone, whether that helped, that it never comes back.

Pure. Decides nothing about whether a pod may go; that is in `pods`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.model import rollout
from handrail.model.guards import not_observed
from handrail.model.pods import has_ended, pod_of
from handrail.model.step import CannotUndo, Done, Undone, Verification, Wait
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload, controller_name, pod_is_ready

LOOK_AGAIN = timedelta(seconds=10)


def remembered(w: Workload, uid: str) -> Raw:
    return {"uid": uid, "ready": rollout.counts(w).ready, "desired": rollout.counts(w).desired}


def gone(w: Workload, *uids: str) -> Done | None:
    """Gone or terminating is what was wanted (design, state rule 3)."""
    if any(_stays(w, uid) for uid in uids):
        return None
    return Done(detail=f"the pod of UID {', '.join(uids)} is gone or going")


def helped(w: Workload, before: Raw, acted_at: datetime, now: datetime) -> Verification:
    """The pod itself is away, not only going, and every wanted pod is ready and stays so."""
    lingers = any(pod_of(w, uid) is not None for uid in before.get("uids", [before["uid"]]))
    missing = "the old pod is still there" if lingers else rollout.unwell(w, acted_at, now)
    return rollout.outcome(w, missing, before["ready"], acted_at, now)


def taken_back(w: Workload, *uids: str) -> Undone | CannotUndo:
    if all(_stays(w, uid) for uid in uids):
        return Undone(detail="it was not taken away")
    return CannotUndo(detail="a pod that is gone can't be brought back; what its controller makes in its place stays")


def one_by_one(w: Workload, uids: list[str], now: datetime) -> Raw | Wait | None:
    """The next of these pods to let go; None when each is away or has become ready. Never two at once."""
    left = [pod for uid in uids if (pod := pod_of(w, uid)) and not pod_is_ready(pod)]
    if not left:
        return None
    going = any("deletionTimestamp" in pod["metadata"] for pod in left)
    others = [pod for pod in rollout.live(w.pods) if pod["metadata"]["uid"] not in uids]
    if going or not_observed(w) or not all(map(pod_is_ready, others)):
        return Wait(until=now + LOOK_AGAIN, why="one pod after the other: the one before is not ready yet")
    return left[0]


def said(w: Workload, pod: Raw) -> str:
    follows = "it has ended and serves nobody" if has_ended(pod) else f"{controller_name(pod)} makes another"
    return f"{ObjectRef.of(pod)} of {w.ref}; {follows}"


def _stays(w: Workload, uid: str) -> bool:
    pod = pod_of(w, uid)
    return pod is not None and "deletionTimestamp" not in pod["metadata"]
