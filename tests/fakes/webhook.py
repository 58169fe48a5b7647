"""FakeWebhook: a sink for JSON posts, recording each, with faults to order.

Strict about: POST only, JSON only (HTTP 415), valid JSON (400). A post that is answered with a fault is recorded too,
with that status, because its receiver may have acted on it. It verifies no signature: the headers are there to look at.
`python -m tests.fakes.webhook --json` runs it as a process.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes.control import Desk
from tests.fakes.faults import Fault, Faults, Kind, abort
from tests.fakes.loopback import Loopback, parser, serve

Json = dict[str, Any]


@dataclass(frozen=True)
class Post:
    """`status` is what it was answered with; 0 when the connection was cut."""

    path: str
    headers: Mapping[str, str]
    body: Any
    status: int


class FakeWebhook(Loopback):
    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.posts: list[Post] = []
        self._faults = Faults()

    def routes(self, app: web.Application) -> None:
        reads = {"posts": lambda: self.posts, "accepted": lambda: self.accepted}
        Desk(reads, {"fail": self.fail, "hang": self.hang, "reset": self.reset}, self.bell).routes(app)
        app.router.add_post("/{path:.*}", self._take)

    @property
    def accepted(self) -> list[Post]:
        return [post for post in self.posts if post.status == 200]

    def fail(self, status: int = 500, times: int = 1, *, retry_after: int | None = None) -> Fault:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return self._faults.order("*", Fault(Kind.ANSWER, times, status, headers, {"error": "ordered by the test"}))

    def hang(self, times: int = 1, *, seconds: float | None = None) -> Fault:
        return self._faults.order("*", Fault(Kind.HANG, times, seconds=seconds))

    def reset(self, times: int = 1) -> Fault:
        return self._faults.order("*", Fault(Kind.RESET, times))

    async def _take(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            return web.Response(status=415)
        try:
            body = json.loads(await request.read())
        except ValueError:
            return web.Response(status=400)
        fault = self._faults.take("*")
        self.bell.ring()
        if fault is not None and fault.kind is Kind.HANG:
            if not await fault.hold(self.closing):
                return web.Response(status=503)
            fault = None
        status = 200 if fault is None else fault.status if fault.kind is Kind.ANSWER else 0
        self.posts.append(Post(request.path, dict(request.headers), body, status))
        self.bell.ring()
        if fault is None:
            return web.json_response({"ok": True})
        if fault.kind is Kind.RESET:
            abort(request)
        return fault.answer()


def main() -> None:
    given = parser("A sink for JSON posts on loopback.").parse_args()
    asyncio.run(serve(FakeWebhook(given.port), given.json))


if __name__ == "__main__":
    main()
