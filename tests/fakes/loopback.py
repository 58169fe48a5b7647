"""What every fake here shares: a loopback server, waiting without polling, and standalone mode.

Not for the network: it binds 127.0.0.1 only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web

T = TypeVar("T")
Json = dict[str, Any]

MAX_BODY = 40 * 2**20


class Bell:
    """Wakes those who wait for the fake's state to change."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait_for(self, predicate: Callable[[], T | None], timeout: float = 5.0, what: str = "") -> T:
        """The predicate's first truthy value; it is looked at again after each change. Raises TimeoutError."""
        try:
            async with asyncio.timeout(timeout):
                while not (found := predicate()):
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.add(waiter)
                    try:
                        await waiter
                    finally:
                        self._waiters.discard(waiter)
                return found
        except TimeoutError:
            raise TimeoutError(f"not within {timeout} s: {what or 'the awaited state'}") from None


class Loopback(ABC):
    """An aiohttp server on a free port of 127.0.0.1; `async with` starts and stops it."""

    def __init__(self, port: int = 0) -> None:
        self.bell = Bell()
        self._port = port
        self._runner: web.AppRunner | None = None
        self.closing = asyncio.Event()

    @abstractmethod
    def routes(self, app: web.Application) -> None:
        """Adds the fake's routes."""

    def address(self) -> Json:
        """What a process that starts this fake needs to know to use it."""
        return {"url": self.url}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> Self:
        app = web.Application(client_max_size=MAX_BODY)
        self.routes(app)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def close(self) -> None:
        """Lets go of every held request, then stops listening."""
        self.closing.set()
        self.bell.ring()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    async def wait_for(self, predicate: Callable[[], T | None], timeout: float = 5.0, what: str = "") -> T:
        return await self.bell.wait_for(predicate, timeout, what)


async def serve(fake: Loopback, as_json: bool) -> None:
    """Runs the fake until SIGTERM or SIGINT; its address is the first line on standard output."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with fake:
        address = fake.address()
        print(json.dumps(address) if as_json else "\n".join(f"{k}: {v}" for k, v in address.items()), flush=True)
        await stop.wait()


def parser(what: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=what)
    made.add_argument("--port", type=int, default=0, help="0 takes a free one")
    made.add_argument("--json", action="store_true", help="print the address as one JSON object")
    return made
