"""What is counted of a storm, from the incidents that were opened: the same on every replica and after a restart.

Decides nothing; core/storm.py says what is a storm. `page` is the identity of storms' own pages, which do not count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, ColumnElement, and_, case, func, not_, or_, select

from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.schema import UtcText, heard, incidents, journal
from handrail.adapters.store.watching import standing
from handrail.core import storm
from handrail.model import events as ev
from handrail.model.condition import Condition
from handrail.model.errors import UnknownEvent
from handrail.model.incident import State
from handrail.model.policy import StormLimit
from handrail.model.target import OWNED

MOST_READ = 2000
"""Openings whose namespaces and nodes are counted; objects, alerts and names are counted over all."""

WORKED_ON = (State.COMPILING, State.REHEARSING, State.ASKING, State.EXECUTING, State.VERIFYING)
TAKING_BACK = (State.UNDOING, State.UNDONE)


@dataclass(frozen=True, slots=True)
class Look:
    """`standing` are the conditions that stand, `page` is the id of the storm's open page, "" where there is none."""

    count: storm.Count
    standing: tuple[Condition, ...]
    page: str


class Storms:
    """Of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, page: str, limit: StormLimit) -> storm.Count:
        """Of the minutes before now: what two replicas took in or looked up at the same moment shows here."""
        return await self._database.read(lambda tx: _lately(tx, page, limit))

    async def look(self, page: str, limit: StormLimit) -> Look:
        """All that says whether there is a storm."""

        async def look(tx: Tx) -> Look:
            return Look(await _lately(tx, page, limit), await standing(tx), await _page(tx, page))

        return await self._database.read(look)

    async def seen(self, page: str, since: datetime, most: int) -> tuple[storm.Seen, int, tuple[str, ...]]:
        """What came in the storm, how many open incidents have not been planned for, and the `most` that have waited
        longest, by id and object."""

        async def look(tx: Tx) -> tuple[storm.Seen, int, tuple[str, ...]]:
            return await _seen(tx, page, since), await _waiting(tx), await _longest(tx, most)

        return await self._database.read(look)

    async def page(self, page: str) -> str:
        """The id of the open page, "" where there is none."""
        return await self._database.read(lambda tx: _page(tx, page))

    async def ahead(self, id_: str) -> int:
        """Open incidents that are worked on, and older ones that are about to be planned for."""
        return await self._database.read(lambda tx: _ahead(tx, id_))

    async def given(self, within: timedelta, *, known: bool) -> int:
        """Incidents that were handed over so lately; `known`: those whose object was found, else the others."""
        return await self._database.read(lambda tx: _given(tx, tx.now - within, known))


async def found(tx: Tx, page: str, limit: StormLimit) -> Condition | None:
    return storm.condition(page, await _lately(tx, page, limit), limit)


async def _lately(tx: Tx, page: str, limit: StormLimit) -> storm.Count:
    return await _count(tx, page, tx.now - timedelta(minutes=limit.minutes))


async def _count(tx: Tx, page: str, since: datetime) -> storm.Count:
    """A pod that is merged or gathered stands in its row as what owns it; one whose incident ended before that will not
    be known any better."""
    named = case((incidents.c.target != "", incidents.c.target), else_=incidents.c.identity)
    owned = or_(*(incidents.c.target.startswith(f"{kind} ") for kind in sorted(OWNED)))
    unresolved = and_(owned, incidents.c.is_open.is_(True), incidents.c.target_uid.is_(None))
    overdue = and_(unresolved, incidents.c.opened_at <= tx.now - storm.PATIENCE)
    newest = func.max(incidents.c.opened_at, type_=UtcText())
    counted = select(
        _different(not_(unresolved), named).label("owners"),
        _different(unresolved, named).label("unresolved"),
        _different(overdue, named).label("overdue"),
        newest.label("newest"),
    )
    row = (await tx.conn.execute(counted.where(_since(tx, page, since)))).one()
    return storm.Count(owners=row.owners, unresolved=row.unresolved, overdue=row.overdue, newest=row.newest)


def _different(where: ColumnElement[bool], what: ColumnElement[str]) -> ColumnElement[int]:
    return func.count(case((where, what)).distinct())


def _since(tx: Tx, page: str, since: datetime) -> ColumnElement[bool]:
    return and_(incidents.c.cluster == tx.cluster, incidents.c.opened_at >= since, incidents.c.identity != page)


async def _seen(tx: Tx, page: str, since: datetime) -> storm.Seen:
    mine = _since(tx, page, since)
    joined = heard.join(incidents, (heard.c.cluster == incidents.c.cluster) & (heard.c.incident == incidents.c.id))
    times = func.sum(heard.c.times, type_=BigInteger()).label("times")
    by_name = select(heard.c.name, times).select_from(joined).where(mine, heard.c.status == "firing")
    rows = (await tx.conn.execute(by_name.group_by(heard.c.name).order_by(times.desc(), heard.c.name))).all()
    return storm.Seen(
        count=await _count(tx, page, since),
        alerts=sum(int(row.times) for row in rows),
        names=tuple(ev.Counted(name=row.name, times=int(row.times)) for row in rows[: storm.MOST_NAMES]),
        opened=await _opened(tx, mine),
    )


async def _opened(tx: Tx, mine: ColumnElement[bool]) -> tuple[ev.Opened, ...]:
    joined = journal.join(incidents, journal.c.incident == incidents.c.id)
    first = select(journal.c.data, journal.c.version).select_from(joined).where(mine, journal.c.seq == 1)
    rows = await tx.conn.execute(first.order_by(incidents.c.opened_at, incidents.c.id).limit(MOST_READ))
    read = (_read(row.data, row.version) for row in rows)
    return tuple(event for event in read if isinstance(event, ev.Opened))


def _read(text: str, version: int) -> ev.Event | None:
    """One that is damaged, or of a newer build, is not counted here; whoever drives it says so."""
    try:
        return ev.read(json.loads(text), version)
    except (ValueError, UnknownEvent):
        return None


async def _page(tx: Tx, page: str) -> str:
    mine = select(incidents.c.id).where(
        incidents.c.cluster == tx.cluster, incidents.c.identity == page, incidents.c.is_open.is_(True)
    )
    return (await tx.conn.execute(mine)).scalar_one_or_none() or ""


def _waits(tx: Tx) -> ColumnElement[bool]:
    early = incidents.c.state.in_([State.GATHERING, State.PLANNING])
    return and_(incidents.c.cluster == tx.cluster, incidents.c.is_open.is_(True), early)


async def _waiting(tx: Tx) -> int:
    return (await tx.conn.execute(select(func.count()).where(_waits(tx)))).scalar_one()


async def _longest(tx: Tx, most: int) -> tuple[str, ...]:
    oldest = select(incidents.c.id, incidents.c.target, incidents.c.title).where(_waits(tx))
    rows = await tx.conn.execute(oldest.order_by(incidents.c.opened_at, incidents.c.id).limit(most))
    return tuple(f"{row.id} ({row.target or row.title})" for row in rows)


async def _given(tx: Tx, since: datetime, known: bool) -> int:
    found = incidents.c.target_uid.is_not(None) if known else incidents.c.target_uid.is_(None)
    lately = and_(incidents.c.state == State.HANDED_OVER, incidents.c.ended_at > since)
    mine = select(func.count()).where(incidents.c.cluster == tx.cluster, incidents.c.is_open.is_(False), lately, found)
    return (await tx.conn.execute(mine)).scalar_one()


async def _ahead(tx: Tx, id_: str) -> int:
    open_ = and_(incidents.c.cluster == tx.cluster, incidents.c.is_open.is_(True), incidents.c.id != id_)
    states = [*WORKED_ON, *TAKING_BACK, State.PLANNING]
    rows = (
        await tx.conn.execute(
            select(incidents.c.id, incidents.c.state, incidents.c.opened_at).where(open_, incidents.c.state.in_(states))
        )
    ).all()
    own = (await tx.conn.execute(select(incidents.c.opened_at).where(incidents.c.id == id_))).scalar_one()
    return sum(row.state != State.PLANNING or (row.opened_at, row.id) < (own, id_) for row in rows)
