"""What is counted of a storm, from the incidents that were opened: the same on every replica and after a restart.

Decides nothing; core/storm.py says what is a storm. `page` is the identity of storms' own pages, which do not count.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, case, func, select

from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.schema import UtcText, incidents, journal, signals
from handrail.core import storm
from handrail.model import events as ev
from handrail.model.condition import Condition
from handrail.model.errors import UnknownEvent
from handrail.model.incident import State
from handrail.model.policy import StormLimit

MOST_READ = 2000
"""Openings whose namespaces and nodes are counted; objects, alerts and names are counted over all."""

WORKED_ON = (State.COMPILING, State.REHEARSING, State.ASKING, State.EXECUTING, State.VERIFYING)
TAKING_BACK = (State.UNDOING, State.UNDONE)


class Storms:
    """Of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def standing(self, page: str, limit: StormLimit) -> Condition | None:
        """Counted anew: what two replicas took in at the same moment shows here."""
        return await self._database.read(lambda tx: found(tx, page, limit))

    async def seen(self, page: str, since: datetime) -> storm.Seen:
        return await self._database.read(lambda tx: _seen(tx, page, since))

    async def page(self, page: str) -> str:
        """The id of the open page, "" where there is none."""
        return await self._database.read(lambda tx: _page(tx, page))

    async def waiting(self) -> int:
        """Open incidents that have not been planned for."""
        return await self._database.read(_waiting)

    async def ahead(self, id_: str) -> int:
        """Open incidents that are worked on, and older ones that are about to be planned for."""
        return await self._database.read(lambda tx: _ahead(tx, id_))


async def found(tx: Tx, page: str, limit: StormLimit) -> Condition | None:
    since = tx.now - timedelta(minutes=limit.minutes)
    objects, newest = await _objects(tx, page, since)
    return storm.condition(page, objects, newest, limit)


async def _objects(tx: Tx, page: str, since: datetime) -> tuple[int, datetime | None]:
    named = case((incidents.c.target != "", incidents.c.target), else_=incidents.c.identity)
    newest = func.max(incidents.c.opened_at, type_=UtcText())
    counted = select(func.count(named.distinct()).label("times"), newest.label("newest"))
    row = (await tx.conn.execute(counted.where(_since(tx, page, since)))).one()
    return row.times, row.newest


def _since(tx: Tx, page: str, since: datetime) -> ColumnElement[bool]:
    return and_(incidents.c.cluster == tx.cluster, incidents.c.opened_at >= since, incidents.c.identity != page)


async def _seen(tx: Tx, page: str, since: datetime) -> storm.Seen:
    mine = _since(tx, page, since)
    objects, newest = await _objects(tx, page, since)
    joined = signals.join(incidents, signals.c.incident == incidents.c.id)
    times = func.count().label("times")
    by_name = select(signals.c.name, times).select_from(joined).where(mine, signals.c.status == "firing")
    rows = (await tx.conn.execute(by_name.group_by(signals.c.name).order_by(times.desc(), signals.c.name))).all()
    return storm.Seen(
        objects=objects,
        newest=newest,
        alerts=sum(row.times for row in rows),
        names=tuple(ev.Counted(name=row.name, times=row.times) for row in rows[: storm.MOST_NAMES]),
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


async def _waiting(tx: Tx) -> int:
    early = incidents.c.state.in_([State.GATHERING, State.PLANNING])
    mine = select(func.count()).where(incidents.c.cluster == tx.cluster, incidents.c.is_open.is_(True), early)
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
