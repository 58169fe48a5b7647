"""The arithmetic of a rolling update: how many pods each revision may have next.

Pure numbers, by the rules in the documentation of Deployments: never more than `replicas + maxSurge` pods, never
fewer than `replicas - maxUnavailable` available ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        return self.replicas + self.surge

    @property
    def least_available(self) -> int:
        return self.replicas - self.unavailable


@dataclass(frozen=True)
class Revision:
    """One ReplicaSet in numbers: how many pods it shall have and how many are available."""

    size: int
    available: int


def limits(replicas: int, surge: Any, unavailable: Any) -> Limits:
    """Resolve percentages: a surge is rounded up, unavailability down, and one of them must let something move."""
    up = _resolved(surge, replicas, math.ceil)
    down = min(_resolved(unavailable, replicas, math.floor), replicas)
    if up == 0 and down == 0:
        down = min(1, replicas)
    return Limits(replicas, up, down)


def _resolved(value: Any, replicas: int, rounded: Any) -> int:
    if isinstance(value, str) and value.endswith("%"):
        return int(rounded(replicas * int(value[:-1]) / 100))
    return int(value)


def grown(limit: Limits, new: int, total: int) -> int:
    """The next size of the new revision, which has `new` of `total` pods."""
    if new >= limit.replicas:
        return limit.replicas
    return new + min(max(limit.most - total, 0), limit.replicas - new)


def shrunk(limit: Limits, new: Revision, old: Sequence[Revision]) -> list[int]:
    """The next sizes of the old revisions: first what is not available anyway, then as many as can be missed."""
    total = new.size + sum(r.size for r in old)
    spare = total - limit.least_available - (new.size - new.available)
    sizes = _without_unhealthy(old, max(spare, 0))
    available = new.available + sum(r.available for r in old)
    return _reduced(sizes, max(available - limit.least_available, 0))


def _without_unhealthy(old: Sequence[Revision], spare: int) -> list[int]:
    sizes = []
    for revision in old:
        drop = min(spare, revision.size - revision.available)
        spare -= drop
        sizes.append(revision.size - drop)
    return sizes


def _reduced(sizes: list[int], surplus: int) -> list[int]:
    reduced = []
    for size in sizes:
        drop = min(size, surplus)
        surplus -= drop
        reduced.append(size - drop)
    return reduced


def shared_out(limit: Limits, sizes: Sequence[int], old_most: int) -> list[int]:
    """Scale several live revisions in proportion when the wanted number of pods changes during a rollout.

    `sizes` are largest first; the rounding error goes to the largest one.
    """
    allowed = limit.most if limit.replicas else 0
    if old_most <= 0 or not sizes:
        return list(sizes)
    new = [max(round(size * allowed / old_most), 0) for size in sizes]
    new[0] = max(new[0] + allowed - sum(new), 0)
    return new
