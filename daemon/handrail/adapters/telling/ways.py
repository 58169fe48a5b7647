"""What telling needs of the store, of Slack and of the webhook. Contracts only: nothing is decided or sent here."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from handrail.adapters.slack.desk import Posted
from handrail.adapters.store import IncidentRow, Telling
from handrail.model.card import Card
from handrail.model.events import Entry
from handrail.model.incident import Incident

LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Journals(Protocol):
    """What is used of the store."""

    async def untold(self) -> tuple[str, ...]: ...

    def unfit(self) -> dict[str, str]: ...

    async def row(self, id_: str) -> IncidentRow | None: ...

    async def incident(self, id_: str) -> Incident | None: ...

    async def entries(self, id_: str) -> tuple[Entry, ...]: ...

    async def telling(self, id_: str) -> Telling: ...

    async def save_telling(self, id_: str, telling: Telling) -> None: ...

    async def wait_changed(self, timeout: float) -> bool: ...


class Desk(Protocol):
    """What is used of Slack."""

    async def show(self, card: Card, where: Posted | None) -> Posted: ...

    async def say(self, where: Posted, line: str) -> None: ...

    async def notice(self, text: str, where: Posted | None) -> None: ...


class Hook(Protocol):
    async def send(self, payload: Mapping[str, Any]) -> None: ...


class Contain(Protocol):
    """Turns whatever breaks in the work into a Bug (the broad `except`s stand in reconciler.py and loop.py)."""

    async def __call__(self, work: Awaitable[None]) -> None: ...
