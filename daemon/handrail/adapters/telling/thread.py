"""One incident's message in Slack and the thread under it. The cursor moves only past what Slack has taken."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import TypeVar

from handrail.adapters.slack.desk import Posted
from handrail.adapters.telling.news import News
from handrail.adapters.telling.ways import Desk, Journals
from handrail.core.card import card
from handrail.core.story import line
from handrail.model.card import Card
from handrail.model.errors import HandrailError, Permanent, Transient

T = TypeVar("T")


class NotTold(HandrailError):
    """Slack's failure, told apart from the store's."""

    def __init__(self, why: Transient | Permanent) -> None:
        super().__init__(str(why))
        self.why = why


class Thread:
    """`shown` remembers cards, so that an unchanged one is not sent again."""

    def __init__(self, store: Journals, slack: Desk, news: News, shown: dict[str, Card]) -> None:
        self._store = store
        self._slack = slack
        self._news = news
        self._shown = shown
        self._told = news.telling

    async def tell(self, now: datetime) -> None:
        """Raises NotTold; whatever the store raises."""
        posted = await self._show(card(self._news.incident, now))
        for entry in self._news.fresh:
            told = line(entry)
            if told is not None:
                await slack_only(self._slack.say(posted, told))
                await self._save(told_seq=entry.seq)
        await self._save(told_seq=self._news.head)
        if self._news.incident.state.terminal:
            self._shown.pop(self._news.incident.id, None)

    async def _show(self, now_shown: Card) -> Posted:
        """The place is saved before anything is said in it: a crash in between must not make a second card."""
        where = Posted(channel=self._told.channel, ts=self._told.ts) if self._told.ts else None
        if where is not None and self._shown.get(now_shown.incident) == now_shown:
            return where
        posted = await slack_only(self._slack.show(now_shown, where))
        self._shown[now_shown.incident] = now_shown
        await self._save(channel=posted.channel, ts=posted.ts)
        return posted

    async def _save(self, **change: str | int) -> None:
        changed = self._told.model_copy(update=change)
        if changed != self._told:
            await self._store.save_telling(self._news.incident.id, changed)
            self._told = changed


async def slack_only(call: Awaitable[T]) -> T:
    try:
        return await call
    except (Transient, Permanent) as failed:
        raise NotTold(failed) from failed
