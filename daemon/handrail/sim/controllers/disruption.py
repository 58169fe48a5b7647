"""PodDisruptionBudgets: how many pods may be evicted just now.

It decides the numbers in a budget's status and nothing else; `evict` spends them.
"""

import math
from datetime import datetime, timedelta
from typing import Any

from ..kinds import BUDGET, POD, by_name
from ..objects import (
    Obj,
    at,
    condition_of,
    is_terminating,
    is_true,
    labels_of,
    meta,
    moment,
    name_of,
    namespace_of,
    owners_of,
)
from ..registry import CONTROLLER_STATUS, Registry
from ..selectors import matches
from . import soonest
from .conditions import condition

_FORGETS_AFTER = timedelta(minutes=2)


def step(registry: Registry, now: datetime) -> datetime | None:
    """Count anew for every budget."""
    return soonest(*(_sync(registry, budget, now) for budget in registry.store.all(BUDGET)))


def _sync(registry: Registry, budget: Obj, now: datetime) -> datetime | None:
    pods = [
        pod
        for pod in registry.store.all(POD, namespace_of(budget))
        if matches(at(budget, "spec", "selector"), labels_of(pod))
    ]
    expected, desired = _wanted(registry, budget, pods)
    evicted = _evicted(budget, pods, now)
    healthy = [
        pod for pod in pods if is_true(pod, "Ready") and not is_terminating(pod) and meta(pod)["name"] not in evicted
    ]
    allowed = max(len(healthy) - desired, 0) if expected else 0
    status: Obj = {
        "currentHealthy": len(healthy),
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": meta(budget)["generation"],
        "conditions": [_allowed(budget, allowed, now)],
    }
    if evicted:
        status["disruptedPods"] = evicted

    def edit(obj: Obj) -> None:
        obj["status"] = status

    registry.change(BUDGET, budget, edit, CONTROLLER_STATUS)
    return soonest(*(moment(time) + _FORGETS_AFTER for time in evicted.values()))


def _evicted(budget: Obj, pods: list[Obj], now: datetime) -> dict[str, str]:
    """Pods that were evicted and have not begun to go: they count as gone until the eviction is forgotten."""
    names = {name_of(pod) for pod in pods if not is_terminating(pod)}
    noted = at(budget, "status", "disruptedPods", default={})
    return {n: time for n, time in noted.items() if n in names and moment(time) + _FORGETS_AFTER > now}


def _allowed(budget: Obj, allowed: int, now: datetime) -> Obj:
    before = condition_of(budget, "DisruptionAllowed")
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    found = condition("DisruptionAllowed", status, reason, "", now, before)
    del found["lastUpdateTime"]
    return found | {"observedGeneration": meta(budget)["generation"]}


def _wanted(registry: Registry, budget: Obj, pods: list[Obj]) -> tuple[int, int]:
    """How many pods there should be, and how many of them healthy."""
    spec = budget["spec"]
    if (most := spec.get("maxUnavailable")) is not None:
        expected = _replicas_of_owners(registry, pods)
        return expected, max(expected - _resolved(most, expected), 0)
    least = spec.get("minAvailable", 1)
    if isinstance(least, int):
        return len(pods), least
    expected = _replicas_of_owners(registry, pods)
    return expected, _resolved(least, expected)


def _resolved(value: Any, total: int) -> int:
    if isinstance(value, str):
        return math.ceil(total * int(value.rstrip("%")) / 100)
    return int(value)


def _replicas_of_owners(registry: Registry, pods: list[Obj]) -> int:
    """What the top owners of these pods are scaled to; a pod of its own counts as one."""
    found: dict[str, int] = {}
    for pod in pods:
        top = _top(registry, pod)
        found[str(meta(top)["uid"])] = int(at(top, "spec", "replicas", default=1))
    return sum(found.values())


def _top(registry: Registry, obj: Obj) -> Obj:
    owner = next((o for o in owners_of(obj) if o.get("controller")), None)
    kind = by_name(owner["apiVersion"], owner["kind"]) if owner else None
    if owner is None or kind is None:
        return obj
    above = registry.store.get(kind, namespace_of(obj), str(owner["name"]))
    return _top(registry, above) if above else obj
