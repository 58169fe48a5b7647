"""Has a workload rolled out, and is it well? Pure questions for the verification of steps, by kind of workload.

Never trusts one number: a paused Deployment catches up in `observedGeneration` while nothing rolls, old pods mask a
dead revision in `Available`, and a crashing pod counts as ready between two crashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from handrail.model.step import Verdict, Verification
from handrail.model.value import Raw, Value, moment
from handrail.model.workload import Workload, container_states, controller_of, pod_is_ready

SETTLE = timedelta(seconds=5)
"""How long pods must have been ready: less, and one flapping reading would pass as health."""

CALM = timedelta(seconds=60)
"""How long a container that ended after we acted must have run since: a crash loop looks healthy between crashes."""

PATIENCE = timedelta(seconds=600)
"""The API's default of `progressDeadlineSeconds`, and our longest wait."""

LEAST = timedelta(seconds=90)
"""A shorter deadline of the workload's would end before pods could settle, or before a crash loop showed itself."""

FAILING = frozenset(
    {"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError"}
    | {"CreateContainerError", "RunContainerError"}
)


class Counts(Value):
    """Numbers of pods from the workload's own status; `total` includes those of older templates."""

    desired: int
    total: int
    updated: int
    ready: int
    available: int


def counts(w: Workload) -> Counts:
    """A DaemonSet counts nodes under other names; everything absent is 0."""
    status = w.status
    if w.ref.kind == "DaemonSet":
        names = ("currentNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable")
        total, updated, ready, available = (int(status.get(name) or 0) for name in names)
        desired = int(status.get("desiredNumberScheduled") or 0)
        return Counts(desired=desired, total=total, updated=min(updated, total), ready=ready, available=available)
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    total, updated, ready, available = (int(status.get(name) or 0) for name in names)
    return Counts(desired=w.desired, total=total, updated=updated, ready=ready, available=available)


def patience(w: Workload) -> timedelta:
    """How long a rollout may take: the workload's own deadline, time to settle at least, ten minutes at most."""
    deadline = timedelta(seconds=int(w.spec.get("progressDeadlineSeconds") or 600))
    return min(max(deadline, LEAST), PATIENCE)


def at_once(w: Workload) -> int:
    """Ready pods that a rollout may take away before their replacements are ready; all of them for Recreate.

    As the controllers count: a Deployment rounds a percentage down and takes one where it may neither surge nor take
    any (defaults 25 % each), a DaemonSet rounds up, a StatefulSet takes one at least.
    """
    strategy = w.spec.get("strategy") or w.spec.get("updateStrategy") or {}
    if strategy.get("type") == "Recreate":
        return w.desired
    rolling = strategy.get("rollingUpdate") or {}
    if w.ref.kind == "DaemonSet":
        return _share(rolling.get("maxUnavailable", 1), w.desired, up=True)
    if w.ref.kind == "StatefulSet":
        return max(1, _share(rolling.get("maxUnavailable", 1), w.desired, up=False))
    taken = _share(rolling.get("maxUnavailable", "25%"), w.desired, up=False)
    surge = _share(rolling.get("maxSurge", "25%"), w.desired, up=True)
    return taken if taken or surge else 1


def _share(bound: int | str, of: int, *, up: bool) -> int:
    """A number of pods, or a percentage of them."""
    if isinstance(bound, int):
        return bound
    percent = int(str(bound).rstrip("%") or 0)
    return -(-of * percent // 100) if up else of * percent // 100


def live(pods: Iterable[Raw]) -> tuple[Raw, ...]:
    """Pods that still count: neither terminating nor corpses (evicted or completed ones stay listed for hours)."""
    return tuple(
        pod
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
        and (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded")
    )


def unwell(w: Workload, acted_at: datetime, now: datetime) -> str:
    """What still is not as it should be after a change made at `acted_at`, in one sentence; "" when all is well."""
    return _by_status(w) or _by_pods(w, acted_at, now)


def outcome(w: Workload, missing: str, ready_before: int, acted_at: datetime, now: datetime) -> Verification:
    """The verdict from what is `missing`: patience first, then worse or no effect by the pods that are ready."""
    until = acted_at + patience(w)
    ready = counts(w).ready
    if not missing and now - acted_at >= SETTLE:
        return Verification(verdict=Verdict.HEALED, detail=f"{ready} of {counts(w).desired} pods are ready and stay so")
    if now < until:
        return Verification(verdict=Verdict.NOT_YET, detail=missing or "settling", until=until)
    if ready < ready_before:
        detail = f"{ready} pods are ready, {ready_before} were before: {missing}"
        return Verification(verdict=Verdict.WORSE, detail=detail)
    return Verification(verdict=Verdict.NO_EFFECT, detail=f"not healthy in time: {missing or 'never settled'}")


def _by_status(w: Workload) -> str:
    now = counts(w)
    if int(w.status.get("observedGeneration") or 0) < w.generation:
        return "the controller has not yet seen the change"
    if w.paused:
        return "it is paused, so nothing rolls out"
    if now.updated != now.desired:
        return f"{now.updated} of {now.desired} pods are on the newest template"
    if now.total > now.updated:
        return f"{now.total - now.updated} pods of an older template are still there"
    if not now.ready == now.available == now.desired:
        return f"{now.ready} of {now.desired} pods are ready, {now.available} available"
    return ""


def _by_pods(w: Workload, acted_at: datetime, now: datetime) -> str:
    newest = w.current if w.ref.kind == "Deployment" else w.object
    if newest is None:
        return "the controller has not yet made the newest ReplicaSet"
    pods = live(w.pods)
    mine = [pod for pod in pods if (controller_of(pod) or {}).get("uid") == newest["metadata"]["uid"]]
    if len(mine) < len(pods):
        return f"{len(pods) - len(mine)} pods of older revisions are still there"
    ready = [pod for pod in mine if pod_is_ready(pod)]
    if not len(ready) == len(mine) == counts(w).desired:
        return f"{len(ready)} of {len(mine)} pods are ready, {counts(w).desired} are wanted"
    return next((why for pod in mine if (why := _restless(pod, acted_at, now))), "")


def _restless(pod: Raw, acted_at: datetime, now: datetime) -> str:
    name = pod["metadata"]["name"]
    conditions = (pod.get("status") or {}).get("conditions") or ()
    since = next((moment(c.get("lastTransitionTime")) for c in conditions if c.get("type") == "Ready"), None)
    if since is None or now - since < SETTLE:
        return f"pod {name} has been ready for less than {SETTLE.seconds} seconds"
    for state in container_states(pod):
        waiting = ((state.get("state") or {}).get("waiting") or {}).get("reason", "")
        if waiting in FAILING:
            return f"a container of pod {name} is in {waiting}"
        ended = moment(((state.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
        if ended is not None and ended > acted_at and now - ended < CALM:
            return f"a container of pod {name} ended less than {CALM.seconds} seconds ago"
    return ""
