"""The control API that every fake has under `/_control`, for tests that run the fake as a process of its own.

`GET /_control/<name>?k=v` reads, `POST /_control/<name>` with a JSON object of keyword arguments does; the names are
the fake's own. A mistake of the test is HTTP 400 with `{"error": ...}`. `GET /_control/wait?for=<name>&k=v&timeout=5`
answers as soon as that read gives something truthy, or HTTP 408. `POST /_control/release` ends an ordered hang.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from tests.fakes.faults import Fault
from tests.fakes.loopback import Bell

Json = dict[str, Any]
Verb = Callable[..., Any]


class Desk:
    def __init__(self, reads: Mapping[str, Verb], deeds: Mapping[str, Verb], bell: Bell) -> None:
        self._reads, self._deeds, self._bell = reads, deeds, bell
        self._ordered: list[Fault] = []

    def routes(self, app: web.Application) -> None:
        app.router.add_get("/_control/wait", self._wait)
        app.router.add_post("/_control/release", self._release)
        app.router.add_get("/_control/{name}", self._read)
        app.router.add_post("/_control/{name}", self._do)

    async def _read(self, request: web.Request) -> web.Response:
        return await self._answer(self._reads, request.match_info["name"], dict(request.query))

    async def _do(self, request: web.Request) -> web.Response:
        given = await request.json() if request.can_read_body else {}
        return await self._answer(self._deeds, request.match_info["name"], given)

    async def _answer(self, verbs: Mapping[str, Verb], name: str, given: Json) -> web.Response:
        if name not in verbs:
            return web.json_response({"error": f"no {name}; there are {sorted(verbs)}"}, status=404)
        try:
            done = verbs[name](**given)
            if inspect.isawaitable(done):
                done = await done
        except (TypeError, ValueError, LookupError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response(self._plain(done))

    async def _wait(self, request: web.Request) -> web.Response:
        given = dict(request.query)
        name, timeout = given.pop("for", ""), float(given.pop("timeout", "5"))
        if name not in self._reads:
            return web.json_response({"error": f"no {name}; there are {sorted(self._reads)}"}, status=404)
        try:
            found = await self._bell.wait_for(lambda: self._reads[name](**given), timeout, name)
        except TimeoutError as error:
            return web.json_response({"error": str(error)}, status=408)
        return web.json_response(self._plain(found))

    async def _release(self, request: web.Request) -> web.Response:
        given = await request.json()
        self._ordered[given["fault"]].release()
        return web.json_response({})

    def _plain(self, value: Any) -> Any:
        """JSON of what a verb gave; an ordered fault becomes the number by which it can be released."""
        if isinstance(value, Fault):
            self._ordered.append(value)
            return {"fault": len(self._ordered) - 1}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            named = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.name[0] != "_"}
            return self._plain(named)
        if isinstance(value, Mapping):
            return {str(name): self._plain(item) for name, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._plain(item) for item in value]
        return value
