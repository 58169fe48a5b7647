"""Bodies that wait at the same moment are taken at once, whoever goes away meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from handrail.adapters.http import Posted, Together
from handrail.model.doors import ALERTMANAGER
from handrail.model.errors import Transient
from handrail.model.record import Received, Record


@dataclass
class Slow:
    """Takes when it is let; notes what it was given."""

    turns: list[list[bytes]] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    broken: Exception | None = None

    async def __call__(self, posted: Sequence[Posted]) -> Sequence[Received]:
        self.turns.append([body for _, body in posted])
        await self.go.wait()
        if self.broken is not None:
            raise self.broken
        return [Received(record=record(door.name, body), alerts=len(body)) for door, body in posted]


def record(topic: str, body: bytes) -> Record:
    return Record(topic=topic, partition=0, offset=0, value=body, at=datetime.now(UTC))


async def started(together: Together, *bodies: bytes) -> list[asyncio.Task[Received]]:
    tasks = [asyncio.create_task(together(ALERTMANAGER, body)) for body in bodies]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


async def test_the_first_goes_alone_and_all_that_came_meanwhile_go_together() -> None:
    slow = Slow()
    together = Together(slow)
    tasks = await started(together, b"1", b"22", b"333")
    slow.go.set()
    found = await asyncio.gather(*tasks)
    assert [one.alerts for one in found] == [1, 2, 3]
    assert slow.turns == [[b"1"], [b"22", b"333"]] or slow.turns == [[b"1", b"22", b"333"]]
    assert await together(ALERTMANAGER, b"4444")
    assert slow.turns[-1] == [b"4444"]


async def test_a_sender_that_goes_away_takes_nobody_elses_with_it() -> None:
    slow = Slow()
    together = Together(slow)
    first, second, third = await started(together, b"1", b"22", b"333")
    first.cancel()
    second.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    slow.go.set()
    assert (await third).alerts == 3
    assert b"22" not in slow.turns[-1]
    assert first.cancelled()


async def test_while_the_store_is_away_each_of_them_hears_it_and_the_next_is_tried_anew() -> None:
    slow = Slow(broken=Transient("the store is away"))
    slow.go.set()
    together = Together(slow)
    found = await asyncio.gather(*await started(together, b"1", b"2"), return_exceptions=True)
    assert all(isinstance(one, Transient) for one in found)
    slow.broken = None
    assert (await together(ALERTMANAGER, b"333")).alerts == 3
