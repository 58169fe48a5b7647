"""Which incidents this replica drives, and until when (design, state rule 5).

Whether a lease holds is decided by the database's clock, in the transaction that commits an intent. What this replica
believes, by its own monotonic clock and from before it asked, only makes it more careful: from two thirds of the time
on it starts nothing new. Nothing is held while an incident waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Text, cast, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import INTERVAL
from sqlalchemy.ext.asyncio import AsyncConnection

from handrail.adapters.store.schema import incidents

MARGIN = 1 / 30
"""The part of a lease that a write's time-out leaves."""


@dataclass(frozen=True, slots=True)
class Lease:
    """`since` is a moment of the monotonic clock, taken before the database was asked."""

    epoch: int
    since: float


class Leases:
    """`holder` names this life of this replica; `seconds` is how long a lease lasts without a heartbeat."""

    def __init__(self, holder: str, seconds: float, monotonic: Callable[[], float]) -> None:
        self.holder = holder
        self.seconds = seconds
        self.monotonic = monotonic
        self._held: dict[str, Lease] = {}

    def held(self) -> tuple[str, ...]:
        return tuple(self._held)

    def fresh(self, id_: str, part: float = 2 / 3) -> Lease | None:
        """The lease, while less than that part of its time has gone."""
        lease = self._held.get(id_)
        return lease if lease and self.monotonic() - lease.since < part * self.seconds else None

    def seconds_left(self, id_: str) -> float:
        """For a write that is about to be sent: it must have ended, one way or the other, while this still holds."""
        lease = self._held.get(id_)
        return 0.0 if lease is None else lease.since + self.seconds * (1 - MARGIN) - self.monotonic()

    def keep(self, id_: str, epoch: int, since: float) -> None:
        self._held[id_] = Lease(epoch, since)

    def forget(self, id_: str) -> Lease | None:
        return self._held.pop(id_, None)

    def until(self) -> ColumnElement[datetime]:
        """When a lease taken now would end."""
        return func.clock_timestamp() + cast(literal(f"{self.seconds} seconds", Text), INTERVAL)

    def free(self) -> ColumnElement[bool]:
        """Held by nobody, by us, or by one that has fallen silent."""
        return or_(
            incidents.c.holder.is_(None),
            incidents.c.holder == self.holder,
            incidents.c.lease_until <= func.clock_timestamp(),
        )


async def claim(conn: AsyncConnection, leases: Leases, id_: str) -> int | None:
    """The head of an open incident that is ours from now on; None where another replica has it, or it has ended."""
    since = leases.monotonic()
    taken = (
        update(incidents)
        .where(incidents.c.id == id_, incidents.c.is_open.is_(True), leases.free())
        .values(holder=leases.holder, lease_epoch=incidents.c.lease_epoch + 1, lease_until=leases.until())
        .returning(incidents.c.lease_epoch, incidents.c.head)
    )
    found = (await conn.execute(taken)).one_or_none()
    if found is None:
        leases.forget(id_)
        return None
    leases.keep(id_, found.lease_epoch, since)
    return int(found.head)


async def renew(conn: AsyncConnection, leases: Leases, id_: str) -> bool:
    """A heartbeat. False where it came too late: then it is forgotten."""
    lease = leases.fresh(id_, part=1.0)
    since = leases.monotonic()
    if lease is not None:
        longer = (
            update(incidents)
            .where(_ours(leases, id_, lease), incidents.c.lease_until > func.clock_timestamp())
            .values(lease_until=leases.until())
            .returning(incidents.c.id)
        )
        if (await conn.execute(longer)).one_or_none() is not None:
            leases.keep(id_, lease.epoch, since)
            return True
    leases.forget(id_)
    return False


async def let_go(conn: AsyncConnection, leases: Leases, id_: str, lease: Lease) -> None:
    """Free for everybody at once."""
    await conn.execute(update(incidents).where(_ours(leases, id_, lease)).values(holder=None, lease_until=None))


async def epochs(conn: AsyncConnection, leases: Leases, id_: str) -> tuple[int, int]:
    """Ours and the database's, of a locked incident: equal only while the lease is ours, fresh, and not over by the
    database's clock."""
    mine = leases.fresh(id_)
    row = select(
        incidents.c.lease_epoch,
        func.coalesce(
            (incidents.c.holder == leases.holder) & (incidents.c.lease_until > func.clock_timestamp()), False
        ).label("holds"),
    ).where(incidents.c.id == id_)
    found = (await conn.execute(row)).one()
    return (mine.epoch if mine else 0), (found.lease_epoch if found.holds else -1)


def _ours(leases: Leases, id_: str, lease: Lease) -> ColumnElement[bool]:
    return (incidents.c.id == id_) & (incidents.c.holder == leases.holder) & (incidents.c.lease_epoch == lease.epoch)
