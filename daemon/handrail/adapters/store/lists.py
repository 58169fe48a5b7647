"""Lists and look-ups from the projection. They fold nothing, so they work whatever a journal holds."""

from __future__ import annotations

from sqlalchemy import delete, func, insert, select, true

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import clean
from handrail.adapters.store.schema import incidents, journal, telling
from handrail.adapters.store.values import IncidentRow, OpenWork, Telling

FOUND_AT_MOST = 10


async def open_heads(tx: Tx) -> dict[str, int]:
    """Open incidents with the heads of their journals, oldest first."""
    open_ = select(incidents.c.id, incidents.c.head).where(incidents.c.is_open.is_(True))
    found = await tx.conn.execute(open_.order_by(incidents.c.opened_at, incidents.c.id))
    return {row.id: row.head for row in found}


async def work(tx: Tx) -> OpenWork:
    """Those of them that no other replica drives just now."""
    free = true() if tx.leases is None else tx.leases.free()
    its_end = (journal.c.incident == incidents.c.id) & (journal.c.seq == incidents.c.head)
    open_ = select(incidents.c.id, incidents.c.head, journal.c.seq).select_from(incidents.outerjoin(journal, its_end))
    mine = open_.where(incidents.c.is_open.is_(True), free).order_by(incidents.c.opened_at, incidents.c.id)
    found = (await tx.conn.execute(mine)).all()
    return OpenWork({row.id: row.head for row in found}, frozenset(row.id for row in found if row.seq is None))


async def heads_in(tx: Tx, state: str, limit: int) -> dict[str, int]:
    """Incidents of one state with the heads of their journals, newest first."""
    mine = select(incidents.c.id, incidents.c.head).where(incidents.c.state == state)
    found = await tx.conn.execute(mine.order_by(incidents.c.opened_at.desc(), incidents.c.id).limit(limit))
    return {row.id: row.head for row in found}


async def count_by_state(tx: Tx) -> dict[str, int]:
    counted = select(incidents.c.state, func.count().label("times")).group_by(incidents.c.state)
    return {row.state: row.times for row in await tx.conn.execute(counted)}


async def rows(tx: Tx, limit: int, state: str | None) -> tuple[IncidentRow, ...]:
    shown = select(*(incidents.c[name] for name in IncidentRow.model_fields))
    if state is not None:
        shown = shown.where(incidents.c.state == state)
    newest = shown.order_by(incidents.c.opened_at.desc(), incidents.c.id).limit(limit)
    return tuple(IncidentRow.model_validate(dict(row._mapping)) for row in await tx.conn.execute(newest))


async def row(tx: Tx, id_: str) -> IncidentRow | None:
    shown = select(*(incidents.c[name] for name in IncidentRow.model_fields)).where(incidents.c.id == id_)
    found = (await tx.conn.execute(shown)).one_or_none()
    return None if found is None else IncidentRow.model_validate(dict(found._mapping))


async def find(tx: Tx, prefix: str) -> tuple[str, ...]:
    """The id itself where it is whole; else those that begin with it, at most ten. Nothing begins with nothing."""
    if not prefix or clean(prefix) != prefix:
        return ()
    alike = select(incidents.c.id).where(incidents.c.id.startswith(prefix, autoescape=True))
    found = tuple((await tx.conn.execute(alike.order_by(incidents.c.id).limit(FOUND_AT_MOST))).scalars())
    return (prefix,) if prefix in found else found


async def told(tx: Tx, id_: str) -> Telling:
    cursor = select(telling.c.channel, telling.c.ts, telling.c.told_seq).where(telling.c.incident == id_)
    row = (await tx.conn.execute(cursor)).one_or_none()
    return Telling.model_validate(dict(row._mapping)) if row else Telling()


async def save_told(tx: Tx, id_: str, cursor: Telling) -> None:
    await tx.conn.execute(delete(telling).where(telling.c.incident == id_))
    await tx.conn.execute(insert(telling).values(incident=id_, **cursor.model_dump()))


async def untold(tx: Tx) -> tuple[str, ...]:
    """Incidents, also closed ones, whose journal goes further than what people know; oldest first."""
    so_far = func.coalesce(telling.c.told_seq, 0)
    joined = incidents.outerjoin(telling, telling.c.incident == incidents.c.id)
    news = select(incidents.c.id).select_from(joined).where(incidents.c.head > so_far)
    return tuple((await tx.conn.execute(news.order_by(incidents.c.opened_at, incidents.c.id))).scalars())
