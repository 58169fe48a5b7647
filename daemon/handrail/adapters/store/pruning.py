"""What came in is forgotten after a week: places in the inbox, and counts of what is over. The journal never is.

Nothing that an open incident has is touched. A record that is read again after so long is decoded anew, and what it
holds opens nothing: alerts older than the policy's `alert_age_minutes` (a day at most) never do.

Places go by keys, which rise with time, up to the first that is young; counts are few, one for all that says the
same. Each piece is a transaction of its own, since intake waits for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import delete, select, tuple_

from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.recall import chunks
from handrail.adapters.store.schema import heard, inbox, incidents, signals

KEPT = timedelta(days=7)

PIECE = 2000
"""Rows that are looked at in one transaction."""

MOST_PIECES = 200
"""In one go; the rest comes with the next."""


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


async def prune(database: Database) -> int:
    """How many rows were forgotten. Raises Transient: what was forgotten until then stays so."""
    gone = await _signals(database) + await _counts(database)
    place: Place | None = None
    while place := await database.read(_next_after(place)):
        gone += await _of_place(database, place)
    return gone


async def _of_place(database: Database, place: Place) -> int:
    gone = 0
    for _ in range(MOST_PIECES):
        piece = await database.write(_inbox_of(place))
        gone += piece
        if piece < PIECE:
            break
    return gone


async def _signals(database: Database) -> int:
    """Of builds before schema 6."""
    gone, after = 0, -1
    for _ in range(MOST_PIECES):
        piece = await database.write(_signals_after(after))
        gone += piece.gone
        if piece.last is None:
            break
        after = piece.last
    return gone


async def _counts(database: Database) -> int:
    gone, after = 0, ("", "", "")
    for _ in range(MOST_PIECES):
        some, last = await database.write(_counts_after(after))
        gone += some
        if last is None:
            break
        after = last
    return gone


class Piece(NamedTuple):
    """`last` is the key that was looked at last, None where there is nothing old behind it."""

    gone: int
    last: int | None


def _signals_after(after: int) -> Callable[[Tx], Awaitable[Piece]]:
    async def work(tx: Tx) -> Piece:
        open_ = select(incidents.c.id).where(incidents.c.is_open.is_(True), incidents.c.id == signals.c.incident)
        oldest = select(signals.c.id, signals.c.at, open_.exists().label("needed")).where(signals.c.id > after)
        rows = (await tx.conn.execute(oldest.order_by(signals.c.id).limit(PIECE))).all()
        old = [row for row in rows if row.at < tx.now - KEPT]
        over = [row.id for row in old if not row.needed]
        for some in chunks(over):
            await tx.conn.execute(delete(signals).where(signals.c.id.in_(some)))
        return Piece(len(over), rows[-1].id if len(old) == PIECE else None)

    return work


Key = tuple[str, str, str]
"""Of a count: incident, identity, status."""


def _counts_after(after: Key) -> Callable[[Tx], Awaitable[tuple[int, Key | None]]]:
    """How many went, and the key that was looked at last, None at the end."""
    of_key = (heard.c.incident, heard.c.identity, heard.c.status)

    async def work(tx: Tx) -> tuple[int, Key | None]:
        mine = heard.c.cluster == tx.cluster
        open_ = select(incidents.c.id).where(incidents.c.is_open.is_(True), incidents.c.id == heard.c.incident)
        next_ = select(*of_key, heard.c.at, open_.exists().label("needed")).where(
            mine, tuple_(*of_key) > tuple_(*after)
        )
        rows = (await tx.conn.execute(next_.order_by(*of_key).limit(PIECE))).all()
        over = [(row.incident, row.identity, row.status) for row in rows if row.at < tx.now - KEPT and not row.needed]
        for some in chunks(over):
            await tx.conn.execute(delete(heard).where(mine, tuple_(*of_key).in_(some)))
        return len(over), (rows[-1].incident, rows[-1].identity, rows[-1].status) if len(rows) == PIECE else None

    return work


def _next_after(place: Place | None) -> Callable[[Tx], Awaitable[Place | None]]:
    async def work(tx: Tx) -> Place | None:
        here = select(inbox.c.topic, inbox.c.partition).order_by(inbox.c.topic, inbox.c.partition).limit(1)
        if place is not None:
            here = here.where(tuple_(inbox.c.topic, inbox.c.partition) > tuple_(place.topic, place.partition))
        row = (await tx.conn.execute(here)).one_or_none()
        return Place(row.topic, row.partition) if row is not None else None

    return work


def _inbox_of(place: Place) -> Callable[[Tx], Awaitable[int]]:
    async def work(tx: Tx) -> int:
        mine = (inbox.c.topic == place.topic) & (inbox.c.partition == place.partition)
        oldest = select(inbox.c.offset, inbox.c.at).where(mine).order_by(inbox.c.offset).limit(PIECE)
        old = [row.offset for row in await tx.conn.execute(oldest) if row.at < tx.now - KEPT]
        for some in chunks(old):
            await tx.conn.execute(delete(inbox).where(mine, inbox.c.offset.in_(some)))
        return len(old)

    return work
