"""An API server that answers what it is told, and a relay that loses answers: what a real one can't be made to do."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from handrail.adapters.kubernetes import Cluster
from handrail.model.config import KubernetesConfig


@dataclass
class Told:
    """One request as it arrived; `body` is parsed JSON."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Say:
    """One answer. `cut` closes the connection instead, `hang` never answers; `raw` is sent as it is."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: str = ""
    cut: bool = False
    hang: bool = False


def missing(name: str, kind: str = "pods") -> Say:
    details = {"name": name, "kind": kind}
    return refusal(404, "NotFound", f'{kind} "{name}" not found', details)


def refusal(status: int, reason: str, message: str, details: dict[str, Any] | None = None) -> Say:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}
    return Say(status, {**body, "code": status, "details": details or {}})


class Scripted:
    """Answers in the given order, or by a function of the request; `told` is what was asked."""

    def __init__(self, *answers: Say, by: Callable[[Told], Say] | None = None) -> None:
        self.told: list[Told] = []
        self._answers = list(answers)
        self._by = by

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        told = Told(
            request.method, request.path, dict(request.query), dict(request.headers), json.loads(raw) if raw else None
        )
        self.told.append(told)
        answer = self._by(told) if self._by else self._answers.pop(0)
        if answer.hang:
            await asyncio.Event().wait()
        if answer.cut:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        text = answer.raw or json.dumps(answer.body if answer.body is not None else {})
        kind = "text/plain" if answer.raw else "application/json"
        return web.Response(status=answer.status, text=text, content_type=kind, headers=answer.headers)


@asynccontextmanager
async def listening(handle: Callable[[web.Request], Any], tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The URL of a server on the loopback interface whose every path goes to `handle`."""

    async def serve(request: web.Request) -> web.StreamResponse:
        answer: web.StreamResponse = await handle(request)
        return answer

    app = web.Application(client_max_size=8 * 1024 * 1024)
    app.router.add_route("*", "/{tail:.*}", serve)
    server = TestServer(app, scheme="https" if tls else "http", skip_url_asserts=True)
    await server.start_server(ssl=tls)
    try:
        yield str(server.make_url("/")).rstrip("/")
    finally:
        await server.close()


def kubeconfig(path: Path, url: str, token: str = "t0ken", **cluster: Any) -> KubernetesConfig:
    """A kubeconfig for that server, and the configuration that names it."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = path / "kubeconfig"
    file.write_text(json.dumps(document), encoding="utf-8")
    return KubernetesConfig(mode="kubeconfig", kubeconfig=str(file), request_seconds=5)


@asynccontextmanager
async def cluster_of(tmp_path: Path, scripted: Callable[[web.Request], Any]) -> AsyncIterator[Cluster]:
    async with listening(scripted) as url, Cluster(kubeconfig(tmp_path, url)) as cluster:
        yield cluster


class LosesAnswers:
    """Passes requests on to a real API server. A write that `armed` names is passed on, and its answer lost."""

    def __init__(self, url: str, tls: Any) -> None:
        self.armed = 0
        self.passed: list[str] = []
        self._url = url
        self._tls = tls

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        headers = {name: text for name, text in request.headers.items() if name not in ("Host", "Content-Length")}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method,
                self._url + request.path_qs,
                data=await request.read(),
                headers=headers,
                ssl=self._tls,
                allow_redirects=False,
            ) as answer,
        ):
            raw = await answer.read()
        if request.method != "GET" and "dryRun" not in request.query:
            self.passed.append(f"{request.method} {request.path}")
            if self.armed:
                self.armed -= 1
                assert request.transport is not None
                request.transport.abort()
        return web.Response(status=answer.status, body=raw, content_type=answer.content_type)
