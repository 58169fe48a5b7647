"""A desk and a token review of the tests' own, and a daemon's HTTP server around them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from handrail.adapters.http import HttpServer, Reply, Who
from handrail.adapters.http.who import TokenReview
from handrail.model.approval import Person
from handrail.model.config import HttpConfig
from handrail.model.errors import Transient
from handrail.model.switch import Reach

SRE = Person(via="kubernetes", name="alice", groups=("sre",))


class Reviews:
    """Vouches for the tokens it knows. `away` raises as the API server's absence does."""

    def __init__(self, **people: Person) -> None:
        self.people = people
        self.asked: list[str] = []
        self.away = ""

    async def token_review(self, token: str) -> Person | None:
        self.asked.append(token)
        if self.away:
            raise Transient(self.away)
        return self.people.get(token)


@dataclass
class PlainDesk:
    """Answers from memory and notes who asked what. `broken` is raised by every method."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    reply: Reply = field(default_factory=lambda: Reply(ok=True, message="approved"))
    broken: Exception | None = None
    unread: Reply | None = None

    def may_read(self, person: Person) -> Reply | None:
        return self.unread

    def _note(self, *what: Any) -> None:
        self.asked.append(what)
        if self.broken is not None:
            raise self.broken

    async def incidents(self, limit: int) -> list[dict[str, Any]]:
        self._note("incidents", limit)
        return [{"id": "inc-1"}]

    async def show(self, id_: str) -> dict[str, Any] | None:
        self._note("show", id_)
        return {"incident": id_} if id_ == "inc-1" else None

    async def report(self, id_: str) -> str | None:
        self._note("report", id_)
        return "all of it \ud800" if id_ == "inc-1" else None

    async def decide(self, id_: str, verb: str, person: Person, request: str | None) -> Reply:
        self._note("decide", id_, verb, person, request)
        return self.reply

    async def ask(self, id_: str, verb: str, person: Person, why: str) -> Reply:
        self._note("ask", id_, verb, person, why)
        return self.reply

    async def switch(self, stop: bool, person: Person, why: str, reach: Reach) -> Reply:
        self._note("switch", stop, person, why, reach)
        return self.reply

    async def status(self) -> dict[str, Any]:
        self._note("status")
        return {"stopped": False}

    async def audit(self) -> dict[str, Any]:
        self._note("audit")
        return {"ok": True}


@dataclass
class Answer:
    status: int
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Site:
    """The running server; `state` is what /readyz says."""

    url: str
    desk: PlainDesk
    socket: str = ""
    state: dict[str, Any] = field(default_factory=lambda: {"ready": True})

    async def get(self, path: str, token: str = "") -> Answer:
        return await self.call("GET", path, token=token)

    async def post(self, path: str, body: Any = None, token: str = "") -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        return await self.call("POST", path, data, token)

    async def call(self, method: str, path: str, data: bytes = b"", token: str = "") -> Answer:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return await fetch(self.url, method, path, data, headers)

    async def locally(self, method: str, path: str, data: bytes = b"") -> Answer:
        return await fetch("http://localhost", method, path, data, {}, aiohttp.UnixConnector(self.socket))


async def fetch(
    url: str, method: str, path: str, data: bytes, headers: dict[str, str], way: aiohttp.BaseConnector | None = None
) -> Answer:
    async with (
        aiohttp.ClientSession(connector=way) as session,
        session.request(method, url + path, data=data or None, headers=headers) as answer,
    ):
        return Answer(answer.status, await answer.text(), dict(answer.headers))


@asynccontextmanager
async def site(reviews: TokenReview, socket: str = "", listen: str = "127.0.0.1:0") -> AsyncIterator[Site]:
    desk = PlainDesk()
    found = Site("", desk, socket)

    async def ready() -> dict[str, Any]:
        return found.state

    async def metrics() -> bytes:
        return b"handrail_up 1\n"

    server = HttpServer(HttpConfig(listen=listen, socket=socket), desk, Who(reviews), ready, metrics)
    found.url = await server.start()
    try:
        yield found
    finally:
        await server.stop()
