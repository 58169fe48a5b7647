"""The doors for alerts as a sender finds them, over whatever is put behind them."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from handrail.adapters.http import Behind, HttpIntake, HttpServer, Senders, Who
from handrail.model.config import HttpConfig, HttpIntakeConfig, TopicConfig
from handrail.model.reason import Reason
from handrail.model.record import Received, Record, Undecoded
from tests.http.support import Answer, PlainDesk, Reviews, fetch

TOKEN = "a-token-that-nobody-guesses"
AM, GRAFANA, LOGS = "/v1/alerts/alertmanager", "/v1/alerts/grafana", "/v1/logs"
JSON, PROTOBUF = "application/json", "application/x-protobuf"


@dataclass
class Counted:
    """What was said no to, in order."""

    noes: list[tuple[str, str]] = field(default_factory=list)

    def refused(self, reason: Reason, stage: str, times: int = 1) -> None:
        self.noes.append((str(reason), stage))

    def beat(self, at: datetime) -> None:
        return None


@dataclass
class Room:
    """Behind the doors: remembers bodies and letters, answers `received` or raises `broken`."""

    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    letters: list[tuple[Record, Undecoded]] = field(default_factory=list)
    received: dict[str, Any] = field(default_factory=lambda: {"alerts": 1})
    broken: BaseException | None = None
    brokers: bool = True

    async def take(self, door: TopicConfig, body: bytes) -> Received:
        self.bodies.append((door.name, body))
        if self.broken is not None:
            raise self.broken
        record = Record(topic=door.name, partition=0, offset=0, value=body, at=datetime.now(UTC))
        return Received(record=record, **self.received)

    async def bury(self, letters: Sequence[tuple[Record, Undecoded]]) -> bool:
        self.letters += letters
        return self.brokers


@dataclass
class Doors:
    url: str
    signs: Counted

    async def post(
        self, path: str, body: Any, *, token: str = TOKEN, kind: str = JSON, packed: bool = False, coding: str = ""
    ) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": kind}
        if coding:
            headers["Content-Encoding"] = coding
        if token:
            headers["Authorization"] = token if " " in token else f"Bearer {token}"
        if packed:
            data, headers["Content-Encoding"] = gzip.compress(data), "gzip"
        return await fetch(self.url, "POST", path, data, headers)


@asynccontextmanager
async def doors(
    room: Any, config: HttpIntakeConfig | None = None, tokens: Any = None, *, own: bool = False
) -> AsyncIterator[Doors]:
    """`own` gives them a listener of their own."""
    signs = Counted()
    senders = Senders(tokens or [lambda: TOKEN])
    intake = HttpIntake(config or HttpIntakeConfig(), senders, Behind(room.take, room.bury, signs))

    async def nothing() -> Any:
        return {"ready": True}

    http = HttpConfig(listen="127.0.0.1:0", intake="127.0.0.1:0" if own else "")
    server = HttpServer(http, PlainDesk(), Who(Reviews()), nothing, nothing)
    server.take_alerts(intake.routes())
    main = await server.start()
    try:
        assert (server.intake_address == main) is not own
        yield Doors(server.intake_address, signs)
    finally:
        await server.stop()
