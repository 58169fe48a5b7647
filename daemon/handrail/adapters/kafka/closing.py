"""Ends aiokafka's clients for sure. Their own `stop` hangs or raises CancelledError while brokers are away and then
leaves tasks and connections behind (library trap), so what is left is found by walking the client, and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import AIOKafkaConnection

POLITE_SECONDS = 1.5
"""For leaving the group and flushing; an ending daemon has 3 s in all."""
REST_SECONDS = 1.0


async def close(*clients: Any) -> None:
    """Never raises but CancelledError of the caller, and even then closes what can be closed at once."""
    before = set(_tasks_and_connections(clients))
    stops: set[asyncio.Task[Any]] = {asyncio.create_task(_ending(client)) for client in clients}
    try:
        await asyncio.wait(stops, timeout=POLITE_SECONDS)
    finally:
        await _end(stops | before | set(_tasks_and_connections(clients)))


def _ending(client: Any) -> Coroutine[Any, Any, None]:
    found: Coroutine[Any, Any, None] = client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop()
    return found


async def _end(left: set[Any]) -> None:
    """Connections first: a task that waits for an answer then ends by itself.

    TLS says goodbye on a closed connection, for up to 30 s with a broker that hangs; that is cut short.
    """
    connections = [one for one in left if isinstance(one, AIOKafkaConnection) and one._writer is not None]
    transports = [one._writer.transport for one in connections]
    gone = [one.close() for one in connections]
    tasks = {one for one in left if isinstance(one, asyncio.Task)}
    for task in tasks:
        task.cancel()
    if tasks or gone:
        await asyncio.wait({*tasks, *gone}, timeout=REST_SECONDS)
    for transport in transports:
        transport.abort()
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
        if _is_aiokafkas(one):
            queue += getattr(one, "__dict__", {}).values()
        elif isinstance(one, dict):
            queue += one.values()
        elif isinstance(one, set | list):
            queue += one
    yield from (task for task in asyncio.all_tasks() if _is_aiokafkas(owner := _whose(task)) and id(owner) in seen)


def _is_aiokafkas(one: Any) -> bool:
    return type(one).__module__.startswith("aiokafka.")


def _whose(task: asyncio.Task[Any]) -> Any:
    """The object whose method a task runs: a commit that was shielded from our cancelling hangs on nothing else."""
    frame = getattr(task.get_coro(), "cr_frame", None)
    return frame.f_locals.get("self") if frame else None
