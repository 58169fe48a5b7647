"""What is watched over time: signals that have to keep coming, and what stops every write.

Decides nothing; core/conditions.py says what stops, detectors say what is overdue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Table, bindparam, delete, select, update

from handrail.adapters.store import happened, lists
from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.once import insert_once
from handrail.adapters.store.watched_schema import conditions, sightings
from handrail.model.condition import Condition
from handrail.model.incident import State
from handrail.model.reason import Reason

Row = dict[str, Any]


class Watching:
    """Of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sightings(self) -> dict[str, datetime]:
        """When each awaited signal was seen last, by its name in the configuration."""
        return await self._database.read(_sightings)

    async def standing(self) -> tuple[Condition, ...]:
        """Conditions that stand now."""
        return await self._database.read(standing)

    async def asked(self, most: int) -> tuple[tuple[Condition, ...], dict[str, int]]:
        """Conditions that stand now, and the open questions that they concern: incidents in ASKING with
        their heads, at most so many, the newest first. One look."""

        async def look(tx: Tx) -> tuple[tuple[Condition, ...], dict[str, int]]:
            return await standing(tx), await lists.heads_in(tx, State.ASKING, most)

        return await self._database.read(look)

    async def raise_(self, *found: Condition) -> None:
        """Raises, or prolongs."""
        await self._database.write(lambda tx: stand(tx, found))

    async def lift(self, *identities: str) -> None:
        await self._database.write(lambda tx: lift(tx, identities))

    async def tidy(self) -> None:
        """Forgets what no window reaches any more."""
        await self._database.write(_tidy)


async def standing(tx: Tx) -> tuple[Condition, ...]:
    rows = select(conditions).where(conditions.c.cluster == tx.cluster, conditions.c.until > tx.now)
    found = (await tx.conn.execute(rows.order_by(conditions.c.since, conditions.c.identity))).all()
    return tuple(
        Condition(identity=row.identity, reason=_reason(row.reason), what=row.what, since=row.since, until=row.until)
        for row in found
    )


def _reason(word: str) -> Reason:
    """A word of a newer build stops as well."""
    return Reason(word) if word in set(Reason) else Reason.CONTROL_PLANE_SICK


async def stand(tx: Tx, found: Iterable[Condition]) -> None:
    """One that stands already keeps since when; one that is over begins anew."""
    rows = [
        {"cluster": tx.cluster, **one.model_dump(exclude={"reason"}), "reason": str(one.reason)}
        for one in sorted(found, key=lambda one: one.identity)
    ]
    if not rows:
        return
    over = (conditions.c.cluster == tx.cluster) & (conditions.c.until <= tx.now)
    await tx.conn.execute(delete(conditions).where(over))
    await insert_once(tx, conditions, rows)
    await _update(tx, conditions, "identity", [{**row, "newest": row["until"]} for row in rows], "until")


async def lift(tx: Tx, identities: Iterable[str]) -> None:
    mine = conditions.c.identity.in_(sorted(identities))
    await tx.conn.execute(delete(conditions).where(conditions.c.cluster == tx.cluster, mine))


async def sighted(tx: Tx, found: Mapping[str, datetime]) -> None:
    """The newest counts, in whatever order they come. None lies in the future."""
    seen = {signal: min(at, tx.now) for signal, at in sorted(found.items())}
    rows = [{"cluster": tx.cluster, "signal": signal, "seen_at": at} for signal, at in seen.items()]
    if rows:
        await insert_once(tx, sightings, rows)
        await _update(tx, sightings, "signal", [{**row, "newest": row["seen_at"]} for row in rows], "seen_at")


async def _update(tx: Tx, table: Table, key: str, rows: list[Row], column: str) -> None:
    """Only onwards."""
    onwards = (
        update(table)
        .where(table.c.cluster == tx.cluster, table.c[key] == bindparam("its_key"))
        .where(table.c[column] < bindparam("newest"))
        .values({column: bindparam("newest")})
    )
    await tx.conn.execute(onwards, [{"its_key": row[key], "newest": row["newest"]} for row in rows])


async def _sightings(tx: Tx) -> dict[str, datetime]:
    rows = select(sightings.c.signal, sightings.c.seen_at).where(sightings.c.cluster == tx.cluster)
    return {row.signal: row.seen_at for row in await tx.conn.execute(rows)}


async def _tidy(tx: Tx) -> None:
    await happened.forget(tx)
    await tx.conn.execute(delete(conditions).where(conditions.c.cluster == tx.cluster, conditions.c.until <= tx.now))
