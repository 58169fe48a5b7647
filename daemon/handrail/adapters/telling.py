"""Keeps people told: a card in Slack for each incident, its story in the thread, and a webhook when Slack fails.

Reads the journal and a cursor, never writes an event, decides nothing, and runs beside the reconciler without holding
it up. The cursor moves only past what Slack has taken, so Slack catches up after any outage, line by line and in
order. A line may be told twice when its answer was lost; none is left out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

import structlog

from handrail.adapters.slack.desk import Posted
from handrail.adapters.store import Telling
from handrail.core.card import card
from handrail.core.report import report
from handrail.core.story import line
from handrail.model.card import Card
from handrail.model.errors import HandrailError, Permanent, Transient
from handrail.model.events import Entry, Outcome, Result
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason

log = structlog.get_logger("telling")

T = TypeVar("T")

POLL_SECONDS = 5.0
BREATH_SECONDS = 0.2
"""States that follow each other faster than this are shown as one: Slack takes about one message a second."""
PATIENCE = timedelta(seconds=30)
"""How long Slack may be away before the second channel is told of an incident."""
REFUSED_AGAIN = timedelta(seconds=60)
REMEMBERED = 5_000
FIRST_CARD = timedelta(minutes=3)
"""How long an incident may go without a card while nobody knows its object: in a storm most merge into one."""

_LOUD = frozenset({State.ASKING, State.HANDED_OVER, State.RESOLVED})
_LOOKING = frozenset({State.OPENED, State.GATHERING})
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Journals(Protocol):
    """What is used of the store."""

    async def untold(self) -> tuple[str, ...]: ...

    async def incident(self, id_: str) -> Incident | None: ...

    async def entries(self, id_: str) -> tuple[Entry, ...]: ...

    async def telling(self, id_: str) -> Telling: ...

    async def save_telling(self, id_: str, telling: Telling) -> None: ...

    async def wait_changed(self, timeout: float) -> bool: ...


class Desk(Protocol):
    """What is used of Slack."""

    async def show(self, card: Card, where: Posted | None) -> Posted: ...

    async def say(self, where: Posted, line: str) -> None: ...


class Hook(Protocol):
    async def send(self, payload: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class News:
    """One incident as it was read: `incident` is never older than `entries`, so no state is passed over."""

    incident: Incident
    entries: tuple[Entry, ...]
    telling: Telling

    @property
    def fresh(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.seq > self.telling.told_seq)

    @property
    def head(self) -> int:
        return self.entries[-1].seq if self.entries else self.telling.told_seq


@dataclass
class Late:
    """An incident that Slack has not been told of: since when, whether Slack said no, and when to try again."""

    since: datetime
    refused: bool = False
    again: datetime = _LONG_AGO


class Teller:
    """`slack` and `webhook` may each be None. `now` is UTC."""

    def __init__(self, store: Journals, slack: Desk | None, webhook: Hook | None, now: Callable[[], datetime]) -> None:
        self._store = store
        self._slack = slack
        self._webhook = webhook
        self._now = now
        self._late: dict[str, Late] = {}
        self._shown: dict[str, Card] = {}
        self._unreadable: dict[str, datetime] = {}
        self._hooked: OrderedDict[str, str] = OrderedDict()
        self._slack_back = _LONG_AGO
        self._hook_back = _LONG_AGO

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
        """One round over every incident whose journal has grown. One that can't be read does not stop the others."""
        untold = await self._store.untold()
        self._late = {id_: late for id_, late in self._late.items() if id_ in untold}
        self._unreadable = {id_: again for id_, again in self._unreadable.items() if id_ in untold}
        for id_ in untold:
            if self._now() < self._unreadable.get(id_, _LONG_AGO):
                continue
            try:
                await self._tell(id_)
            except Transient:
                raise
            except HandrailError as broken:
                self._unreadable[id_] = self._now() + REFUSED_AGAIN
                log.error("an incident can't be told", incident=id_, why=f"{type(broken).__name__}: {broken}"[:300])

    async def _tell(self, id_: str) -> None:
        news = await self._read(id_)
        if news is None:
            return
        if self._slack is None:
            if await self._by_webhook(news):
                await self._store.save_telling(id_, news.telling.model_copy(update={"told_seq": news.head}))
            return
        if _too_early(news, self._now()):
            return
        if _never_shown(news):
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
            await _Thread(self._store, slack, news, self._shown).tell(self._now())
        except _NotTold as failed:
            self._shown.pop(news.incident.id, None)
            log.warning("slack was not told", incident=news.incident.id, why=str(failed.why))
            if isinstance(failed.why, Transient):
                self._slack_back = self._now() + timedelta(seconds=failed.why.retry_after)
            else:
                late.refused, late.again = True, self._now() + REFUSED_AGAIN
            return False
        return True

    async def _by_webhook(self, news: News) -> bool:
        """Once for each loud change. True when there is nothing (left) to send."""
        loud = _loud(news)
        if self._webhook is None or not loud or self._hooked.get(news.incident.id) == loud:
            return True
        if self._now() < self._hook_back:
            return False
        try:
            await self._webhook.send(_payload(news, self._now()))
        except (Transient, Permanent) as error:
            wait = max(30.0, error.retry_after if isinstance(error, Transient) else 0.0)
            self._hook_back = self._now() + timedelta(seconds=wait)
            log.error("the webhook was not told either", incident=news.incident.id, why=str(error))
            return False
        self._hooked[news.incident.id] = loud
        while len(self._hooked) > REMEMBERED:
            self._hooked.popitem(last=False)
        return True


