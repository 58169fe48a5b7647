"""The loop that tells: which incident next, by which way, and when to try again.

Runs beside the reconciler without holding it up. Slack catches up after any outage, line by line and in order: a line
may be told twice when its answer was lost, none is left out. No incident's fault costs another one's card.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from handrail.adapters.telling.news import News, loud, never_shown, payload, too_early
from handrail.adapters.telling.plain import PlainWords
from handrail.adapters.telling.second import SecondChannel
from handrail.adapters.telling.thread import NotTold, Thread
from handrail.adapters.telling.ways import LONG_AGO, Contain, Desk, Hook, Journals
from handrail.model.card import Card
from handrail.model.errors import HandrailError, Transient

log = structlog.get_logger("telling")

POLL_SECONDS = 5.0
BREATH_SECONDS = 0.2
"""States that follow each other faster than this are shown as one: Slack takes about one message a second."""
PATIENCE = timedelta(seconds=30)
"""How long Slack may be away before the second channel is told of an incident."""
REFUSED_AGAIN = timedelta(seconds=60)


@dataclass
class Late:
    """An incident that Slack has not been told of: since when, whether Slack said no, and when to try again."""

    since: datetime
    refused: bool = False
    again: datetime = LONG_AGO


async def _as_it_is(work: Awaitable[None]) -> None:
    await work


class Teller:
    """`slack` and `webhook` may each be None. `now` is UTC. `contain` makes a Bug of whatever breaks."""

    def __init__(
        self,
        store: Journals,
        slack: Desk | None,
        webhook: Hook | None,
        now: Callable[[], datetime],
        contain: Contain = _as_it_is,
    ) -> None:
        self._store = store
        self._slack = slack
        self._now = now
        self._contain = contain
        self._second = SecondChannel(webhook, now)
        self._plain = PlainWords(self._slack, self._second)
        self._late: dict[str, Late] = {}
        self._shown: dict[str, Card] = {}
        self._broken: dict[str, datetime] = {}
        self._slack_back = LONG_AGO

    async def run(self) -> None:
        """Until cancelled. A store that is away is waited for; nothing that the others do waits for this."""
        while True:
            try:
                await self.tell_all()
                await self._store.wait_changed(POLL_SECONDS)
                await asyncio.sleep(BREATH_SECONDS)
            except Transient as away:
                log.warning("the store is away: people are told later", why=str(away))
                await asyncio.sleep(away.retry_after)

    async def tell_all(self) -> None:
        """One round over every incident whose journal has grown, then over those whose journal can't be used."""
        untold = await self._store.untold()
        unfit = self._store.unfit()
        self._late = {id_: late for id_, late in self._late.items() if id_ in untold}
        self._broken = {id_: again for id_, again in self._broken.items() if id_ in untold or id_ in unfit}
        for id_ in untold:
            if self._now() >= self._broken.get(id_, LONG_AGO):
                await self._one(id_)
        for id_, why in unfit.items():
            if id_ not in untold and self._now() >= self._broken.get(id_, LONG_AGO):
                self._broken[id_] = self._now() + REFUSED_AGAIN
                await self._plainly(id_, why)

    async def _one(self, id_: str) -> None:
        try:
            await self._contain(self._tell(id_))
        except Transient:
            raise
        except HandrailError as broken:
            why = f"{type(broken).__name__}: {broken}"[:500]
            self._broken[id_] = self._now() + REFUSED_AGAIN
            log.error("an incident can't be told", incident=id_, why=why)
            await self._plainly(id_, why)

    async def _plainly(self, id_: str, why: str) -> None:
        try:
            await self._contain(self._say_plainly(id_, why))
        except Transient:
            raise
        except HandrailError as broken:
            log.error("nor can it be told plainly", incident=id_, why=f"{type(broken).__name__}: {broken}"[:500])

    async def _say_plainly(self, id_: str, why: str) -> None:
        row = await self._store.row(id_)
        if row is None or self._plain.is_told(row):
            return
        try:
            if self._slack is not None and self._now() < self._slack_back:
                await self._plain.by_webhook(row, why)
            else:
                await self._plain.tell(row, await self._store.telling(id_), why)
        except NotTold as failed:
            self._slack_failed(id_, failed)
            await self._plain.by_webhook(row, why)

    async def _tell(self, id_: str) -> None:
        news = await self._read(id_)
        if news is None:
            return
        if self._slack is None:
            if await self._by_webhook(news):
                await self._store.save_telling(id_, news.telling.model_copy(update={"told_seq": news.head}))
            return
        if too_early(news, self._now()):
            return
        if never_shown(news):
            await self._store.save_telling(id_, news.telling.model_copy(update={"told_seq": news.head}))
            return
        late = self._late.setdefault(id_, Late(since=self._now()))
        if await self._try_slack(self._slack, news, late):
            del self._late[id_]
        elif late.refused or self._now() - late.since > PATIENCE:
            await self._by_webhook(news)

    async def _read(self, id_: str) -> News | None:
        entries = await self._store.entries(id_)
        incident = await self._store.incident(id_)
        telling = await self._store.telling(id_)
        return None if incident is None else News(incident, entries, telling)

    async def _try_slack(self, slack: Desk, news: News, late: Late) -> bool:
        """While Slack is known to be away, nobody is kept waiting for its time-out once more."""
        if self._now() < max(self._slack_back, late.again):
            return False
        try:
            await Thread(self._store, slack, news, self._shown).tell(self._now())
        except NotTold as failed:
            self._shown.pop(news.incident.id, None)
            if not self._slack_failed(news.incident.id, failed):
                late.refused, late.again = True, self._now() + REFUSED_AGAIN
            return False
        return True

    def _slack_failed(self, id_: str, failed: NotTold) -> bool:
        """Whether it may pass: then all wait for it."""
        log.warning("slack was not told", incident=id_, why=str(failed.why))
        if not isinstance(failed.why, Transient):
            return False
        self._slack_back = self._now() + timedelta(seconds=failed.why.retry_after)
        return True

    async def _by_webhook(self, news: News) -> bool:
        return await self._second.tell(news.incident.id, loud(news), lambda: payload(news, self._now()))
