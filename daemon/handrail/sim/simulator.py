"""The simulated cluster as a whole, with its HTTP server: what the demo and tests start.

It wires and drives; all that Kubernetes is said to do is decided in the modules that it puts together.
"""

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from .api import Api
from .clock import Clock, WallClock
from .cluster import Cluster
from .kubelet import Pace
from .logs import LogBook
from .rights import MASTERS, Rights, Rule
from .server import Server

_CLUSTER = "handrail-sim"
_LOG = logging.getLogger(__name__)


class Simulator:
    """A small cluster on a free port of the loopback interface, from `start` to `stop`.

    `token` is that of an admin; more users come by `add_token`.
    """

    def __init__(
        self, *, pace: Pace | None = None, nodes: int = 3, seed: int | None = None, clock: Clock | None = None
    ) -> None:
        self.cluster = Cluster(clock or WallClock(), pace, nodes=nodes, seed=seed)
        self.logs = LogBook()
        self.rights = Rights()
        self.token = secrets.token_urlsafe(16)
        self.rights.add(self.token, "admin", [MASTERS], [])
        self._server = Server(Api(self.cluster.registry, self.rights, self.logs))
        self._driver: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return self._server.url

    async def start(self, port: int = 0) -> None:
        await self._server.start(port)
        self._driver = asyncio.create_task(self._drive(), name="simulated-cluster")
        self._driver.add_done_callback(_tell)

    async def stop(self) -> None:
        """End the server and the controllers; raises what a controller has died of."""
        await self._server.stop()
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.cancel()
            try:
                await driver
            except asyncio.CancelledError:
                pass

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def set_logs(self, image_substring: str, current: str, previous: str = "") -> None:
        """What containers print whose image has this in its name, and what their run before printed."""
        self.logs.set(image_substring, current, previous)

    def add_token(self, token: str, username: str, groups: Iterable[str] = (), can: Iterable[Rule] = ()) -> None:
        """Make a user known by this token; said again, it changes what that user may do."""
        self.rights.add(token, username, groups, can)

    def kubeconfig(self, path: Path, token: str = "") -> Path:
        """Write a kubeconfig for this token (the admin's if none is given) that only its owner can read."""
        named = {"name": _CLUSTER}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [named | {"cluster": {"server": self.url}}],
            "users": [named | {"user": {"token": token or self.token}}],
            "contexts": [named | {"context": {"cluster": _CLUSTER, "user": _CLUSTER}}],
            "current-context": _CLUSTER,
        }
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2)  # JSON is YAML
        return path

    async def _drive(self) -> None:
        """Let the cluster live: after every write and whenever something is due."""
        changed = asyncio.Event()
        ignore = self.cluster.store.listen(changed.set)
        try:
            while True:
                due = self.cluster.settle()
                changed.clear()
                await _wait(changed, self._seconds_until(due))
        finally:
            ignore()

    def _seconds_until(self, due: datetime | None) -> float | None:
        return None if due is None else max((due - self.cluster.clock.now()).total_seconds(), 0.0)


def _tell(driver: asyncio.Task[None]) -> None:
    """A cluster whose controllers have died looks alive: say so at once, `stop` raises it."""
    if not driver.cancelled() and (error := driver.exception()):
        _LOG.error("the simulated cluster has died", exc_info=error)


async def _wait(changed: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        pass
