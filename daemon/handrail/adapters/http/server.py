"""Serves probes, metrics and the API on a TCP address and, where configured, on a socket of the local user."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from handrail.adapters.http.api import Desk, routes
from handrail.adapters.http.who import Who
from handrail.model.config import HttpConfig
from handrail.model.errors import BadConfig

Ready = Callable[[], Awaitable[dict[str, Any]]]
Metrics = Callable[[], Awaitable[bytes]]


class HttpServer:
    """`ready` answers {"ready": bool, …details}; `metrics` the Prometheus text format."""

    def __init__(self, config: HttpConfig, desk: Desk, who: Who, ready: Ready, metrics: Metrics) -> None:
        self._config = config
        app = web.Application(client_max_size=64 * 1024)
        app.add_routes([*routes(desk, who), *_probes(ready, metrics)])
        self._runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=2.0)

    async def start(self) -> str:
        """Returns the address it listens on (a port 0 in the configuration takes a free one)."""
        await self._runner.setup()
        host, _, port = self._config.listen.rpartition(":")
        if not port.isdigit():
            raise BadConfig(f"http.listen: {self._config.listen!r} is not HOST:PORT")
        try:
            await web.TCPSite(self._runner, host or "127.0.0.1", int(port)).start()
            if self._config.socket:
                await self._listen_locally(Path(self._config.socket))
        except OSError as taken:
            raise BadConfig(f"http: can't listen: {taken}; choose another `listen` or `socket`") from taken
        bound = self._runner.addresses[0]
        return f"http://{bound[0]}:{bound[1]}"

    async def _listen_locally(self, path: Path) -> None:
        """Only the owner may connect: file mode 0600 from the first moment on (umask), peer credentials besides."""
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            await web.UnixSite(self._runner, str(path)).start()
        finally:
            os.umask(before)

    async def stop(self) -> None:
        await self._runner.cleanup()
        if self._config.socket:
            Path(self._config.socket).unlink(missing_ok=True)


def _probes(ready: Ready, metrics: Metrics) -> list[web.RouteDef]:
    async def healthz(_request: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def readyz(_request: web.Request) -> web.Response:
        found = await ready()
        return web.json_response(found, status=200 if found["ready"] else 503)

    async def prometheus(_request: web.Request) -> web.Response:
        return web.Response(body=await metrics(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", prometheus)]
