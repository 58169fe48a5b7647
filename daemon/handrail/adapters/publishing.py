"""Publishes the events of every journal to others, at least once, in the order of each incident. One replica at a time.

Sends, and only then moves the cursor: a crash in between repeats events, and none is left out. What can't be published
of one incident holds up no other, and nothing that the others do waits for this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Protocol

import structlog

from handrail.core.publishing import Message, message
from handrail.model.errors import HandrailError, Transient
from handrail.model.events import Entry

log = structlog.get_logger("publishing")

POLL_SECONDS = 5.0
AT_ONCE = 8
"""Incidents whose events are sent at the same time; each one's go one after another."""
PORTION = 50
"""Events of one incident between two movements of its cursor."""
AGAIN = timedelta(seconds=60)
"""When an incident whose journal can't be read is looked at again."""


class Journals(Protocol):
    """What is used of the store: its outbox for this topic."""

    async def on_duty(self) -> bool: ...

    async def waiting(self) -> dict[str, int]: ...

    async def entries_after(self, id_: str, seq: int) -> tuple[Entry, ...]: ...

    async def done(self, id_: str, seq: int) -> None: ...

    async def wait_changed(self, timeout: float) -> bool: ...


class Topic(Protocol):
    async def send(self, message: Message) -> bool:
        """False: too large. Raises Transient."""

    async def close(self) -> None: ...


Contain = Callable[[Awaitable[None]], Awaitable[None]]
Clock = Callable[[], float]


class Publisher:
    """`problem` says why something is not published, "" while all is; `behind` is how many incidents wait."""

    def __init__(self, cluster: str, journals: Journals, topic: Topic, contain: Contain, clock: Clock) -> None:
        self._cluster = cluster
        self._journals = journals
        self._topic = topic
        self._contain = contain
        self._clock = clock
        self._again: dict[str, float] = {}
        self.problem = ""
        self.behind = 0

    async def run(self) -> None:
        """Until cancelled. What is away is waited for."""
        try:
            while True:
                try:
                    await self.publish_all()
                    await self._journals.wait_changed(POLL_SECONDS)
                except Transient as away:
                    self._say(str(away))
                    await asyncio.sleep(away.retry_after)
        finally:
            await self._topic.close()

    async def publish_all(self) -> None:
        """One round over every incident whose journal has grown. Raises Transient: the rest waits."""
        if not await self._journals.on_duty():
            self.behind, self.problem = 0, ""
            await self._topic.close()
            return
        waiting = await self._journals.waiting()
        self.behind = len(waiting)
        self._again = {id_: again for id_, again in self._again.items() if id_ in waiting}
        due = [(id_, seq) for id_, seq in waiting.items() if self._again.get(id_, 0.0) <= self._clock()]
        for begin in range(0, len(due), AT_ONCE):
            await self._together(due[begin : begin + AT_ONCE])
            self.behind -= len(due[begin : begin + AT_ONCE])
        self.behind = len(self._again)
        if not self._again:
            self.problem = ""

    async def _together(self, some: Sequence[tuple[str, int]]) -> None:
        """All of them, then the first error is raised."""
        tried = await asyncio.gather(*(self._one(id_, seq) for id_, seq in some), return_exceptions=True)
        for result in tried:
            if isinstance(result, BaseException):
                raise result

    async def _one(self, id_: str, seq: int) -> None:
        try:
            await self._contain(self._publish(id_, seq))
            self._again.pop(id_, None)
        except Transient:
            raise
        except HandrailError as unfit:
            self._again[id_] = self._clock() + AGAIN.total_seconds()
            self._say(f"{id_}: {type(unfit).__name__}: {unfit}")

    async def _publish(self, id_: str, seq: int) -> None:
        entries = await self._journals.entries_after(id_, seq)
        for begin in range(0, len(entries), PORTION):
            portion = entries[begin : begin + PORTION]
            if not await self._journals.on_duty():
                raise Transient("another replica publishes now", retry_after=POLL_SECONDS)
            for entry in portion:
                await self._send(entry)
            await self._journals.done(id_, portion[-1].seq)

    async def _send(self, entry: Entry) -> None:
        """One that the brokers find too large goes without its event: readers learn that it was there."""
        if await self._topic.send(message(entry, self._cluster)):
            return
        if not await self._topic.send(message(entry, self._cluster, most=0)):
            raise Transient("events can't be published: the topic takes no message of 1 KiB", retry_after=30.0)

    def _say(self, why: str) -> None:
        why = " ".join(why.split())[:300]
        if why != self.problem:
            log.warning("events wait", why=why)
        self.problem = why
