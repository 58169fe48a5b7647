"""Containers run, and pods are not ready: probes fail. One pod that hangs alone, or all of them?

Confirmed by the pod's condition Ready, False for minutes while all its containers run. One that hangs is told from
one that never started by having been ready before, and is blamed only where a peer of the same revision is ready and
no rollout is under way. Traps: a dependency that all share makes all of them unready, and restarting all makes it
worse; a slow start is no hang; the back-off of a crash is not this. Hands the planner how many are ill and since
when, and the name of the pod where it is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.pods import not_only_here, not_ready_since
from handrail.model.rollout import counts, live
from handrail.model.value import Raw, moment
from handrail.model.workload import Workload, container_states, pod_is_ready
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, subject, target_of
from handrail_detectors._symptoms import symptoms

NAME = "probe_failures"
REASONS = frozenset({"Unhealthy"})
START = timedelta(seconds=60)
"""A pod that was not ready within so long of its start has never been ready."""


class Params(Settings):
    """`seconds`: for so long a pod has not been ready; `times`: so many events open."""

    seconds: int = Field(default=180, ge=30, le=3600)
    times: int = Field(default=10, ge=2, le=1000)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    who = subject(window)
    ill = [pod for pod in live(who.pods) if _fails(pod, now, p.seconds)] if who else []
    if who is not None and ill:
        ready = sum(map(pod_is_ready, who.pods))
        facts: Facts = {"pods": len(ill), "ready": ready}
        hangs = window.workload is not None and len(ill) == 1 and _hangs(window.workload, ill[0])
        said = _one(ill[0], facts) if hangs else _several(facts)
        yield finding(NAME, target_of(who.raw), said)
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"probes of a pod failed {told.times} times, by its events"
        said = Said(Cause.NOT_READY, Handling.APPROVE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _one(pod: Raw, facts: Facts) -> Said:
    name = str(pod["metadata"]["name"])
    summary = f"pod {name} hangs: it was ready, and is not although it runs; its {facts['ready']} peers are"
    return Said(Cause.POD_DEADLOCKED, Handling.APPROVE, summary, {**facts, "pod": name})


def _several(facts: Facts) -> Said:
    summary = f"{facts['pods']} of its pods run without being ready; {facts['ready']} are ready"
    return Said(Cause.NOT_READY, Handling.DIAGNOSE, summary, facts)


def _fails(pod: Raw, now: datetime, seconds: int) -> bool:
    since, states = not_ready_since(pod), container_states(pod)
    runs = bool(states) and all(_running(state) or _done(state) for state in states)
    long = since is not None and (now - since).total_seconds() >= seconds
    return runs and long and not symptoms(pod, now, restarts=2)


def _running(state: Raw) -> bool:
    return "running" in (state.get("state") or {})


def _done(state: Raw) -> bool:
    """An init container that has done its work."""
    return ((state.get("state") or {}).get("terminated") or {}).get("exitCode") == 0


def _hangs(w: Workload, pod: Raw) -> bool:
    """It was ready before, its peers of the same revision are, and nothing rolls."""
    now, since, started = counts(w), not_ready_since(pod), _started(pod)
    was_ready = since is not None and started is not None and since - started > START
    return was_ready and now.updated == now.desired == now.total and not_only_here(w, pod) is None


def _started(pod: Raw) -> datetime | None:
    """When the last of its containers did; None where that is not said."""
    running = [(state.get("state") or {}).get("running") or {} for state in container_states(pod)]
    return max((at for one in running if (at := moment(one.get("startedAt")))), default=None)


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.WORKLOAD, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the pod's condition Ready: False for minutes while all its containers run",
    example="pod orders-1 hangs: it was ready, and is not although it runs; its 2 peers are",
)
