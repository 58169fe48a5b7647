"""Serves probes, metrics, the API and the doors for alerts on TCP addresses and, where configured, a local socket."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from handrail.adapters.http.api import Desk, in_json, routes
from handrail.adapters.http.who import Who
from handrail.model.config import HttpConfig
from handrail.model.errors import BadConfig, HandrailError

Ready = Callable[[], Awaitable[dict[str, Any]]]
Metrics = Callable[[], Awaitable[bytes]]
Reads = Callable[[web.Request], Awaitable[bool]]

FOR_READERS = ("degraded_incidents",)
"""What /readyz says of incidents; everybody else who can connect learns how many they are."""

MOST_BODY = 64 * 1024

IDLE_SECONDS = 75.0
"""A connection on which no whole request comes for so long is closed: whoever opens many and says nothing, or one
letter at a time, needs no token for that, and must not take the places of probes and senders. The library's own is an
hour."""


class HttpServer:
    """`ready` answers {"ready": bool, …details}, some of them FOR_READERS; `metrics` the Prometheus text format."""

    def __init__(self, config: HttpConfig, desk: Desk, who: Who, ready: Ready, metrics: Metrics) -> None:
        self._config = config
        self._socket: Path | None = None
        self._stuck: Callable[[], str] = lambda: ""
        self._app = _application(
            [*routes(desk, who), *_probes(ready, metrics, _reads(desk, who), lambda: self._stuck())]
        )
        self._runner = _runner(self._app)
        self._doors: web.AppRunner | None = None

    def alive_unless(self, stuck: Callable[[], str]) -> None:
        """While that says why a restart would help, /healthz fails with it."""
        self._stuck = stuck

    def take_alerts(self, doors: Sequence[web.RouteDef]) -> None:
        """Before the start: serves these too, where the configuration has them listen."""
        if self._config.intake:
            self._doors = _runner(_application(doors))
        else:
            self._app.add_routes(doors)

    async def start(self) -> str:
        """Returns the address it listens on (a port 0 in the configuration takes a free one). Raises BadConfig."""
        try:
            await _listen(self._runner, self._config.listen, "http.listen")
            if self._doors is not None:
                await _listen(self._doors, self._config.intake, "http.intake")
            if self._config.socket:
                await self._listen_locally(Path(self._config.socket))
        except (OSError, BadConfig) as wrong:
            await self.stop()
            if isinstance(wrong, BadConfig):
                raise
            raise BadConfig(f"http: can't listen: {wrong}; choose another `listen`, `intake` or `socket`") from wrong
        return _address(self._runner)

    @property
    def intake_address(self) -> str:
        """Once it has started: where alerts are taken, if anywhere."""
        return _address(self._doors or self._runner)

    async def _listen_locally(self, path: Path) -> None:
        """Only the owner may connect: file mode 0600 from the first moment on (umask), peer credentials besides."""
        _make_room(path)
        before = os.umask(0o177)
        try:
            await web.UnixSite(self._runner, str(path)).start()
        finally:
            os.umask(before)
        self._socket = path

    async def stop(self) -> None:
        """Answers what it has begun, for two seconds at most; what gets no answer is sent again."""
        if self._doors is not None:
            await self._doors.cleanup()
        await self._runner.cleanup()
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)
            self._socket = None


def _application(served: Sequence[web.RouteDef]) -> web.Application:
    app = web.Application(client_max_size=MOST_BODY, middlewares=[in_json])
    app.add_routes(served)
    return app


def _runner(app: web.Application) -> web.AppRunner:
    """Bodies are inflated by those who bound them, never on the way in."""
    return web.AppRunner(
        app,
        handle_signals=False,
        access_log=None,
        shutdown_timeout=2.0,
        auto_decompress=False,
        keepalive_timeout=IDLE_SECONDS,
    )


async def _listen(runner: web.AppRunner, listen: str, key: str) -> None:
    host, port = listen_address(listen, key)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()


def _address(runner: web.AppRunner) -> str:
    bound = runner.addresses[0]
    return f"http://[{bound[0]}]:{bound[1]}" if ":" in bound[0] else f"http://{bound[0]}:{bound[1]}"


def listen_address(listen: str, key: str = "http.listen") -> tuple[str, int]:
    """HOST:PORT or [IPv6]:PORT. A host is required: an empty one means everywhere to some and here to others."""
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        raise BadConfig(f"{key}: {listen!r} is not HOST:PORT")
    if not host:
        raise BadConfig(f"{key}: {listen!r} names no host; 0.0.0.0 for every address, 127.0.0.1 for this machine")
    return host, int(port)


def _make_room(path: Path) -> None:
    """A socket that a killed daemon left behind is removed; one that still answers, or a file, never is."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise BadConfig(f"http.socket: {path} is there and is no socket; name another path")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        if probe.connect_ex(str(path)) == 0:
            raise BadConfig(f"http.socket: another process answers at {path}; is a daemon running already?")
    path.unlink(missing_ok=True)


def _reads(desk: Desk, who: Who) -> Reads:
    """Never fails and asks nobody for a caller without a token: a probe has to be answered whatever is away."""

    async def reads(request: web.Request) -> bool:
        try:
            person = await who(request)
        except HandrailError:
            return False
        return person is not None and desk.may_read(person) is None

    return reads


def _probes(ready: Ready, metrics: Metrics, reads: Reads, stuck: Callable[[], str]) -> list[web.RouteDef]:
    async def healthz(_request: web.Request) -> web.Response:
        why = stuck()
        return web.json_response({"alive": not why, **({"why": why} if why else {})}, status=503 if why else 200)

    async def readyz(request: web.Request) -> web.Response:
        found = await ready()
        if any(key in found for key in FOR_READERS) and not await reads(request):
            found = {key: said for key, said in found.items() if key not in FOR_READERS}
        return web.json_response(found, status=200 if found["ready"] else 503)

    async def prometheus(_request: web.Request) -> web.Response:
        return web.Response(body=await metrics(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", prometheus)]
