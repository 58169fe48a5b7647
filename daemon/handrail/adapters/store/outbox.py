"""What is still to be published of the journals, and how far each publisher has come.

The journals are the outbox: an event is published because it is there, and the cursor moves only afterwards. So a crash
in between repeats events and never leaves one out. One cursor for each incident: entries of different incidents commit
in any order, and a cursor over all of them would pass over what commits late.
"""

from __future__ import annotations

from sqlalchemy import func, select, update

from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.duties import Duties, Duty, require
from handrail.adapters.store.journal import entries_after
from handrail.adapters.store.once import insert_once
from handrail.adapters.store.schema import incidents, published
from handrail.adapters.store.wake import Wake
from handrail.model.events import Entry


class Outbox:
    """Of one publisher. Every method raises Transient when the database is away."""

    def __init__(self, database: Database, duties: Duties, wake: Wake, publisher: str) -> None:
        self._database = database
        self._duties = duties
        self._publisher = publisher
        self.wait_changed = wake.wait

    async def on_duty(self) -> bool:
        """True where this replica is the one that publishes now."""
        return await self._duties.on_duty(Duty.PUBLISHING)

    async def waiting(self) -> dict[str, int]:
        """Incidents, open or closed, whose journal goes further than what was published, oldest first; each with the
        last seq that was."""
        return await self._database.read(lambda tx: _waiting(tx, self._publisher))

    async def entries_after(self, id_: str, seq: int) -> tuple[Entry, ...]:
        """Raises Damaged, UnknownEvent."""
        return await self._database.read(lambda tx: entries_after(tx, id_, seq))

    async def done(self, id_: str, seq: int) -> None:
        """Everything up to `seq` is published. Never moves back. Raises Transient where another replica publishes."""
        epoch = self._duties.epoch(Duty.PUBLISHING)
        await self._database.write(lambda tx: _done(tx, self._publisher, id_, seq, epoch))


async def _waiting(tx: Tx, publisher: str) -> dict[str, int]:
    so_far = func.coalesce(published.c.seq, 0)
    ours = (published.c.incident == incidents.c.id) & (published.c.publisher == publisher)
    joined = incidents.outerjoin(published, ours)
    news = select(incidents.c.id, so_far.label("seq")).select_from(joined).where(incidents.c.head > so_far)
    return {row.id: row.seq for row in await tx.conn.execute(news.order_by(incidents.c.opened_at, incidents.c.id))}


async def _done(tx: Tx, publisher: str, id_: str, seq: int, epoch: int | None) -> None:
    await require(tx, Duty.PUBLISHING, epoch)
    ours = (published.c.publisher == publisher) & (published.c.incident == id_)
    if (await tx.conn.execute(select(published.c.seq).where(ours))).scalar_one_or_none() is None:
        await insert_once(tx, published, [{"publisher": publisher, "incident": id_, "seq": 0}])
    await tx.conn.execute(update(published).where(ours, published.c.seq < seq).values(seq=seq))
