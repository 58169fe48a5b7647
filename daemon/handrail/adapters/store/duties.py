"""What one replica at a time does for all of them: telling people, looking at the clock, publishing.

A duty is a lease by the database's clock, kept by beating. One process on SQLite has every duty.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import func, or_, select, update

from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.leases import Lease, Leases
from handrail.adapters.store.once import insert_once
from handrail.adapters.store.schema import duties
from handrail.model.errors import Transient

__all__ = ["Duties", "Duty", "require"]


class Duty(StrEnum):
    TELLING = "telling"
    TICK = "tick"
    PUBLISHING = "publishing"


class Duties:
    """Of this replica. `leases` gives its name, its time and its clock; None: everything is ours."""

    def __init__(self, database: Database, leases: Leases | None) -> None:
        self._database = database
        self._leases = leases
        self._held: dict[Duty, Lease] = {}

    async def on_duty(self, duty: Duty) -> bool:
        """Takes it where it is free, and beats where it is ours. Asks the database at most three times in a lease.

        Raises Transient; whoever can't ask is not on duty.
        """
        leases = self._leases
        if leases is None:
            return True
        lease = self._held.get(duty)
        if lease is not None and leases.monotonic() - lease.since < leases.seconds / 3:
            return True
        since = leases.monotonic()
        self._held.pop(duty, None)
        epoch = await self._database.write(lambda tx: _take(tx, leases, duty))
        if epoch is not None:
            self._held[duty] = Lease(epoch, since)
        return epoch is not None

    def epoch(self, duty: Duty) -> int | None:
        """Under which this replica has it, as far as it knows; None: never, or not any more."""
        lease = self._held.get(duty)
        return lease.epoch if lease else None

    async def let_all_go(self) -> None:
        """Never raises: a duty that can't be given back is free when its time is over."""
        held, self._held = self._held, {}
        if self._leases is None or not held:
            return
        mine = (duties.c.holder == self._leases.holder) & duties.c.name.in_(held)

        async def work(tx: Tx) -> None:
            await tx.conn.execute(update(duties).where(mine).values(holder=None, until=None))

        try:
            await self._database.write(work)
        except Transient:
            return


async def require(tx: Tx, duty: Duty, epoch: int | None) -> None:
    """In the transaction that does something by right of a duty: share-locked, so that nobody takes it over meanwhile.

    Raises Transient where another replica has it now, or has had it since `epoch`: what is known here may be old.
    """
    if tx.leases is None:
        return
    row = select(duties.c.holder, duties.c.epoch, (duties.c.until > func.clock_timestamp()).label("holds"))
    found = (await tx.conn.execute(row.where(duties.c.name == duty).with_for_update(read=True))).one_or_none()
    if found is None or found.holder != tx.leases.holder or found.epoch != epoch or not found.holds:
        raise Transient(f"another replica has the duty {duty} now", retry_after=2.0)


async def _take(tx: Tx, leases: Leases, duty: Duty) -> int | None:
    """The epoch rises whenever it changes hands, also back to us after it was over."""
    await _there(tx, duty)
    ours = (duties.c.holder == leases.holder) & (duties.c.until > func.clock_timestamp())
    longer = update(duties).where(duties.c.name == duty, ours).values(until=leases.until()).returning(duties.c.epoch)
    kept = (await tx.conn.execute(longer)).scalar_one_or_none()
    if kept is not None:
        return int(kept)
    free = or_(duties.c.holder.is_(None), duties.c.until <= func.clock_timestamp())
    taken = (
        update(duties)
        .where(duties.c.name == duty, free)
        .values(holder=leases.holder, epoch=duties.c.epoch + 1, until=leases.until())
        .returning(duties.c.epoch)
    )
    new = (await tx.conn.execute(taken)).scalar_one_or_none()
    return None if new is None else int(new)


async def _there(tx: Tx, duty: Duty) -> None:
    known = (await tx.conn.execute(select(duties.c.name).where(duties.c.name == duty))).scalar_one_or_none()
    if known is None:
        await insert_once(tx, duties, [{"name": str(duty), "holder": None, "epoch": 0, "until": None}])
