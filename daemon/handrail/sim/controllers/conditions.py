"""The conditions of a Deployment: Available and Progressing, with the reasons that clients read.

Pure: a deployment, its new numbers and the time -> its new conditions. A deadline that has passed is told, and
nothing is done about it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..objects import Obj, at, condition_of, moment, name_of, stamp
from .rollout import Limits

NEW_CREATED = "NewReplicaSetCreated"
FOUND = "FoundNewReplicaSet"
UPDATED = "ReplicaSetUpdated"
COMPLETE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"
_NO_DEADLINE = 2**31 - 1
_LONG_AGO = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Seen:
    """What the conditions depend on: the deployment as stored, its new status and its new ReplicaSet's name."""

    deployment: Obj
    status: Obj
    limits: Limits
    new_name: str
    now: datetime


def condition(kind: str, status: str, reason: str, message: str, now: datetime, before: Obj | None) -> Obj:
    """A condition whose transition time stays when its status does."""
    changed = before is None or before["status"] != status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": stamp(now),
        "lastTransitionTime": stamp(now) if changed or before is None else before.get("lastTransitionTime", stamp(now)),
    }


def available(seen: Seen) -> Obj:
    before = condition_of(seen.deployment, "Available")
    enough = seen.status.get("availableReplicas", 0) >= seen.limits.least_available
    status, reason, text = (
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        if enough
        else ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    )
    if before is not None and (before["status"], before.get("reason")) == (status, reason):
        return before
    return condition("Available", status, reason, text, seen.now, before)


def progressing(seen: Seen) -> Obj | None:
    """The next Progressing condition of a deployment that is not paused."""
    before = condition_of(seen.deployment, "Progressing")
    if seen.deployment["spec"].get("progressDeadlineSeconds", _NO_DEADLINE) == _NO_DEADLINE:
        return None
    if _was_complete(seen, before):
        return before
    if is_complete(seen):
        text = f'ReplicaSet "{seen.new_name}" has successfully progressed.'
        return condition("Progressing", "True", COMPLETE, text, seen.now, before)
    if _has_progressed(seen):
        text = f'ReplicaSet "{seen.new_name}" is progressing.'
        return condition("Progressing", "True", UPDATED, text, seen.now, before)
    if before is not None and before.get("reason") != TIMED_OUT and is_late(seen.deployment, before, seen.now):
        text = f'ReplicaSet "{seen.new_name}" has timed out progressing.'
        return condition("Progressing", "False", TIMED_OUT, text, seen.now, before)
    return before


def _was_complete(seen: Seen, before: Obj | None) -> bool:
    """Complete once stays complete until there is another ReplicaSet to roll out."""
    same = seen.status.get("replicas", 0) == seen.status.get("updatedReplicas", 0)
    return same and before is not None and before.get("reason") == COMPLETE


def is_complete(seen: Seen) -> bool:
    counts = (seen.status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas"))
    return all(count == seen.limits.replicas for count in counts)


def _has_progressed(seen: Seen) -> bool:
    def grew(*keys: str) -> bool:
        return any(seen.status.get(key, 0) > at(seen.deployment, "status", key, default=0) for key in keys)

    old = {"before": at(seen.deployment, "status", default={}), "after": seen.status}
    left = {k: s.get("replicas", 0) - s.get("updatedReplicas", 0) for k, s in old.items()}
    return grew("updatedReplicas", "readyReplicas", "availableReplicas") or left["after"] < left["before"]


def deadline(deployment: Obj, progress: Obj | None) -> datetime | None:
    """When this deployment will be late; None when it is complete, late already or has no deadline."""
    if progress is None or progress.get("reason") in (COMPLETE, TIMED_OUT, PAUSED):
        return None
    seconds = deployment["spec"].get("progressDeadlineSeconds", _NO_DEADLINE)
    if seconds == _NO_DEADLINE:
        return None
    return moment(progress.get("lastUpdateTime", _LONG_AGO)) + timedelta(seconds=seconds)


def is_late(deployment: Obj, progress: Obj, now: datetime) -> bool:
    due = deadline(deployment, progress)
    return due is not None and now >= due


def paused(deployment: Obj, now: datetime) -> Obj | None:
    """What Progressing says when a deployment has just been paused or resumed; None when neither has happened."""
    before = condition_of(deployment, "Progressing")
    stands = before is not None and before.get("reason") == PAUSED
    if before is not None and before.get("reason") == TIMED_OUT:
        return None
    if deployment["spec"].get("paused") and not stands:
        return condition("Progressing", "Unknown", PAUSED, "Deployment is paused", now, before)
    if not deployment["spec"].get("paused") and stands:
        return condition("Progressing", "Unknown", RESUMED, "Deployment is resumed", now, before)
    return None


def created(deployment: Obj, new: Obj, reason: str, now: datetime) -> Obj:
    """What Progressing says once a new ReplicaSet is made, or an old one is found to be the new one."""
    verb = "Created" if reason == NEW_CREATED else "Found"
    text = f'{verb} new replica set "{name_of(new)}"'
    return condition("Progressing", "True", reason, text, now, condition_of(deployment, "Progressing"))
