"""The API of the CLI: JSON in, JSON out, every caller known by name. Errors say what to do next."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import structlog
from aiohttp import web

from handrail.adapters.http.who import Who
from handrail.model.approval import Person
from handrail.model.errors import HandrailError, Transient
from handrail.model.switch import EVERYTHING, Reach, Scope
from handrail.model.value import Value

log = structlog.get_logger("http")

VERBS = ("approve", "reject", "take", "give-back")
REASONED = ("cancel", "retry", "undo")
"""These need a reason."""
ID = r"{id:[A-Za-z0-9][A-Za-z0-9._-]{0,99}}"
MOST_ROWS = 1000
MOST_WHY = 500
MOST_NAME = 100


class Reply(Value):
    """`ok` False carries a Reason's word, or "" where the wish itself can't be understood; `message` is one sentence
    for the person who asked. `incident` is the whole id of what the answer is about, of a new one where one begins."""

    ok: bool
    message: str
    reason: str = ""
    incident: str = ""


class Desk(Protocol):
    """What people may see and do. `show` and `report` take an id or an unambiguous beginning of one; None: no such."""

    def may_read(self, person: Person) -> Reply | None:
        """None: yes. Else why not, and what to do."""

    async def incidents(self, limit: int) -> list[dict[str, Any]]: ...

    async def show(self, id_: str) -> dict[str, Any] | None: ...

    async def report(self, id_: str) -> str | None: ...

    async def decide(self, id_: str, verb: str, person: Person, request: str | None) -> Reply: ...

    async def ask(self, id_: str, verb: str, person: Person, why: str) -> Reply: ...

    async def switch(self, stop: bool, person: Person, why: str, reach: Reach) -> Reply: ...

    async def status(self) -> dict[str, Any]: ...

    async def audit(self) -> dict[str, Any]: ...


Handler = Callable[[web.Request, Person], Awaitable[web.StreamResponse]]
Plain = Callable[[web.Request], Awaitable[web.StreamResponse]]


def routes(desk: Desk, who: Who) -> list[web.RouteDef]:
    """All under /api/v1. A caller that nobody vouches for gets 401, one whom the policy does not name reads nothing."""
    api = _Api(desk)

    def known(handler: Handler) -> Plain:
        async def wrapped(request: web.Request) -> web.StreamResponse:
            try:
                person = await who(request)
            except HandrailError as unknown:
                return _error(503, f"can't find out who you are: {unknown}")
            if person is None:
                return _error(401, "send a Kubernetes token as bearer (`kubectl create token …`), or use the socket")
            return await handler(request, person)

        return wrapped

    def reads(handler: Handler) -> Plain:
        async def allowed(request: web.Request, person: Person) -> web.StreamResponse:
            no = desk.may_read(person)
            return await handler(request, person) if no is None else web.json_response(no.model_dump(), status=403)

        return known(allowed)

    return [
        web.get("/api/v1/incidents", reads(api.incidents)),
        web.get(f"/api/v1/incidents/{ID}", reads(api.show)),
        web.get(f"/api/v1/incidents/{ID}/report", reads(api.report)),
        web.post(f"/api/v1/incidents/{ID}/{{verb}}", known(api.decide)),
        web.post("/api/v1/stop", known(api.stop)),
        web.post("/api/v1/start", known(api.start)),
        web.get("/api/v1/status", reads(api.status)),
        web.get("/api/v1/audit", reads(api.audit)),
    ]


@web.middleware
async def in_json(request: web.Request, handler: Plain) -> web.StreamResponse:
    """Every error is the same JSON, the server's own (404, 405, 413) too. Whoever went away before the end of the body
    hears nothing; nothing of it was taken, and it is no fault of ours."""
    try:
        return await handler(request)
    except web.HTTPException as wrong:
        return _error(wrong.status, f"{request.method} {request.path[:200]}: {wrong.reason}")
    except (ConnectionError, web.RequestPayloadError) as gone:
        log.info("a request broke off", path=request.path[:200], why=str(gone)[:200])
        return _error(400, "the request broke off before its end; nothing of it was taken")
    except Transient as away:
        return _error(503, str(away))
    except HandrailError as broken:
        log.error("a request failed", path=request.path[:200], why=str(broken))
        return _error(500, f"{type(broken).__name__}: {broken}")


class _Api:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def incidents(self, request: web.Request, _person: Person) -> web.Response:
        limit = request.query.get("limit", "50")
        if not (limit.isascii() and limit.isdecimal() and len(limit) <= 4 and 1 <= int(limit) <= MOST_ROWS):
            return _error(400, f"limit: a whole number from 1 to {MOST_ROWS}")
        return web.json_response({"incidents": await self._desk.incidents(int(limit))})

    async def show(self, request: web.Request, _person: Person) -> web.Response:
        found = await self._desk.show(request.match_info["id"])
        return web.json_response(found) if found is not None else _no_such(request)

    async def report(self, request: web.Request, _person: Person) -> web.Response:
        text = await self._desk.report(request.match_info["id"])
        if text is None:
            return _no_such(request)
        return web.Response(body=text.encode(errors="replace"), content_type="text/plain", charset="utf-8")

    async def decide(self, request: web.Request, person: Person) -> web.Response:
        verb = request.match_info["verb"]
        if verb not in (*VERBS, *REASONED):
            return _error(404, f"no such verb: {verb[:50]}; known: {', '.join((*VERBS, *REASONED))}")
        body = await _body(request)
        if verb in REASONED:
            return await self._ask(request.match_info["id"], verb, person, body.get("why", ""))
        asked = body.get("request")
        if not (asked is None or isinstance(asked, str)):
            return _error(400, "request: the id of what was asked, as text")
        return _reply(await self._desk.decide(request.match_info["id"], verb, person, asked or None))

    async def _ask(self, id_: str, verb: str, person: Person, why: object) -> web.Response:
        if not isinstance(why, str):
            return _error(400, "why: a text")
        return _reply(await self._desk.ask(id_, verb, person, why[:MOST_WHY]))

    async def stop(self, request: web.Request, person: Person) -> web.Response:
        return await self._switch(request, person, stop=True)

    async def start(self, request: web.Request, person: Person) -> web.Response:
        return await self._switch(request, person, stop=False)

    async def _switch(self, request: web.Request, person: Person, *, stop: bool) -> web.Response:
        body = await _body(request)
        why = body.get("why", "")
        reach = _reach(body)
        if not isinstance(why, str) or reach is None:
            return _error(400, "why, namespace, step: texts, nothing else, and not both a namespace and a step")
        return _reply(await self._desk.switch(stop, person, why[:MOST_WHY], reach))

    async def status(self, _request: web.Request, _person: Person) -> web.Response:
        return web.json_response(await self._desk.status())

    async def audit(self, _request: web.Request, _person: Person) -> web.Response:
        return web.json_response(await self._desk.audit())


async def _body(request: web.Request) -> dict[str, Any]:
    """{} where there is none. Raises HTTPBadRequest, HTTPRequestEntityTooLarge."""
    raw = await request.read()
    try:
        data = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise web.HTTPBadRequest(reason="the body must be a JSON object")
    return data


def _reach(body: dict[str, Any]) -> Reach | None:
    """Everything only where nothing else is named: what can't be read is taken for neither more nor less."""
    named = [(scope, body[scope]) for scope in (Scope.NAMESPACE, Scope.STEP) if scope in body]
    if body.keys() - {"why", Scope.NAMESPACE, Scope.STEP}:
        return None
    if not named:
        return EVERYTHING
    scope, name = named[0]
    if len(named) > 1 or not isinstance(name, str) or not name:
        return None
    return Reach(scope=scope, name=name[:MOST_NAME])


def _reply(reply: Reply) -> web.Response:
    return web.json_response(reply.model_dump(), status=200 if reply.ok else 409)


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"ok": False, "reason": "", "message": message}, status=status)


def _no_such(request: web.Request) -> web.Response:
    return _error(404, no_such(request.match_info["id"]))


def no_such(id_: str) -> str:
    return f"{id_!r} is no incident's id, nor the beginning of one alone; see `handrail incidents list`"
