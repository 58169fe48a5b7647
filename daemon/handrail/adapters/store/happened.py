"""Windows of Kubernetes events: what came of one thing, on any replica, and whether that is a finding by now.

Decides nothing: `judge` does. An event is known by its UID and count; a copy of one that is known is taken for
nothing (collectors send all of them again when they restart, and several replicas of one send each: contrib#45897,
#17369). Only polls that hold events ask anything here.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, func, select, update

from handrail.adapters.store.database import Tx
from handrail.adapters.store.once import insert_once
from handrail.adapters.store.recall import chunks
from handrail.adapters.store.watched_schema import happened
from handrail.model.arrival import Arrival
from handrail.model.finding import Finding
from handrail.model.occurrence import Occurrence, is_event, occurrence
from handrail.model.value import digest

Judge = Callable[[tuple[Occurrence, ...], datetime], tuple[Finding, ...]]
"""What the detectors say of the events of one thing."""


def nothing(_events: tuple[Occurrence, ...], _now: datetime) -> tuple[Finding, ...]:
    """Where nobody judges windows."""
    return ()


KEPT = timedelta(hours=1)
"""As long as Kubernetes itself keeps events by default."""

KEY_BYTES = 512
"""Of one part of a row's key; PostgreSQL's index takes 2,704 for all of them, and a collector may send more. A pod's
longest name with its namespace, kind and UID has less."""

_LOCKS, _BUCKETS = 472_611, 64
"""PostgreSQL's advisory locks: polls about the same thing come one after the other, so that each sees the others'."""


class Happened:
    """The events of one poll on their way into the store."""

    def __init__(self, tx: Tx, known: dict[str, dict[str, Occurrence]], judge: Judge) -> None:
        self._tx = tx
        self._judge = judge
        self._known = known
        self._new: dict[tuple[str, str], Occurrence] = {}

    def judged(self, arrival: Arrival) -> Arrival | None:
        """The arrival with what its window shows; None for a copy of what is known."""
        one, of_thing = occurrence(arrival.alert), self._known[_thing(arrival)]
        before = of_thing.get(one.uid)
        if before is not None and before.times >= one.times:
            return None
        of_thing[one.uid] = self._new[_thing(arrival), one.uid] = one
        found = self._judge(tuple(of_thing.values()), one.seen_at)
        return arrival.model_copy(update={"findings": found}) if found else arrival

    async def write(self) -> None:
        rows = [
            {
                "cluster": self._tx.cluster,
                "thing": thing,
                "uid": _key(uid),
                "times": one.times,
                "seen_at": one.seen_at,
                "data": one.model_dump_json(),
            }
            for (thing, uid), one in sorted(self._new.items())
        ]
        await insert_once(self._tx, happened, rows)
        grown = (
            update(happened)
            .where(*(happened.c[name] == bindparam(f"its_{name}") for name in ("cluster", "thing", "uid")))
            .where(happened.c.times < bindparam("more"))
            .values(times=bindparam("more"), seen_at=bindparam("at"), data=bindparam("now"))
        )
        later = [
            {
                **{f"its_{name}": row[name] for name in ("cluster", "thing", "uid")},
                "more": row["times"],
                "at": row["seen_at"],
                "now": row["data"],
            }
            for row in rows
        ]
        if later:
            await self._tx.conn.execute(grown, later)


async def happening(tx: Tx, arrivals: Iterable[Arrival], judge: Judge) -> Happened:
    """What is known of the things that these are about. Asks nothing where none of them is an event."""
    events = [arrival for arrival in arrivals if is_event(arrival.alert)]
    known: dict[str, dict[str, Occurrence]] = defaultdict(dict)
    if not events:
        return Happened(tx, known, judge)
    things = sorted({_thing(arrival) for arrival in events})
    await _one_after_the_other(tx, things)
    since = min(arrival.alert.seen_at for arrival in events) - KEPT
    for chunk in chunks(things):
        rows = select(happened.c.thing, happened.c.data).where(
            happened.c.cluster == tx.cluster, happened.c.thing.in_(chunk), happened.c.seen_at >= since
        )
        for row in await tx.conn.execute(rows):
            one = Occurrence.model_validate_json(row.data)
            known[row.thing][one.uid] = one
    return Happened(tx, known, judge)


async def forget(tx: Tx) -> None:
    """What no window reaches any more."""
    old = (happened.c.cluster == tx.cluster) & (happened.c.seen_at < tx.now - 2 * KEPT)
    await tx.conn.execute(delete(happened).where(old))


async def _one_after_the_other(tx: Tx, things: Iterable[str]) -> None:
    """A file has one writer anyway."""
    if tx.leases is None:
        return
    for bucket in sorted({zlib.crc32(thing.encode()) % _BUCKETS for thing in things}):
        await tx.conn.execute(select(func.pg_advisory_xact_lock(_LOCKS, bucket)))


def _thing(arrival: Arrival) -> str:
    """A pod of the same name with another UID is another thing. What names no object is known by its identity."""
    target, cluster = arrival.target, arrival.alert.cluster
    return _key(f"{cluster} {target} {target.uid}" if target else f"{cluster} {arrival.identity}")


def _key(text: str) -> str:
    return text if len(text.encode()) <= KEY_BYTES else digest(text)
