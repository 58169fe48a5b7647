"""Why no broker can be reached: aiokafka keeps the reason to its log, so the addresses are tried again one by one."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import KafkaError

from handrail.adapters.kafka.words import explain, one_line

SECONDS = 5.0

NOT_REACHED = (KafkaError, OSError, EOFError, ValueError, AssertionError)
"""Refused, not resolved, not trusted, hung up, or an answer that is no Kafka (the client asserts what it expects)."""


async def unreachable(wire: dict[str, Any]) -> str:
    """One sentence for each bootstrap address when none can be used; "" when at least one can."""
    rest = {name: value for name, value in wire.items() if name != "bootstrap_servers"}
    hosts = collect_hosts(wire["bootstrap_servers"])
    found = await asyncio.gather(*(_try(host, port, rest) for host, port, _ in hosts))
    return one_line("; ".join(found)) if all(found) else ""


async def _try(host: str, port: int, rest: dict[str, Any]) -> str:
    try:
        async with asyncio.timeout(SECONDS):
            connection = await create_conn(host, port, **rest, request_timeout_ms=int(SECONDS * 1000))
    except NOT_REACHED as error:
        return f"{host}:{port}: {explain(error)}"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await connection.close()
    return ""
