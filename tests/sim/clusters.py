"""The two clusters of the differential test, behind one way of asking.

Decides: how a request is put into HTTP. Never retries, and judges no answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from handrail.sim import Pace, Simulator
from tests.servers.cluster import Cluster
from tests.sim.asks import Ask, Reply, Send, read

FAST = Pace(start=0.1, flap=0.3, stop=0.05)


@asynccontextmanager
async def simulated(simulator: Simulator) -> AsyncIterator[Send]:
    """Ask this simulator as its admin."""
    headers = {"Authorization": f"Bearer {simulator.token}"}
    async with aiohttp.ClientSession(simulator.url, headers=headers) as session:

        async def send(ask: Ask, path: str, body: Any) -> Reply:
            data = body if body is None or isinstance(body, str) else json.dumps(body)
            typed = {"Content-Type": ask.content_type} if body is not None else {}
            async with session.request(ask.method, path, params=dict(ask.query), data=data, headers=typed) as response:
                return Reply(response.status, read(await response.text()))

        yield send


def real(cluster: Cluster) -> Send:
    """Ask this real cluster as its admin."""

    async def send(ask: Ask, path: str, body: Any) -> Reply:
        answer = await asyncio.to_thread(cluster.api.call, ask.method, path, body, ask.content_type, **dict(ask.query))
        return Reply(answer.status, read(answer.text))

    return send
