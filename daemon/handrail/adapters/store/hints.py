"""Listening for what other replicas have committed.

Only a hint: loops poll all the same, so a line that is cut costs time and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import structlog

from handrail.adapters.store.home import CHANNEL
from handrail.adapters.store.wake import Wake
from handrail.model.errors import BadConfig

log = structlog.get_logger("store")

RETRY_SECONDS = 2.0


Connect = Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]
"""Raises psycopg.Error, BadConfig."""


class Hints:
    """`mine` is this replica's own name: what it says itself wakes nobody here a second time."""

    def __init__(self, connect: Connect, wake: Wake, mine: str) -> None:
        self._connect = connect
        self._wake = wake
        self._mine = mine
        self._down = False

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                async with await self._connect() as line:
                    await self._listen(line)
            except (psycopg.Error, OSError, BadConfig) as cut:
                if not self._down:
                    log.warning("no hints from other replicas: polling goes on", why=" ".join(str(cut).split())[:300])
                self._down = True
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self, line: psycopg.AsyncConnection[Any]) -> None:
        await line.execute(f"LISTEN {CHANNEL}")
        self._down = False
        self._wake.nudge()  # whatever was said before
        async for said in line.notifies():
            if said.payload != self._mine:
                self._wake.nudge()
