"""Starts aiokafka's clients so that nothing is left where the start is cut short, by a time-out or by SIGTERM.

While it asks for the cluster's brokers, the library holds its first connection in a local variable alone (`bootstrap`
of aiokafka/client.py): who is cancelled there loses it, open, and asyncio complains of it at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from aiokafka.conn import AIOKafkaConnection

REST_SECONDS = 1.0


async def start(client: Any) -> None:
    """`client.start()`. The caller closes the client, started or not."""
    starting = asyncio.ensure_future(client.start())
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        held = list(_held_by(starting))
        starting.cancel()
        await asyncio.wait({starting, *(connection.close() for connection in held)}, timeout=REST_SECONDS)
        if starting.done() and not starting.cancelled():
            starting.exception()  # looked at, else asyncio complains that nobody did
        raise


def _held_by(task: asyncio.Task[Any]) -> Iterator[AIOKafkaConnection]:
    """Connections in the local variables of what it is waiting in."""
    waiting: Any = task.get_coro()
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None)
        local = frame.f_locals.values() if frame is not None else ()
        yield from (one for one in local if isinstance(one, AIOKafkaConnection) and one.connected())
        waiting = getattr(waiting, "cr_await", None)
