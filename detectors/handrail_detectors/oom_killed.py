"""A container was killed for its memory, and is not well since.

Confirmed by the reason OOMKilled of its last end, or by a node's OOM event that names this very pod and container.
Exit code 137 alone is none: grace periods, liveness kills and `kubectl delete` end so too (robusta#1071). Traps: the
container that was killed may be a sidecar or an init container, and not the first; one that has run well for ten
minutes since is left alone. Hands the planner the container, its limit and its restarts. No step of the catalogue
changes a limit: a person gets it, unless the newest revision is to blame, which others find.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.rollout import live
from handrail.model.value import Raw, moment
from handrail.model.workload import container_states
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, subject, target_of
from handrail_detectors._symptoms import BACKOFF_RESET, last_end

NAME = "oom_killed"
KILLED = "OOMKilled"
NODE_SAYS = frozenset({"OOMKilling", "SystemOOM"})


class Params(Settings):
    """Nothing to set."""


class Kill(NamedTuple):
    pod: Raw
    container: str
    restarts: int


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    who = subject(window)
    if who is None:
        return
    kills = [kill for pod in live(who.pods) for kill in _kills(pod, window, now)]
    if not kills:
        return
    worst = max(kills, key=lambda kill: (kill.restarts, kill.pod["metadata"]["name"], kill.container))
    facts: Facts = {"container": worst.container, "reason": KILLED, "restarts": worst.restarts}
    facts |= {"pods": len({kill.pod["metadata"]["name"] for kill in kills})}
    limit = _limit(worst)
    facts |= {"memory_limit": limit} if limit else {}
    within = f"its limit of {limit}" if limit else "the memory of its node"
    summary = f"container {worst.container} was killed for going over {within}, {worst.restarts} restarts"
    yield finding(
        NAME, target_of(who.raw, worst.container), Said(Cause.OUT_OF_MEMORY, Handling.DIAGNOSE, summary, facts)
    )


def _kills(pod: Raw, window: Window, now: datetime) -> Iterator[Kill]:
    for state in container_states(pod):
        name = str(state.get("name", ""))
        if _calm(state, now):
            continue
        if last_end(state).get("reason") == KILLED or _named_by_node(pod, name, window):
            yield Kill(pod, name, int(state.get("restartCount") or 0))


def _calm(state: Raw, now: datetime) -> bool:
    """Ended long ago and running since: over."""
    since = moment(((state.get("state") or {}).get("running") or {}).get("startedAt"))
    return since is not None and now - since > BACKOFF_RESET


def _named_by_node(pod: Raw, container: str, window: Window) -> bool:
    uid = pod["metadata"].get("uid", "")
    told = (one.target for one in window.events if one.reason in NODE_SAYS)
    return any(about and about.uid == uid and about.container == container for about in told if uid)


def _limit(kill: Kill) -> str:
    spec = kill.pod.get("spec") or {}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    mine: Raw = next((one for one in containers if one.get("name") == kill.container), {})
    return str(((mine.get("resources") or {}).get("limits") or {}).get("memory", ""))[:32]


detector = Made(
    name=NAME,
    watches=frozenset({Watches.WORKLOAD, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the reason OOMKilled of the container's last end, or a node's OOM event about this very container",
    example="container app was killed for going over its limit of 128Mi, 3 restarts",
)
