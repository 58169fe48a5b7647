"""Ends aiokafka's clients for sure. Their own `stop` hangs or raises CancelledError while brokers are away and then
leaves tasks and connections behind (library trap), so what is left is found by walking the client, and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from aiokafka.conn import AIOKafkaConnection

POLITE_SECONDS = 1.5
"""For leaving the group and flushing; an ending daemon has 3 s in all."""
REST_SECONDS = 1.0


async def close(*clients: Any) -> None:
    """Never raises but CancelledError of the caller, and even then closes what can be closed at once."""
    stops: set[asyncio.Task[Any]] = {asyncio.create_task(client.stop()) for client in clients}
    try:
        await asyncio.wait(stops, timeout=POLITE_SECONDS)
    finally:
        await _end(stops | set(_tasks_and_connections(clients)))


async def _end(left: set[Any]) -> None:
    """Connections first: a task that waits for an answer then ends by itself."""
    for one in left:
        if isinstance(one, AIOKafkaConnection):
            one.close()
    tasks = {one for one in left if isinstance(one, asyncio.Task)}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=REST_SECONDS)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()  # looked at, else asyncio complains that nobody did


def _tasks_and_connections(roots: tuple[Any, ...]) -> Iterator[Any]:
    queue, seen = list(roots), set()
    while queue:
        one = queue.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, asyncio.Task | AIOKafkaConnection):
            yield one
        if type(one).__module__.startswith("aiokafka."):
            queue += getattr(one, "__dict__", {}).values()
        elif isinstance(one, dict):
            queue += one.values()
        elif isinstance(one, set | list):
            queue += one
