"""A hint that something was committed, so that loops need not poll hard. Only a hint: the truth is in the tables."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from handrail.model.errors import Bug


class Wake:
    """Any number of loops may wait; each is told of what was committed since it last waited, also while it was busy."""

    def __init__(self) -> None:
        self._count = 0
        self._seen: WeakKeyDictionary[asyncio.Task[object], int] = WeakKeyDictionary()
        self._event = asyncio.Event()

    def nudge(self) -> None:
        self._count += 1
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self, timeout: float) -> bool:
        """True as soon as there is news for this task, False after `timeout` seconds."""
        task = asyncio.current_task()
        if task is None:
            raise Bug("waiting for news outside of a task")
        if self._seen.get(task, 0) == self._count:
            try:
                async with asyncio.timeout(timeout):
                    await self._event.wait()
            except TimeoutError:
                return False
        self._seen[task] = self._count
        return True
