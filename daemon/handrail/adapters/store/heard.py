"""How often each alert came, and when it came last: one row for all that say the same of one incident.

Decides nothing: what is worth an entry in a journal is for intake. Bounded by what there is to say, however often it is
said: what opens nothing has a row too, of no incident.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Insert, func, select
from sqlalchemy.dialects import postgresql, sqlite

from handrail.adapters.store.bulk import among, put
from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import clean
from handrail.adapters.store.schema import UtcText, heard
from handrail.model.arrival import Arrival

Said = tuple[int, dict[str, datetime]]
"""How many alerts of an incident are journalled, and when one of each status was last."""

_KEY = ("cluster", "incident", "identity", "status")


class Heard:
    """The counts of one poll on their way into the store."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._rows: dict[tuple[str, str, str], dict[str, Any]] = {}

    def count(self, arrival: Arrival, incident: str, told: bool) -> None:
        """`incident` is "" where it belongs to none; `told` where it is journalled there."""
        alert = arrival.alert
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
                "told_at": self._tx.now if told else None,
                "at": self._tx.now,
                "seen_at": alert.seen_at,
            }
            return
        row["times"] += 1
        row["seen_at"] = max(row["seen_at"], alert.seen_at)
        if told:
            row["told"] += 1
            row["told_at"] = self._tx.now

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
