"""Taking arrivals in: inbox row, count, incident and its first event in one transaction (design, state rule 9).

Which incident an arrival belongs to is the core's decision (core/grouping.py). All look-ups are made for the whole poll
at once, then the arrivals are placed one after the other in memory, then everything is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import bindparam, delete, insert, update
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store import storms
from handrail.adapters.store.bulk import put
from handrail.adapters.store.database import Tx
from handrail.adapters.store.happened import Happened, Judge, happening
from handrail.adapters.store.heard import Heard
from handrail.adapters.store.journal import Head, Said, Stored, clean, rows_after, write_rows
from handrail.adapters.store.recall import Place, Stories, Story, place_of, recall, seen_before
from handrail.adapters.store.schema import inbox, incidents
from handrail.adapters.store.texts import said_of
from handrail.adapters.store.watching import lift, sighted, stand
from handrail.core.conditions import STOPPING, TOLD, raised
from handrail.core.grouping import Place as Placed
from handrail.core.grouping import place
from handrail.core.last_word import LATE_EVERY, REPEAT_EVERY
from handrail.core.storm import page_of
from handrail.model.alert import Alert, Source
from handrail.model.arrival import Arrival, Batch, Fate, Took
from handrail.model.condition import Condition
from handrail.model.errors import HeadMoved
from handrail.model.events import AlertAttached, Opened
from handrail.model.incident import State
from handrail.model.occurrence import is_event
from handrail.model.policy import StormLimit
from handrail.model.reason import Reason
from handrail.model.trusted import trusted

ACTOR = "intake"
TITLE = 200

ALWAYS_TOLD = 20
"""So many alerts of an incident are journalled whatever they say."""

BREATH = 8
"""Batches after which others have their turn: those that only read need not wait for this transaction."""

MANY = 64
"""Alerts of one batch after which others have theirs."""

_opened, _attached, _took = trusted(Opened), trusted(AlertAttached), trusted(Took)

_TAKING, _OPENING = insert(inbox), insert(incidents)
_TO_HEAD = update(incidents).where(incidents.c.id == bindparam("moved")).values(head=bindparam("to"))


class Rules(NamedTuple):
    """An alert seen longer ago than `max_age` opens nothing; `judge` says what a window of events shows; more objects
    than `storm` says are a storm."""

    max_age: timedelta
    accept_unlabelled: bool
    judge: Judge
    storm: StormLimit | None = None


class Taking:
    """One poll on its way into the store."""

    def __init__(self, tx: Tx, seen: dict[Place, str], stories: Stories, happening: Happened, rules: Rules) -> None:
        self._tx = tx
        self._seen = seen
        self._others = frozenset(seen)
        self._stories = stories
        self._happening = happening
        self._rules = rules
        self._sighted: dict[str, datetime] = {}
        self._conditions: dict[str, Condition | None] = {}
        self._taken: dict[Place, str] = {}
        self._opened: dict[str, Stored] = {}
        self._entries: list[Stored] = []
        self._heard = Heard(tx)
        self._grown: dict[str, int] = {}

    async def batch(self, batch: Batch) -> tuple[Took, ...]:
        at = place_of(batch.source)
        if at is not None:
            if self._seen.get(at) == batch.source.digest:
                return (Took(fate=Fate.SEEN_BEFORE),)
            self._seen[at] = self._taken[at] = batch.source.digest
        self._see(batch.sighted)
        took: list[Took] = []
        for few in range(0, len(batch.arrivals), MANY):
            if few:
                await asyncio.sleep(0)
            took += [self._arrival(arrival, batch.source) for arrival in batch.arrivals[few : few + MANY]]
        return tuple(took)

    def _arrival(self, arrival: Arrival, source: Source) -> Took:
        if is_event(arrival.alert):
            judged = self._happening.judged(arrival)
            if judged is None:
                return Took(fate=Fate.SEEN_BEFORE)
            arrival = judged
        known = self._stories.known(arrival, self._rules.accept_unlabelled, self._tx.now, self._rules.max_age)
        placed = place(arrival, known)
        took = _took(fate=placed.fate, incident=placed.incident, reason=placed.reason)
        told = False
        if placed.fate is Fate.OPENED:
            told = self._open(placed, arrival, source)
        elif placed.fate is Fate.ATTACHED and not self._stories.by_id[placed.incident].whole:
            took = Took(fate=Fate.RECORDED, reason=Reason.BROKEN)
        elif placed.fate is Fate.ATTACHED:
            told = self._attach(self._stories.by_id[placed.incident], arrival.alert, source)
        self._heard.count(arrival, took.incident, told)
        self._heed(arrival, took)
        return took

    def _see(self, sighted: Mapping[str, datetime]) -> None:
        for signal, at in sighted.items():
            self._sighted[signal] = max(at, self._sighted.get(signal, at))

    def _heed(self, arrival: Arrival, took: Took) -> None:
        """What stops every write, for as long as it fires; what belongs to no story of ours stops nothing."""
        if not any(finding.cause in STOPPING for finding in arrival.findings):
            return
        if arrival.alert.status == "resolved":
            self._conditions[arrival.identity] = None
        elif took.fate is not Fate.RECORDED:
            since = min(arrival.alert.seen_at, self._tx.now)
            found = raised(arrival.identity, arrival.findings, since, TOLD)
            if found is not None:
                self._conditions[arrival.identity] = found

    async def _count_storm(self) -> None:
        """In the very transaction that opens its incidents: nobody looks at one before the storm stands."""
        if self._rules.storm is None or not self._opened:
            return
        found = await storms.found(self._tx, page_of(self._tx.cluster), self._rules.storm)
        if found is not None:
            self._conditions[found.identity] = found

    def _open(self, placed: Placed, arrival: Arrival, source: Source) -> bool:
        story = Story(id=placed.incident, identity=arrival.identity)
        self._stories.begin(story, arrival)
        self._opened[story.id] = _incident(self._tx, story.id, arrival)
        opened = _opened(
            alert=arrival.alert,
            source=source,
            target=arrival.target,
            findings=arrival.findings,
            identity=arrival.identity,
            episode=arrival.episode,
            follows=placed.follows,
        )
        return self._tell(story, said_of(opened), arrival.alert)

    def _attach(self, story: Story, alert: Alert, source: Source) -> bool:
        if not self._worth_an_entry(story, alert):
            return False
        closed = "" if story.is_open else story.state
        return self._tell(story, said_of(_attached(alert=alert, source=source, closed=closed)), alert)

    def _worth_an_entry(self, story: Story, alert: Alert) -> bool:
        if story.ended_at is not None:
            last = story.said.get(alert.status)
            return last is None or last <= story.ended_at or self._tx.now - last >= LATE_EVERY
        last = story.said.get(alert.status)
        return story.told < ALWAYS_TOLD or last is None or self._tx.now - last >= REPEAT_EVERY

    def _tell(self, story: Story, entry: Said, alert: Alert) -> bool:
        row = rows_after(self._tx, story.id, story.head, [entry], ACTOR)[0]
        self._entries.append(row)
        story.head = Head(row["seq"], row["hash"])
        story.tell(alert.status, self._tx.now)
        self._grown[story.id] = story.head.seq
        return True

    async def write(self) -> None:
        """In the order that the foreign keys want; rows of a kind in one order for all replicas, since each waits for
        whoever inserts the same."""
        await self._write_inbox()
        rows = [{**row, "head": self._grown[id_]} for id_, row in self._opened.items()]
        await put(self._tx, _OPENING, sorted(rows, key=lambda row: (row["identity"], row["id"])))
        if self._entries:
            await write_rows(self._tx, self._entries)
        await self._heard.write()
        moved = [{"moved": id_, "to": seq} for id_, seq in self._grown.items() if id_ not in self._opened]
        if moved:
            await self._tx.conn.execute(_TO_HEAD, moved)
        await self._count_storm()
        await self._write_watched()

    async def _write_watched(self) -> None:
        """Each asks nothing where there is nothing of its kind, which is nearly always."""
        await self._happening.write()
        await sighted(self._tx, self._sighted)
        await stand(self._tx, [found for found in self._conditions.values() if found is not None])
        lifted = [identity for identity, found in self._conditions.items() if found is None]
        if lifted:
            await lift(self._tx, lifted)

    async def _write_inbox(self) -> None:
        """A place that holds another record than before is written anew."""
        taken = [
            {"topic": topic, "partition": partition, "offset": offset, "digest": seal, "at": self._tx.now}
            for (topic, partition, offset), seal in sorted(self._taken.items())
        ]
        anew = [row for row in taken if (row["topic"], row["partition"], row["offset"]) in self._others]
        for row in anew:
            same = [inbox.c[name] == row[name] for name in ("topic", "partition", "offset")]
            await self._tx.conn.execute(delete(inbox).where(*same))
        await put(self._tx, _TAKING, taken)


def _incident(tx: Tx, id_: str, arrival: Arrival) -> Stored:
    return {
        "id": id_,
        "cluster": tx.cluster,
        "identity": arrival.identity,
        "episode": arrival.episode,
        "state": str(State.OPENED),
        "title": clean(arrival.alert.name)[:TITLE],
        "target": clean(str(arrival.target)) if arrival.target else "",
        "opened_at": tx.now,
        "moved_at": tx.now,
        "epoch": tx.epoch,
        "is_open": True,
    }


async def take(tx: Tx, batches: Sequence[Batch], rules: Rules) -> tuple[tuple[Took, ...], ...]:
    """What became of every arrival, in the order of the batches. Raises HeadMoved when another replica took in the
    same things at the same moment: then it must be placed anew."""
    seen = await seen_before(tx, (batch.source for batch in batches))
    events = await happening(tx, (arrival for batch in batches for arrival in batch.arrivals), rules.judge)
    stories = await recall(tx, (arrival for batch in batches for arrival in batch.arrivals))
    taking = Taking(tx, seen, stories, events, rules)
    took: list[tuple[Took, ...]] = []
    for number, batch in enumerate(batches):
        if number % BREATH == 0:
            await asyncio.sleep(0)
        took.append(await taking.batch(batch))
    try:
        await taking.write()
    except IntegrityError as raced:
        raise HeadMoved("another replica took in the same alerts just now") from raced
    return tuple(took)
