"""Runs a fake as a process of its own and drives it over its control API.

async with running("tests.fakes.slack") as slack:
    slack.address["base_url"]
    await slack.do("click", message_ts=ts, action_id="approve")
    await slack.wait("find", text="Done")
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

Json = dict[str, Any]

_ROOT = Path(__file__).parents[2]


@dataclass
class Remote:
    """A fake in another process. `read`, `do` and `wait` raise AssertionError with the fake's own words."""

    address: Json
    session: aiohttp.ClientSession

    async def read(self, name: str, **query: str) -> Any:
        return await self._ask("GET", name, params=query)

    async def do(self, name: str, **given: Any) -> Any:
        return await self._ask("POST", name, json=given)

    async def wait(self, name: str, timeout: float = 5.0, **query: str) -> Any:
        """The read's first truthy answer."""
        return await self._ask("GET", "wait", params={"for": name, "timeout": str(timeout), **query})

    async def _ask(self, verb: str, name: str, **how: Any) -> Any:
        async with self.session.request(verb, f"{self.address['url']}/_control/{name}", **how) as answer:
            body = await answer.json()
            assert answer.status == 200, f"{name}: {body}"
            return body


@asynccontextmanager
async def running(module: str, *options: str) -> AsyncIterator[Remote]:
    """Starts `python -m <module>`, yields once it listens, and ends it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, "--json", *options, stdout=asyncio.subprocess.PIPE, cwd=_ROOT
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 20)
        assert line, f"{module} ended before it listened"
        async with aiohttp.ClientSession() as session:
            yield Remote(json.loads(line), session)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