class _NotTold(HandrailError):
    """Slack's failure, told apart from the store's."""

    def __init__(self, why: Transient | Permanent) -> None:
        super().__init__(str(why))
        self.why = why


class _Thread:
    """One incident's message and thread. `shown` remembers cards, so that an unchanged one is not sent again."""

    def __init__(self, store: Journals, slack: Desk, news: News, shown: dict[str, Card]) -> None:
        self._store = store
        self._slack = slack
        self._news = news
        self._shown = shown
        self._told = news.telling

    async def tell(self, now: datetime) -> None:
        posted = await self._show(card(self._news.incident, now))
        for entry in self._news.fresh:
            told = line(entry)
            if told is not None:
                await _slack_only(self._slack.say(posted, told))
                await self._save(told_seq=entry.seq)
        await self._save(told_seq=self._news.head)
        if self._news.incident.state.terminal:
            self._shown.pop(self._news.incident.id, None)

    async def _show(self, now_shown: Card) -> Posted:
        """The place is saved before anything is said in it: a crash in between must not make a second card."""
        where = Posted(channel=self._told.channel, ts=self._told.ts) if self._told.ts else None
        if where is not None and self._shown.get(now_shown.incident) == now_shown:
            return where
        posted = await _slack_only(self._slack.show(now_shown, where))
        self._shown[now_shown.incident] = now_shown
        await self._save(channel=posted.channel, ts=posted.ts)
        return posted

    async def _save(self, **change: str | int) -> None:
        changed = self._told.model_copy(update=change)
        if changed != self._told:
            await self._store.save_telling(self._news.incident.id, changed)
            self._told = changed


async def _slack_only(call: Awaitable[T]) -> T:
    try:
        return await call
    except (Transient, Permanent) as failed:
        raise _NotTold(failed) from failed


def _too_early(news: News, now: datetime) -> bool:
    """Before its first card: twenty alerts about one workload are one card, not twenty (kubernaut #63)."""
    incident = news.incident
    held = incident.state in _LOOKING and not incident.paused and incident.taken_by is None
    return held and not news.telling.ts and now - incident.opened_at < FIRST_CARD


def _never_shown(news: News) -> bool:
    """Merged before anybody saw it: the incident that it went into tells of it."""
    end = news.incident.end
    return not news.telling.ts and end is not None and end[0] is Reason.MERGED


def _loud(news: News) -> str:
    """Names the change that the second channel is told of, "" for none: asked, ended, or stuck between."""
    incident = news.incident
    stuck = _stuck(news.fresh) and not incident.state.terminal
    happened = stuck or any(_is_loud(entry) for entry in news.fresh)
    if not happened or not (stuck or incident.state in _LOUD or _called_off(news)):
        return ""
    asked = incident.request.id if incident.request and incident.state is State.ASKING else ""
    return f"{incident.state}/{asked}/{'stuck' if stuck else ''}"


def _is_loud(entry: Entry) -> bool:
    return entry.event.kind in ("asked", "rejected", "handed_over", "verified", "suppressed")


def _called_off(news: News) -> bool:
    """Noise is not told; but whoever was called to decide must hear that there is nothing left to decide."""
    asked = any(entry.event.kind == "asked" for entry in news.entries)
    return asked and news.incident.state is State.SUPPRESSED


def _stuck(entries: Sequence[Entry]) -> bool:
    return any(isinstance(entry.event, Outcome) and entry.event.result is Result.STUCK for entry in entries)


def _payload(news: News, now: datetime) -> dict[str, Any]:
    shown = card(news.incident, now)
    payload: dict[str, Any] = {
        "incident": shown.incident,
        "state": str(shown.state),
        "title": shown.title,
        "target": shown.target,
        "status": shown.status,
        "next_action": shown.next_action,
    }
    if news.incident.state.terminal:
        payload["report"] = report(news.incident, news.entries)
    return payload
