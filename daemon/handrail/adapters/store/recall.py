"""What the store remembers that bears on arriving alerts: records taken before, and the stories they may belong to.

Everything for a whole poll in a handful of queries. Decides nothing; `Stories.known` is what core/grouping.py judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from sqlalchemy import func, select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import START, Head
from handrail.adapters.store.schema import inbox, incidents, journal, signals
from handrail.core.grouping import Known, incident_id
from handrail.model.alert import Source
from handrail.model.arrival import Arrival

T = TypeVar("T")
Place = tuple[str, int, int]

AT_ONCE = 500
"""Values in one IN list: databases bound the number of parameters."""

_HTTP = "http:"


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while chunk := list(islice(rest, AT_ONCE)):
        yield chunk


def place_of(source: Source) -> Place | None:
    """Where a record lies in Kafka; None for an HTTP request, which has no place to be seen at again."""
    return None if source.topic.startswith(_HTTP) else (source.topic, source.partition, source.offset)


async def seen_before(tx: Tx, sources: Iterable[Source]) -> dict[Place, str]:
    """The digest of what was taken at each place. Another digest there is another record: a topic that was deleted
    and made anew counts from 0 again, and its alerts must not be lost."""
    offsets: dict[tuple[str, int], set[int]] = defaultdict(set)
    for source in sources:
        if place_of(source):
            offsets[source.topic, source.partition].add(source.offset)
    found: dict[Place, str] = {}
    for (topic, partition), wanted in offsets.items():
        for chunk in chunks(sorted(wanted)):
            taken = select(inbox.c.offset, inbox.c.digest).where(
                inbox.c.topic == topic, inbox.c.partition == partition, inbox.c.offset.in_(chunk)
            )
            found.update({(topic, partition, row.offset): row.digest for row in await tx.conn.execute(taken)})
    return found


@dataclass
class Story:
    """An incident that arrivals may join. `told` and `told_at`: how many of its alerts are journalled, since when.

    `whole` is False where its journal does not end where it should: nothing is appended to that one.
    """

    id: str
    identity: str
    is_open: bool = True
    ended_at: datetime | None = None
    head: Head = START
    whole: bool = True
    told: int = 0
    told_at: datetime | None = None


@dataclass
class Stories:
    """By id, and by identity: the open one, and the one that ended last."""

    cluster: str
    by_id: dict[str, Story] = field(default_factory=dict)
    open: dict[str, Story] = field(default_factory=dict)
    ended: dict[str, Story] = field(default_factory=dict)

    def add(self, story: Story) -> None:
        self.by_id[story.id] = story
        if story.is_open:
            self.open[story.identity] = story
        elif story.ended_at is not None:
            known = self.ended.get(story.identity)
            if known is None or known.ended_at is None or known.ended_at < story.ended_at:
                self.ended[story.identity] = story

    def known(self, arrival: Arrival, accept_unlabelled: bool, now: datetime, max_age: timedelta) -> Known:
        """An incident of this very episode counts before one that ended later."""
        same = self.by_id.get(incident_id(arrival, self.cluster))
        going_on = self.open.get(arrival.identity) or (same if same and same.is_open else None)
        ended = same if same and not same.is_open else self.ended.get(arrival.identity)
        return Known(
            open=going_on.id if going_on else "",
            closed=ended.id if ended else "",
            closed_same_episode=ended is not None and ended is same,
            closed_at=ended.ended_at if ended else None,
            cluster=self.cluster,
            accept_unlabelled=accept_unlabelled,
            now=now,
            max_age=max_age,
        )


async def recall(tx: Tx, arrivals: Iterable[Arrival]) -> Stories:
    """Every incident that any of these may belong to, locked."""
    identities: set[str] = set()
    wanted: set[str] = set()
    for arrival in arrivals:
        identities.add(arrival.identity)
        wanted.add(incident_id(arrival, tx.cluster))
    for chunk in chunks(sorted(identities)):
        wanted.update(await _of_identities(tx, chunk))
    stories = Stories(tx.cluster)
    for chunk in chunks(sorted(wanted)):
        for story in await _stories(tx, chunk):
            stories.add(story)
    return stories


async def _of_identities(tx: Tx, identities: list[str]) -> set[str]:
    mine = (incidents.c.cluster == tx.cluster) & incidents.c.identity.in_(identities)
    going_on = select(incidents.c.id).where(mine, incidents.c.is_open.is_(True))
    last = (
        select(incidents.c.identity, func.max(incidents.c.ended_at).label("at"))
        .where(mine, incidents.c.is_open.is_(False))
        .group_by(incidents.c.identity)
        .subquery()
    )
    ended = select(incidents.c.id).where(
        incidents.c.cluster == tx.cluster,
        incidents.c.identity == last.c.identity,
        incidents.c.ended_at == last.c.at,
    )
    return {*(await tx.conn.execute(going_on)).scalars(), *(await tx.conn.execute(ended)).scalars()}


async def _stories(tx: Tx, ids: list[str]) -> list[Story]:
    shown = (
        select(incidents.c.id, incidents.c.identity, incidents.c.is_open, incidents.c.ended_at, incidents.c.head)
        .where(incidents.c.id.in_(ids))
        .with_for_update()
    )
    rows = (await tx.conn.execute(shown)).all()
    ends = await _ends(tx, [row.id for row in rows])
    told = await _told(tx, [row.id for row in rows])
    found: list[Story] = []
    for row in rows:
        end = ends.get(row.id, START)
        times, since = told.get(row.id, (0, None))
        story = Story(row.id, row.identity, row.is_open, row.ended_at, end, end.seq == row.head, times, since)
        found.append(story)
    return found


async def _ends(tx: Tx, ids: list[str]) -> dict[str, Head]:
    newest = (
        select(journal.c.incident, func.max(journal.c.seq).label("seq"))
        .where(journal.c.incident.in_(ids))
        .group_by(journal.c.incident)
        .subquery()
    )
    ends = select(journal.c.incident, journal.c.seq, journal.c.hash).where(
        journal.c.incident == newest.c.incident, journal.c.seq == newest.c.seq
    )
    return {row.incident: Head(row.seq, row.hash) for row in await tx.conn.execute(ends)}


async def _told(tx: Tx, ids: list[str]) -> dict[str, tuple[int, datetime | None]]:
    counted = (
        select(signals.c.incident, func.count().label("times"), func.max(signals.c.at).label("since"))
        .where(signals.c.incident.in_(ids), signals.c.seq.is_not(None))
        .group_by(signals.c.incident)
    )
    return {row.incident: (row.times, row.since) for row in await tx.conn.execute(counted)}
