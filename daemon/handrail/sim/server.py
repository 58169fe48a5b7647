"""The HTTP server of the simulated cluster: sockets, headers and streams, on the loopback interface.

It decides nothing about objects; `api` does. It never listens on another interface.
"""

import json
from contextlib import aclosing

from aiohttp import web

from . import watch
from .api import Api, Reply, Request
from .paths import Target
from .status import ApiError

_HOST = "127.0.0.1"
_BODY_LIMIT = 3 * 1024 * 1024  # what a real API server takes


class Server:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self, port: int = 0) -> str:
        """Listen on this port, or on a free one, and return the URL."""
        app = web.Application(client_max_size=_BODY_LIMIT)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, _HOST, port)
        await site.start()
        self.url = f"http://{_HOST}:{self._runner.addresses[0][1]}"
        return self.url

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = await _read(request)
            if asked.watches:
                return await self._watch(request, asked)
            return _written(self._api.answer(asked))
        except ApiError as error:
            return _refused(error)

    async def _watch(self, request: web.Request, asked: Request) -> web.StreamResponse:
        target = self._api.admitted(asked, self._api.rights.who(asked.authorization))
        if not isinstance(target, Target):
            return _written(self._api.answer(asked))
        events = watch.events(self._api.registry.store, target, asked.query)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            async with aclosing(events):
                async for event in events:
                    await response.write(json.dumps(event).encode() + b"\n")
            await response.write_eof()
        except ConnectionResetError:
            pass  # the watcher has gone: nothing is left to tell
        return response


async def _read(request: web.Request) -> Request:
    return Request(
        method=request.method,
        path=request.path,
        query=dict(request.query),
        body=await request.read(),
        content_type=request.content_type,
        authorization=request.headers.get("Authorization", ""),
        user_agent=request.headers.get("User-Agent", ""),
    )


def _written(reply: Reply) -> web.Response:
    if isinstance(reply.body, str):
        return web.Response(status=reply.code, text=reply.body)
    response = web.json_response(reply.body, status=reply.code)
    for warning in reply.warnings:
        escaped = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{escaped}"')
    return response


def _refused(error: ApiError) -> web.Response:
    if error.text:
        return web.Response(status=error.code, text=error.message)
    again = (error.details or {}).get("retryAfterSeconds")
    headers = {"Retry-After": str(again)} if again else {}
    return web.json_response(error.body(), status=error.code, headers=headers)
