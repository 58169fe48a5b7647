"""Socket Mode: single-use addresses, connections, envelopes and their acknowledgements.

Strict about: each address is good for one handshake, refused or not (a second is answered with HTTP 408), ten
connections at most (`too_many_websockets`), each envelope goes to exactly one connection, in turn, and must be
acknowledged on it in time. An interactive envelope or a slash command that nobody acknowledges is gone, as in Slack; an
event is sent again, three times at most (at once here; Slack waits one and five minutes before the second and third).

Ghosts are connections that Slack believes alive and that nobody listens to: an envelope for one is lost.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.fakes.faults import abort
from tests.fakes.loopback import Bell
from tests.fakes.slack.workspace import APP

Json = dict[str, Any]

MOST = 10
EVENT_RETRIES = 3
_HOST = {"host": "applink-fake"}


@dataclass
class Delivery:
    """What became of one envelope. True when it was acknowledged in time.

    `outcome`: acked, late, unacked, lost (its connection went away), ghost, or no_connection.
    """

    envelope_id: str
    kind: str
    payload: Json
    attempt: int = 0
    connection: int | None = None
    outcome: str = "sent"
    reply: Json | None = None

    def __bool__(self) -> bool:
        return self.outcome == "acked"


@dataclass
class Connection:
    """`deaf` answers no ping and reads nothing, like a link whose other end has vanished."""

    number: int
    request: web.Request
    ws: web.WebSocketResponse
    ghost: bool = False
    deaf: bool = False
    pings: int = 0
    pongs: int = 0
    waiting: dict[str, tuple[Delivery, asyncio.Future[None]]] = field(default_factory=dict)


class Sockets:
    def __init__(self, base: Callable[[], str], bell: Bell, ack_within: float) -> None:
        self._base = base
        self._bell = bell
        self.ack_within = ack_within
        self._tickets: set[str] = set()
        self._turn = 0
        self._opened = 0
        self.refusals = 0  # handshakes still to be refused
        self.refused = 0  # handshakes refused so far
        self.ghosts = 0  # envelopes go to these first
        self.live: list[Connection] = []
        self.deliveries: list[Delivery] = []
        self.strange: list[str] = []  # frames that no client should send

    def routes(self, app: web.Application) -> None:
        app.router.add_get("/link/", self._link)
        app.on_shutdown.append(self._shut)

    def address(self) -> str:
        """A WebSocket URL good for one connection."""
        ticket = str(uuid.uuid4())
        self._tickets.add(ticket)
        return f"{self._base().replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={APP}"

    async def _link(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        known = ticket in self._tickets
        self._tickets.discard(ticket)
        if self.refusals > 0 or not known:
            self.refusals = max(0, self.refusals - 1)
            self.refused += 1
            self._bell.ring()
            return web.Response(status=408)
        ws = web.WebSocketResponse(autoping=False)
        await ws.prepare(request)
        if len(self.live) + self.ghosts >= MOST:
            await ws.send_json({"type": "disconnect", "reason": "too_many_websockets", "debug_info": _HOST})
            await ws.close()
            return ws
        self._opened += 1
        connection = Connection(self._opened, request, ws)
        self.live.append(connection)
        await ws.send_json(self._hello())
        self._bell.ring()
        try:
            await self._listen(connection)
        finally:
            self._forget(connection)
        return ws

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.live) + self.ghosts,
            "connection_info": {"app_id": APP},
            "debug_info": {**_HOST, "build_number": 1, "approximate_connection_time": 18060},
        }

    async def _listen(self, connection: Connection) -> None:
        async for frame in connection.ws:
            if connection.deaf:
                continue
            if frame.type is WSMsgType.PING:
                connection.pings += 1
                await connection.ws.pong(frame.data)
            elif frame.type is WSMsgType.PONG:
                connection.pongs += 1
            elif frame.type is WSMsgType.TEXT:
                self._take_ack(connection, frame.data)
            self._bell.ring()

    def _take_ack(self, connection: Connection, data: str) -> None:
        try:
            reply = json.loads(data)
            delivery, done = connection.waiting.pop(reply["envelope_id"])
        except (ValueError, KeyError, TypeError):
            self.strange.append(data)
            return
        delivery.outcome = "acked" if not done.done() else "late"
        delivery.reply = reply.get("payload")
        if not done.done():
            done.set_result(None)

    def _forget(self, connection: Connection) -> None:
        if connection in self.live:
            self.live.remove(connection)
        for delivery, done in connection.waiting.values():
            if not done.done():
                delivery.outcome = "lost"
                done.set_result(None)
        self._bell.ring()

    async def deliver(self, kind: str, payload: Json) -> Delivery:
        """Sends one envelope and waits until it is acknowledged, or lost, or overdue."""
        for attempt in range(EVENT_RETRIES + 1 if kind == "events_api" else 1):
            delivery = Delivery(str(uuid.uuid4()), kind, payload, attempt)
            self.deliveries.append(delivery)
            await self._send(delivery)
            self._bell.ring()
            if delivery:
                break
        return delivery

    async def _send(self, delivery: Delivery) -> None:
        if self.ghosts > 0:
            await self._vanish(delivery)
            return
        able = [c for c in self.live if not c.ws.closed]
        if not able:
            delivery.outcome = "no_connection"
            return
        connection = able[self._turn % len(able)]
        self._turn += 1
        delivery.connection = connection.number
        if connection.ghost:
            await self._vanish(delivery)
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        connection.waiting[delivery.envelope_id] = (delivery, done)
        try:
            await connection.ws.send_json(self._envelope(delivery))
            await asyncio.wait_for(done, self.ack_within)
        except TimeoutError:
            delivery.outcome = "unacked"
        except ConnectionError:
            delivery.outcome = "lost"

    async def _vanish(self, delivery: Delivery) -> None:
        """Slack waits for an acknowledgement that can't come."""
        await asyncio.sleep(self.ack_within)
        delivery.outcome = "ghost"

    def _envelope(self, delivery: Delivery) -> Json:
        envelope: Json = {
            "envelope_id": delivery.envelope_id,
            "type": delivery.kind,
            "payload": delivery.payload,
            "accepts_response_payload": delivery.kind == "slash_commands"
            or delivery.payload.get("type") == "view_submission",
        }
        if delivery.kind == "events_api":
            envelope |= {"retry_attempt": delivery.attempt, "retry_reason": "timeout" if delivery.attempt else ""}
        return envelope

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Asks every client to reconnect. After a `warning` the old connection stays up; otherwise it is closed."""
        for connection in list(self.live):
            await connection.ws.send_json({"type": "disconnect", "reason": reason, "debug_info": _HOST})
            if reason != "warning":
                await connection.ws.close()

    async def ping(self) -> None:
        for connection in list(self.live):
            await connection.ws.ping(b"Ping from applink-fake")

    def drop(self) -> int:
        """Cuts every connection without a closing frame; says how many."""
        cut = list(self.live)
        for connection in cut:
            abort(connection.request)
        return len(cut)

    async def _shut(self, app: web.Application) -> None:
        for connection in list(self.live):
            await connection.ws.close(code=1001, message=b"going away")
