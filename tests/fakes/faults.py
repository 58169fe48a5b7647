"""Faults that a test can order from a fake, and the handler that carries one out.

A fault is used up by the requests that meet it, in the order in which it was ordered. It knows nothing of the services:
each fake words its own refusals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web


class Kind(StrEnum):
    ANSWER = "answer"  # the given status, headers and body
    HANG = "hang"  # silence, for `seconds` or until let go
    RESET = "reset"  # the connection is aborted without an answer


@dataclass
class Fault:
    """`applied` lets the request take effect first, so that only its answer is lost."""

    kind: Kind
    times: int = 1
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None  # JSON, or text when it is a str
    seconds: float | None = None
    applied: bool = False
    met: int = 0
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        """Ends a hang; the requests it held then go on as if nothing had been ordered."""
        self.times = 0
        self._released.set()

    async def hold(self, closing: asyncio.Event) -> bool:
        """Waits out a hang, or until it is let go; False when the fake stopped meanwhile."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._released, closing)]
        try:
            await asyncio.wait(waits, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return not closing.is_set()

    def answer(self) -> web.Response:
        if isinstance(self.body, str):
            return web.Response(status=self.status, headers=self.headers, text=self.body, content_type="text/html")
        return web.json_response(self.body, status=self.status, headers=self.headers)


class Faults:
    """Ordered faults by what they apply to; `*` applies to everything."""

    def __init__(self) -> None:
        self._ordered: list[tuple[str, Fault]] = []

    def order(self, target: str, fault: Fault) -> Fault:
        self._ordered.append((target, fault))
        return fault

    def take(self, target: str) -> Fault | None:
        for wanted, fault in self._ordered:
            if wanted in (target, "*") and fault.times > 0:
                fault.times -= 1
                fault.met += 1
                return fault
        return None

    def clear(self) -> None:
        for _, fault in self._ordered:
            fault.release()
        self._ordered.clear()


def abort(request: web.BaseRequest) -> None:
    """Cuts the connection under the request, as a crashed peer or a middlebox does."""
    if request.transport is not None:
        request.transport.abort()
