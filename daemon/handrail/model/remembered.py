"""What was worked out before, kept for when the very same is asked again: alerts repeat, and what they say does not.

Only for pure functions: forgetting anything at any time changes nothing but the time it takes. Bounded by weight, since
what is kept was sent by others; the oldest is forgotten first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """`limit` is the sum of all weights; what weighs more than a hundredth of it is not kept at all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[K, tuple[V, int]] = {}
        self._weight = 0

    def get(self, key: K) -> V | None:
        found = self._kept.get(key)
        return found[0] if found is not None else None

    def keep(self, key: K, value: V, weight: int) -> None:
        if weight * 100 > self._limit or key in self._kept:
            return
        self._kept[key] = (value, weight)
        self._weight += weight
        while self._weight > self._limit:
            self._weight -= self._kept.pop(next(iter(self._kept)))[1]
