"""What the store remembers that bears on arriving alerts: records taken before, and the stories they may belong to.

Everything for a whole poll in a handful of queries. Decides nothing; `Stories.known` is what core/grouping.py judges.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from sqlalchemy import func, select

from handrail.adapters.store import heard
from handrail.adapters.store.bulk import among
from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import START, Head
from handrail.adapters.store.schema import inbox, incidents, journal
from handrail.core.grouping import Closed, Known, incident_id
from handrail.model.alert import Source
from handrail.model.arrival import Arrival
from handrail.model.incident import State
from handrail.model.reason import Reason

T = TypeVar("T")
Place = tuple[str, int, int]
Episode = tuple[str, str]
"""An identity and an episode of it."""

AT_ONCE = 500
"""Values in one IN list: databases bound the number of parameters."""

MERGES = 5
"""So often an incident can have been merged into one that was merged itself."""

_NO_PLACE = ("http:", "tick:")
"""Nothing was consumed: a request, or what the clock alone found."""


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while chunk := list(islice(rest, AT_ONCE)):
        yield chunk


def place_of(source: Source) -> Place | None:
    """Where a record lies in Kafka; None where there is none to be seen at again."""
    return None if source.topic.startswith(_NO_PLACE) else (source.topic, source.partition, source.offset)


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


@dataclass(slots=True)
class Story:
    """An incident that arrivals may join. `told` and `told_at`: how many of its alerts are journalled, since when;
    `said` when one of each status was last. `into` is the incident that it was merged into.

    `whole` is False where its journal does not end where it should: nothing is appended to that one.
    """

    id: str
    identity: str
    state: str = str(State.OPENED)
    ended_at: datetime | None = None
    reason: Reason | None = None
    into: str = ""
    head: Head = START
    whole: bool = True
    told: int = 0
    said: dict[str, datetime] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.ended_at is None

    @property
    def told_at(self) -> datetime | None:
        return max(self.said.values(), default=None)

    def tell(self, status: str, at: datetime) -> None:
        self.told += 1
        self.said[status] = at


@dataclass
class Stories:
    """By id, and by identity: the open one, and the one that ended last. `times` counts incidents by identity and
    episode."""

    cluster: str
    by_id: dict[str, Story] = field(default_factory=dict)
    open: dict[str, Story] = field(default_factory=dict)
    ended: dict[str, Story] = field(default_factory=dict)
    times: dict[Episode, int] = field(default_factory=dict)

    def add(self, story: Story) -> None:
        self.by_id[story.id] = story
        if story.ended_at is None:
            self.open[story.identity] = story
            return
        known = self.ended.get(story.identity)
        if known is None or known.ended_at is None or known.ended_at < story.ended_at:
            self.ended[story.identity] = story

    def begin(self, story: Story, arrival: Arrival) -> None:
        """A new incident, opened by this arrival."""
        episode = (arrival.identity, arrival.episode)
        self.times[episode] = self.times.get(episode, 0) + 1
        self.add(story)

    def newest_id(self, arrival: Arrival) -> str:
        """Of this very episode, "" where there is none: generations are counted without a gap."""
        times = self.times.get((arrival.identity, arrival.episode), 0)
        return incident_id(arrival, self.cluster, times - 1) if times else ""

    def known(self, arrival: Arrival, accept_unlabelled: bool, now: datetime, max_age: timedelta) -> Known:
        """The newest incident of this very episode counts before one of another that ended later."""
        going_on = self.open.get(arrival.identity)
        if going_on is not None:
            return Known(self.cluster, now, max_age, accept_unlabelled, open=going_on.id)
        times = self.times.get((arrival.identity, arrival.episode), 0)
        same = self.by_id.get(incident_id(arrival, self.cluster, times - 1)) if times else None
        last = self._goes_on_as(same or self.ended.get(arrival.identity))
        if last is None:
            return Known(self.cluster, now, max_age, accept_unlabelled, generation=times)
        return Known(
            cluster=self.cluster,
            now=now,
            max_age=max_age,
            accept_unlabelled=accept_unlabelled,
            open=last.id if last.is_open else "",
            closed=_closed(last, same is not None),
            generation=times,
        )

    def _goes_on_as(self, story: Story | None) -> Story | None:
        """What was merged is with the other one, whatever has become of that since."""
        for _ in range(MERGES):
            if story is None or story.into not in self.by_id:
                break
            story = self.by_id[story.into]
        return story


def _closed(story: Story, same_episode: bool) -> Closed | None:
    if story.ended_at is None:
        return None
    known = story.state in set(State)  # a word of a newer build: rather one incident too many than an alert lost
    state = State(story.state) if known else State.SUPPRESSED
    return Closed(incident=story.id, state=state, reason=story.reason, at=story.ended_at, same_episode=same_episode)


async def recall(tx: Tx, arrivals: Iterable[Arrival]) -> Stories:
    """Every incident that any of these may belong to, locked."""
    stories = Stories(tx.cluster)
    of_episode = {(arrival.identity, arrival.episode): arrival for arrival in arrivals}
    known = await _known(tx, {identity for identity, _ in of_episode})
    if not known:
        return stories  # whatever is new, as most of a storm is
    wanted = await _of_identities(tx, known)
    stories.times = await _times(tx, [episode for episode in of_episode if episode[0] in known])
    wanted.update(filter(None, map(stories.newest_id, of_episode.values())))
    for story in await _locked(tx, wanted):
        stories.add(story)
    return stories


async def _locked(tx: Tx, wanted: set[str]) -> list[Story]:
    """These, and those that they were merged into."""
    for _ in range(MERGES):
        async with tx.conn.begin_nested() as savepoint:
            found = await _stories(tx, sorted(wanted))
            further = {story.into for story in found} - wanted - {""}
            if further:
                await savepoint.rollback()  # gives the locks back: all are taken together, in the order of their ids
        if not further:
            break
        wanted |= further
    return found


async def _known(tx: Tx, identities: set[str]) -> set[str]:
    """Those of which there ever was an incident."""
    here = (incidents.c.cluster == tx.cluster) & among(tx, incidents.c.identity, identities)
    return set((await tx.conn.execute(select(incidents.c.identity).where(here).distinct())).scalars())


async def _of_identities(tx: Tx, identities: set[str]) -> set[str]:
    mine = (incidents.c.cluster == tx.cluster) & among(tx, incidents.c.identity, identities)
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


async def _times(tx: Tx, episodes: list[Episode]) -> dict[Episode, int]:
    """How many incidents each has had. Of other pairs of the same words too: harmless, and one query."""
    counted = (
        select(incidents.c.identity, incidents.c.episode, func.count().label("times"))
        .where(
            incidents.c.cluster == tx.cluster,
            among(tx, incidents.c.identity, {identity for identity, _ in episodes}),
            among(tx, incidents.c.episode, {episode for _, episode in episodes}),
        )
        .group_by(incidents.c.identity, incidents.c.episode)
    )
    return {(row.identity, row.episode): row.times for row in await tx.conn.execute(counted)}


async def _stories(tx: Tx, ids: list[str]) -> list[Story]:
    names = ("id", "identity", "state", "is_open", "ended_at", "head")
    shown = (
        select(*(incidents.c[name] for name in names)).where(among(tx, incidents.c.id, ids)).order_by(incidents.c.id)
    )
    shown = shown.with_for_update()  # in the order of the ids, as everywhere
    rows = (await tx.conn.execute(shown)).all()
    found = [row.id for row in rows]
    ends, said = await _ends(tx, found), await heard.said(tx, found)
    noise = await _suppressed(tx, [row.id for row in rows if row.state == State.SUPPRESSED])
    stories: list[Story] = []
    for row in rows:
        end, (times, by_status), (reason, into) = ends.get(row.id, START), said[row.id], noise.get(row.id, (None, ""))
        whole = end.seq == row.head
        stories.append(Story(row.id, row.identity, row.state, row.ended_at, reason, into, end, whole, times, by_status))
    return stories


async def _suppressed(tx: Tx, ids: list[str]) -> dict[str, tuple[Reason | None, str]]:
    """Why they were closed as noise, and the incident that goes on with it. None where it is damaged, or a
    word of a newer build: that says nothing, and then nobody is silent about it."""
    if not ids:
        return {}
    ends = select(journal.c.incident, journal.c.data).where(
        among(tx, journal.c.incident, ids), journal.c.kind == "suppressed"
    )
    return {id_: _why(text) for id_, text in await tx.conn.execute(ends)}


def _why(text: str) -> tuple[Reason | None, str]:
    try:
        said = json.loads(text)
        return Reason(said["reason"]), str(said["into"])
    except (ValueError, TypeError, KeyError):
        return None, ""


async def _ends(tx: Tx, ids: list[str]) -> dict[str, Head]:
    newest = (
        select(journal.c.incident, func.max(journal.c.seq).label("seq"))
        .where(among(tx, journal.c.incident, ids))
        .group_by(journal.c.incident)
        .subquery()
    )
    ends = select(journal.c.incident, journal.c.seq, journal.c.hash).where(
        journal.c.incident == newest.c.incident, journal.c.seq == newest.c.seq
    )
    return {row.incident: Head(row.seq, row.hash) for row in await tx.conn.execute(ends)}
