"""What was worked out before, kept for when the very same is asked again: alerts repeat, and what they say does not.

Only for pure functions: forgetting anything at any time changes nothing but the time it takes. Bounded by weight, since
what is kept was sent by others; the oldest is forgotten first. Most of what comes in a storm comes once: callers keep
only what `recurs`, so that it costs neither memory nor the time to weigh it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

ASKED = 16_384
"""Questions whose hashes are noted: what repeats among fewer than these is recognised the second time."""


class Remembered(Generic[K, V]):
    """`limit` is the sum of all weights; what weighs more than a hundredth of it is not kept at all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[K, tuple[V, int]] = {}
        self._weight = 0
        self._asked: set[int] = set()

    def recurs(self, key: K) -> bool:
        """Whether this was asked before, lately. Another key of the same hash may say so falsely: harmless."""
        mark = hash(key)
        if mark in self._asked:
            return True
        if len(self._asked) >= ASKED:
            self._asked.clear()
        self._asked.add(mark)
        return False

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
