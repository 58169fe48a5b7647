"""What is wrong with one pod, read from typed fields of its status alone. Shared by detectors; decides no cause.

Sampling catches a crashing container between two tries as Running: the last termination and the restart count are
read too. Exit 143 and Completed are how a container ends in a rollout or a drain, and 137 alone is no OOM
(robusta #1071).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from handrail.model.pods import someone_else
from handrail.model.value import Raw
from handrail.model.workload import container_states

IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
START_REASONS = frozenset({"CrashLoopBackOff", "RunContainerError", "StartError", "PostStartHookError"})
CONFIG_REASON = "CreateContainerConfigError"

ENDED_WELL = frozenset({0, 143})
"""Done, and SIGTERM."""

LOST = "ContainerStatusUnknown"
"""The node was restarted, or the kubelet lost count: nobody knows how it ended."""

BACKOFF_RESET = timedelta(minutes=10)
"""After that long without a restart the kubelet itself forgets the crashes."""

_WORD = re.compile(r"[A-Za-z0-9]{1,64}")


class Kind(StrEnum):
    CRASH = "crash"
    IMAGE = "image"


class Symptom(NamedTuple):
    """`reason` is why it waits, or else how it ended last; `ended` and `exit_code` are of that last end (-1: none)."""

    kind: Kind
    pod: str
    container: str
    reason: str
    ended: str
    exit_code: int
    restarts: int


def symptoms(pod: Raw, now: datetime, restarts: int) -> tuple[Symptom, ...]:
    """At most one per container, init containers included. A pod that has ended, or that is being deleted or moved by
    somebody (a drain, the scheduler, the kubelet), has none: what it shows then is how it goes."""
    ended = (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    if ended or "deletionTimestamp" in pod["metadata"] or someone_else(pod) is not None:
        return ()
    found = (_symptom(pod, state, now, restarts) for state in container_states(pod))
    return tuple(symptom for symptom in found if symptom is not None)


def waiting_reason(state: Raw) -> str:
    """Why a container waits, as the kubelet's one word; "" when it does not."""
    return _word(((state.get("state") or {}).get("waiting") or {}).get("reason"))


def waits_for(pod: Raw, reason: str) -> bool:
    return any(waiting_reason(state) == reason for state in container_states(pod))


def not_placed(pod: Raw) -> str:
    """ "Unschedulable" or "SchedulingGated" for a pod that has no node for that reason, else ""."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    scheduled: Raw = next((c for c in conditions if c.get("type") == "PodScheduled"), {})
    reason = _word(scheduled.get("reason")) if scheduled.get("status") == "False" else ""
    return reason if reason in ("Unschedulable", "SchedulingGated") else ""


def has_run_well(pod: Raw, now: datetime) -> bool:
    """Ready, never restarted, and running for longer than the back-off's memory: what it runs can run."""
    states = (pod.get("status") or {}).get("containerStatuses") or ()
    return bool(states) and all(
        state.get("ready") and not state.get("restartCount") and _runs_since_long(state, now) for state in states
    )


def last_end(state: Raw) -> Raw:
    """The termination it is in now, else the one before."""
    this = (state.get("state") or {}).get("terminated")
    last = (state.get("lastState") or {}).get("terminated")
    return this or last or {}


def _symptom(pod: Raw, state: Raw, now: datetime, restarts: int) -> Symptom | None:
    waiting = waiting_reason(state)
    last = last_end(state)
    if waiting in IMAGE_REASONS:
        kind, reason = Kind.IMAGE, waiting
    elif waiting in START_REASONS:
        kind, reason = Kind.CRASH, waiting
    elif _keeps_failing(state, last, now, restarts):
        kind, reason = Kind.CRASH, _word(last.get("reason"))
    else:
        return None
    return Symptom(
        kind=kind,
        pod=str(pod["metadata"]["name"]),
        container=str(state.get("name", "")),
        reason=reason,
        ended=_word(last.get("reason")),
        exit_code=int(last.get("exitCode", -1)),
        restarts=int(state.get("restartCount") or 0),
    )


def _keeps_failing(state: Raw, last: Raw, now: datetime, restarts: int) -> bool:
    """Between two tries: it has failed often enough, is not ready, and the last failure is not long ago."""
    told = last.get("reason") != LOST
    failed = told and "exitCode" in last and int(last["exitCode"]) not in ENDED_WELL
    often = int(state.get("restartCount") or 0) >= restarts
    return failed and often and not state.get("ready") and not _runs_since_long(state, now)


def _runs_since_long(state: Raw, now: datetime) -> bool:
    running = (state.get("state") or {}).get("running") or {}
    since = _time(running.get("startedAt"))
    return since is not None and now - since > BACKOFF_RESET


def _time(text: object) -> datetime | None:
    """RFC 3339 as the API server writes it; None where it is missing or unreadable."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None


def _word(reason: object) -> str:
    """A reason is one CamelCase word; anything else is not repeated."""
    return reason if isinstance(reason, str) and _WORD.fullmatch(reason) else ""
