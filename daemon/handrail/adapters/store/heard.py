"""How often each alert came, and when it came last: one row for all that say the same of one incident.

Decides nothing: what is worth an entry in a journal is for intake. Bounded by what there is to say, however often it is
said: what opens nothing has a row too, of no incident.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Insert, and_, func, not_, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from handrail.adapters.store.bulk import among, put
from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import clean
from handrail.adapters.store.schema import UtcText, heard, incidents
from handrail.core.last_word import LATE, LATE_EVERY, REPEAT_EVERY
from handrail.model.arrival import Arrival, LastWord

Said = tuple[int, dict[str, datetime]]
"""How many alerts of an incident are journalled, and when one of each status was last."""

OTHER = {"firing": "resolved", "resolved": "firing"}

MOST_UNSAID = 200
"""Last words that are journalled at a time."""

_KEY = ("cluster", "incident", "identity", "status")


class Heard:
    """The counts of one poll on their way into the store."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._rows: dict[tuple[str, str, str], dict[str, Any]] = {}

    def count(self, arrival: Arrival, incident: str, told: bool) -> None:
        """`incident` is "" where it belongs to none; `told` where it is journalled there."""
        alert = arrival.alert
        at = self._after(incident, arrival.identity, alert.status)
        row = self._rows.get((incident, arrival.identity, alert.status))
        if row is None:
            self._rows[incident, arrival.identity, alert.status] = {
                "cluster": self._tx.cluster,
                "incident": incident,
                "identity": arrival.identity,
                "status": alert.status,
                "name": clean(alert.name),
                "times": 1,
                "told": int(told),
                "told_at": at if told else None,
                "at": at,
                "seen_at": alert.seen_at,
            }
            return
        row["times"] += 1
        row["at"] = at
        row["seen_at"] = max(row["seen_at"], alert.seen_at)
        if told:
            row["told"] += 1
            row["told_at"] = at

    def _after(self, incident: str, identity: str, status: str) -> datetime:
        """Now, or just after the other word of the same poll: which of them was heard last must be known."""
        other = self._rows.get((incident, identity, OTHER[status]))
        return self._tx.now if other is None else max(self._tx.now, other["at"] + timedelta(microseconds=1))

    async def write(self) -> None:
        """In the order of the keys, as on every replica: each waits for whoever writes the same."""
        ordered = [self._rows[key] for key in sorted(self._rows)]
        await put(self._tx, _ADDING[self._tx.conn.dialect.name], ordered)


async def said(tx: Tx, ids: Iterable[str]) -> dict[str, Said]:
    """Of each of these incidents."""
    found: dict[str, Said] = {id_: (0, {}) for id_ in ids}
    counted = (
        select(
            heard.c.incident,
            heard.c.status,
            func.sum(heard.c.told).label("told"),
            func.max(heard.c.told_at, type_=UtcText()).label("last"),
        )
        .where(heard.c.cluster == tx.cluster, among(tx, heard.c.incident, found), heard.c.told > 0)
        .group_by(heard.c.incident, heard.c.status)
    )
    for row in await tx.conn.execute(counted):
        told, by_status = found[row.incident]
        found[row.incident] = (told + int(row.told), {**by_status, row.status: row.last})
    return found


async def unsaid(tx: Tx, id_: str = "") -> tuple[LastWord, ...]:
    """Where another word was heard last than was journalled last: of this incident, or of all where it is time that it
    is journalled, but for those whose journal can't be read here: these are never journalled, and would take the
    others' turn."""
    last, other = heard.alias("last"), heard.alias("other")
    same = and_(*(last.c[name] == other.c[name] for name in ("cluster", "incident", "identity")))
    later = or_(last.c.told_at.is_(None), last.c.told_at < other.c.told_at)
    both = incidents.join(last, last.c.incident == incidents.c.id).join(other, same & (other.c.status != last.c.status))
    found = (
        select(*(last.c[name] for name in ("incident", "identity", "status", "seen_at", "at")))
        .select_from(both)
        .where(last.c.cluster == tx.cluster, last.c.at > other.c.at, later)
        .order_by(last.c.at)
    )
    if id_:
        found = found.where(incidents.c.id == id_)
    else:
        legible = not_(among(tx, incidents.c.id, tx.unfit))
        found = found.where(_due(tx, last.c.told_at), legible).limit(MOST_UNSAID)
    return tuple(LastWord.model_validate(row._asdict()) for row in await tx.conn.execute(found))


def _due(tx: Tx, told_at: ColumnElement[datetime | None]) -> ColumnElement[bool]:
    def after(wait: timedelta) -> ColumnElement[bool]:
        return or_(told_at.is_(None), told_at <= tx.now - wait)

    closed = and_(incidents.c.is_open.is_(False), incidents.c.ended_at > tx.now - LATE, after(LATE_EVERY))
    return or_(and_(incidents.c.is_open.is_(True), after(REPEAT_EVERY)), closed)


async def said_now(tx: Tx, words: Iterable[LastWord]) -> None:
    """They are journalled."""
    for word in words:
        mine = [heard.c.cluster == tx.cluster, heard.c.incident == word.incident, heard.c.identity == word.identity]
        told = update(heard).where(*mine, heard.c.status == word.status)
        await tx.conn.execute(told.values(told=heard.c.told + 1, told_at=tx.now))


def _adding(insert: sqlite.Insert | postgresql.Insert) -> Insert:
    new = insert.excluded
    later = func.max if isinstance(insert, sqlite.Insert) else func.greatest
    return insert.on_conflict_do_update(
        index_elements=_KEY,
        set_={
            "times": heard.c.times + new.times,
            "told": heard.c.told + new.told,
            "told_at": func.coalesce(new.told_at, heard.c.told_at),
            "at": new.at,
            "seen_at": later(heard.c.seen_at, new.seen_at),
        },
    )


_ADDING = {"sqlite": _adding(sqlite.insert(heard)), "postgresql": _adding(postgresql.insert(heard))}
