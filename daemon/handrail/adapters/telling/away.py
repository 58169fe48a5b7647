"""Without its database the daemon writes nothing at all, and nothing in Slack moves. The second channel says so: once.

Said by each replica that can't reach it, since none can ask the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from handrail.adapters.telling.ways import LONG_AGO, Hook
from handrail.model.errors import Permanent, Transient

log = structlog.get_logger("telling")

AWAY = "store_away"
LOOK_SECONDS = 5.0
PATIENCE = timedelta(seconds=15)
"""A restart of the database is over by then."""

START_SECONDS = 15.0
"""How long the end of a process that can't start is held up for it to be told."""

AGAIN = timedelta(seconds=60)
"""Until it is tried again where the webhook did not take it."""


class StoreWatch:
    """`ping` raises Transient while the store is away; `replica` names this one, "" where it is the only one."""

    def __init__(
        self, ping: Callable[[], Awaitable[None]], hook: Hook | None, replica: str, now: Callable[[], datetime]
    ) -> None:
        self._ping = ping
        self._hook = hook
        self._replica = replica
        self._now = now
        self._since: datetime | None = None
        self._told = False
        self._again = LONG_AGO

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Says that it is away once it has been for long enough, and that it is back where that was said."""
        try:
            await self._ping()
        except Transient as away:
            await self._away(str(away))
            return
        if self._told and await self._said(
            "store_back", "the database answers again: incidents go on where they stood"
        ):
            self._told = False
        if not self._told:
            self._since = None

    async def _away(self, why: str) -> None:
        if self._since is None:
            self._since = self._now()
            log.error("the store is away: nothing is written until it answers", why=why)
        if self._told or self._now() - self._since < PATIENCE:
            return
        self._told = await self._said(
            AWAY, f"the database does not answer: nothing is written to the cluster until it does ({why[:300]})"
        )

    async def _said(self, state: str, status: str) -> bool:
        if self._hook is None:
            return True
        if self._now() < self._again:
            return False
        try:
            await self._hook.send(_payload(state, status, self._replica))
        except (Transient, Permanent) as refused:
            self._again = self._now() + AGAIN
            log.error("nor did the webhook take it", why=str(refused))
            return False
        return True


async def say_at_start(hook: Hook | None, why: str) -> None:
    """Of a process that ends since it can't use its database; at once, since there is no later. Others may well use
    it: only of this one is anything said, and nothing that would have to be taken back. Never raises."""
    if hook is None:
        return
    status = f"this process can't use the database, so it does not start and writes nothing: {why[:300]}"
    try:
        async with asyncio.timeout(START_SECONDS):
            await hook.send(_payload("store_unusable", status, ""))
    except (Transient, Permanent, TimeoutError) as refused:
        log.error("nor did the webhook take it", why=str(refused))


NEXT = {
    AWAY: "see that the database is up and can be reached",
    "store_unusable": "do what the status says; the process's own log has it too",
}


def _payload(state: str, status: str, replica: str) -> dict[str, str]:
    return {
        "incident": "",
        "state": state,
        "title": "Handrail's database",
        "target": replica,
        "status": status,
        "next_action": NEXT.get(state, ""),
    }
