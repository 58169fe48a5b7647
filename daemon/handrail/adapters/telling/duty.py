"""Of several replicas one tells people: the one that has the duty. The others look whether it is free, and no more.

Stands between the teller and what it uses. Who was replaced while he wrote a line finds out before the next one, and
can't save how far he had come (adapters/store/duties.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from handrail.adapters.slack.desk import Posted
from handrail.adapters.store import Duty, IncidentRow, Telling
from handrail.adapters.telling.ways import Desk, Hook, Journals
from handrail.model.card import Card
from handrail.model.errors import Transient
from handrail.model.events import Entry
from handrail.model.incident import Incident


class Roster(Protocol):
    async def on_duty(self, duty: Duty) -> bool:
        """Raises Transient."""


async def _still(roster: Roster) -> None:
    if not await roster.on_duty(Duty.TELLING):
        raise Transient("another replica tells people now", retry_after=1.0)


class JournalsOnDuty:
    """There is nothing to tell for who is not on duty."""

    def __init__(self, store: Journals, roster: Roster) -> None:
        self._store = store
        self._roster = roster
        self._on = False

    async def untold(self) -> tuple[str, ...]:
        self._on = await self._roster.on_duty(Duty.TELLING)
        return await self._store.untold() if self._on else ()

    def unfit(self) -> dict[str, str]:
        return self._store.unfit() if self._on else {}

    async def row(self, id_: str) -> IncidentRow | None:
        return await self._store.row(id_)

    async def incident(self, id_: str) -> Incident | None:
        return await self._store.incident(id_)

    async def entries(self, id_: str) -> tuple[Entry, ...]:
        return await self._store.entries(id_)

    async def telling(self, id_: str) -> Telling:
        return await self._store.telling(id_)

    async def save_telling(self, id_: str, telling: Telling) -> None:
        await self._store.save_telling(id_, telling)

    async def wait_changed(self, timeout: float) -> bool:
        return await self._store.wait_changed(timeout)


class DeskOnDuty:
    def __init__(self, desk: Desk, roster: Roster) -> None:
        self._desk = desk
        self._roster = roster

    async def show(self, card: Card, where: Posted | None) -> Posted:
        await _still(self._roster)
        return await self._desk.show(card, where)

    async def say(self, where: Posted, line: str) -> None:
        await _still(self._roster)
        await self._desk.say(where, line)

    async def notice(self, text: str, where: Posted | None) -> None:
        await _still(self._roster)
        await self._desk.notice(text, where)


class HookOnDuty:
    def __init__(self, hook: Hook, roster: Roster) -> None:
        self._hook = hook
        self._roster = roster

    async def send(self, payload: Mapping[str, Any]) -> None:
        await _still(self._roster)
        await self._hook.send(payload)
