"""Requests that wait at the same moment are made durable in one transaction: a storm of posts costs as many as it can.

A transaction costs about the same for one body as for sixteen. Each sender still hears of its own alone, and only once
its own is durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from handrail.model.config import TopicConfig
from handrail.model.errors import HandrailError
from handrail.model.record import Received

Posted = tuple[TopicConfig, bytes]
TakeAll = Callable[[Sequence[Posted]], Awaitable[Sequence[Received]]]
"""In their order what became of each. Raises Transient: then each of them is sent again."""


@dataclass(eq=False, slots=True)
class _One:
    posted: Posted
    received: Received | None = None
    failed: HandrailError | None = None
    heard: asyncio.Event = field(default_factory=asyncio.Event)


class Together:
    """Whoever gets the turn takes all that wait. Nothing runs beside the requests themselves."""

    def __init__(self, take: TakeAll) -> None:
        self._take = take
        self._turn = asyncio.Lock()
        self._waiting: list[_One] = []

    async def __call__(self, door: TopicConfig, body: bytes) -> Received:
        """Raises what `take` raises."""
        mine = _One((door, body))
        self._waiting.append(mine)
        try:
            async with self._turn:
                if not mine.heard.is_set():
                    await self._take_all()
        finally:
            if mine in self._waiting:  # its sender has gone
                self._waiting.remove(mine)
        if mine.failed is not None:
            raise mine.failed
        assert mine.received is not None
        return mine.received

    async def _take_all(self) -> None:
        """Where the one whose turn it is goes away half-way, the others take theirs anew: that is safe, since the same
        alert again is the same incident."""
        all_ = list(self._waiting)
        try:
            received = await self._take([one.posted for one in all_])
        except HandrailError as failed:
            for one in all_:
                one.failed = failed
        else:
            for one, its in zip(all_, received, strict=True):
                one.received = its
        for one in all_:
            one.heard.set()
        self._waiting = [one for one in self._waiting if one not in all_]
