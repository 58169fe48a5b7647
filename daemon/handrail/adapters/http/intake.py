"""Alerts by HTTP: Alertmanager's and Grafana's webhooks, and OTLP logs. Says yes only to what is durable.

Decides who may send, how much and how much at once; what an alert means is decided where those of Kafka are. A sender
that gets a 503 sends again, one that gets a 4xx need not: that would help nobody.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import structlog
from aiohttp import web

from handrail.adapters.http.answers import accepted, refused
from handrail.adapters.http.bodies import body_of
from handrail.adapters.http.senders import Senders
from handrail.model.config import HttpIntakeConfig, TopicConfig
from handrail.model.doors import ALERTMANAGER, GRAFANA, LOGS, LOGS_JSON, path_of
from handrail.model.errors import Transient
from handrail.model.reason import Reason, Refusal
from handrail.model.record import Received, Record, Undecoded
from handrail.model.signs import Signs

log = structlog.get_logger("http")

BUSY_SECONDS = 5.0
JSON, PROTOBUF = "application/json", "application/x-protobuf"
SPEAKS = {
    ALERTMANAGER.name: {JSON: ALERTMANAGER},
    GRAFANA.name: {JSON: GRAFANA},
    LOGS.name: {PROTOBUF: LOGS, JSON: LOGS_JSON},
}
"""What each door reads, by content type."""

STATUS = {Reason.TOO_LARGE: 413, Reason.UNKNOWN_FORMAT: 415, Reason.MALFORMED: 400}
"""Of a body that can't even be held."""

UNREADABLE = frozenset(
    {
        Reason.EMPTY,
        Reason.UNKNOWN_FORMAT,
        Reason.MALFORMED,
        Reason.TOO_LARGE,
        Reason.WRONG_SIGNAL,
        Reason.BROKEN,
    }
)
"""Of an OTLP request: these are its own fault; the others are log records that are no alerts (partial success)."""


class Behind(NamedTuple):
    """What is behind the doors: `take` makes a body durable and raises Transient while that can't be; `bury` sends
    dead letters and says whether it could."""

    take: Callable[[TopicConfig, bytes], Awaitable[Received]]
    bury: Callable[[Sequence[tuple[Record, Undecoded]]], Awaitable[bool]]
    signs: Signs


class HttpIntake:
    def __init__(self, config: HttpIntakeConfig, senders: Senders, behind: Behind) -> None:
        self._config = config
        self._senders = senders
        self._behind = behind
        self._places = asyncio.Semaphore(config.at_once)
        self._here = 0

    def routes(self) -> list[web.RouteDef]:
        return [web.post(path_of(door), self._posted) for door in (ALERTMANAGER, GRAFANA, LOGS)]

    async def _posted(self, request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(self._config.seconds) as limit:
                return await self._let_in(request, limit)
        except TimeoutError:
            return self._later(request, Refusal(reason=Reason.INTAKE_BUSY, detail="not done in time; send it again"))
        except Transient as away:
            no = Refusal(reason=Reason.STORE_AWAY, detail=str(away)[:300])
            return self._later(request, no, away.retry_after)

    async def _let_in(self, request: web.Request, limit: asyncio.Timeout) -> web.Response:
        if not self._senders.know(request.headers.get("Authorization", "")):
            detail = "send one of the tokens of intake.http.tokens as bearer"
            return self._no(request, 401, Refusal(reason=Reason.NOT_A_SENDER, detail=detail))
        door = SPEAKS[f"http:{request.path}"].get(request.content_type)
        if door is None:
            detail = f"Content-Type {request.content_type[:60]!r}; here {' or '.join(SPEAKS[f'http:{request.path}'])}"
            return self._no(request, 415, Refusal(reason=Reason.UNKNOWN_FORMAT, detail=detail))
        if self._here >= self._config.at_once + self._config.waiting:
            return self._later(request, Refusal(reason=Reason.INTAKE_BUSY, detail="too many are waiting"))
        async with self._place():
            return await self._taken(request, door, limit)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Nothing of a body is held before there is one."""
        self._here += 1
        try:
            async with self._places:
                yield
        finally:
            self._here -= 1

    async def _taken(self, request: web.Request, door: TopicConfig, limit: asyncio.Timeout) -> web.Response:
        """Once it is durable its sender hears so, however slow the brokers are with its letters: a 503 would have it
        sent again and again."""
        body = await body_of(request, self._config.most_bytes)
        if isinstance(body, Refusal):
            return self._no(request, STATUS[body.reason], body)
        received = await self._behind.take(door, body)
        limit.reschedule(None)
        if received.refused is not None:
            await self._bury(received.record, received.refused)
        why = _unreadable(received)
        if why is None:
            return accepted(request, received)
        return refused(request, 413 if why.reason is Reason.TOO_LARGE else 400, why)

    async def _bury(self, record: Record, why: Undecoded) -> None:
        """As what came by Kafka; without Kafka the log has to do. It is counted already."""
        if not await self._behind.bury([(record, why)]):
            size = len(record.value or b"")
            log.warning("no alert", door=record.topic, reason=str(why.reason), detail=why.detail[:300], bytes=size)

    def _no(self, request: web.Request, status: int, no: Refusal) -> web.Response:
        self._behind.signs.refused(no.reason, "intake")
        log.info("refused", door=request.path, status=status, reason=str(no.reason), detail=no.detail)
        return refused(request, status, no)

    def _later(self, request: web.Request, no: Refusal, seconds: float = BUSY_SECONDS) -> web.Response:
        answer = self._no(request, 503, no)
        answer.headers["Retry-After"] = str(max(1, math.ceil(seconds)))
        return answer


def _unreadable(received: Received) -> Refusal | None:
    """Nothing in it was an alert, and that is the sender's to mend. For OTLP, log records that are no alerts are a
    partial success, even where that is all of them."""
    no = received.refused
    if no is None or received.alerts or (received.entries is not None and no.reason not in UNREADABLE):
        return None
    return Refusal(reason=no.reason, detail=no.detail)
