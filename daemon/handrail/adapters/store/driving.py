"""Driving incidents as one of several replicas: take, beat while something is really being done, let go.

On SQLite one process has them all, and nothing here asks the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from handrail.adapters.store import leases as sql
from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.leases import Leases
from handrail.model.errors import HeadMoved, Transient
from handrail.model.incident import Incident

log = structlog.get_logger("store")


class Driving:
    """`leases` None: this process has the database for itself."""

    def __init__(self, database: Database, leases: Leases | None) -> None:
        self._database = database
        self._leases = leases

    @asynccontextmanager
    async def driving(self, incident: Incident) -> AsyncIterator[bool]:
        """False where another replica drives it. Raises HeadMoved where its journal has grown since it was folded."""
        leases = self._leases
        if leases is None:
            yield True
            return
        if leases.fresh(incident.id, part=1 / 3) is None and not await self._take(leases, incident):
            yield False
            return
        beating = asyncio.create_task(self._beat(leases, incident.id), name=f"heartbeat {incident.id}")
        try:
            yield True
        finally:
            beating.cancel()
            await asyncio.wait([beating])

    async def _take(self, leases: Leases, incident: Incident) -> bool:
        async def work(tx: Tx) -> int | None:
            return await sql.claim(tx.conn, leases, incident.id)

        head = await self._database.write(work)
        if head is not None and head != incident.seq:
            raise HeadMoved(f"{incident.id} was folded at {incident.seq} and stands at {head}")
        return head is not None

    async def _beat(self, leases: Leases, id_: str) -> None:
        """Three times in a lease. A database that is away is asked again: what ends the lease is its time."""
        while True:
            await asyncio.sleep(leases.seconds / 3)
            try:
                held = await self._database.write(lambda tx: sql.renew(tx.conn, leases, id_))
            except Transient as away:
                log.warning("no heartbeat", incident=id_, why=str(away))
                continue
            if not held:
                log.warning("another replica has taken over, or may", incident=id_)
                return

    async def let_go(self, id_: str) -> None:
        """For whoever comes first. Never raises: a lease that can't be given back ends by itself."""
        lease = self._leases.forget(id_) if self._leases else None
        if self._leases is None or lease is None:
            return
        leases = self._leases
        try:
            await self._database.write(lambda tx: sql.let_go(tx.conn, leases, id_, lease))
        except Transient as away:
            log.info("a lease was not given back; it ends by itself", incident=id_, why=str(away))

    async def let_all_go(self) -> None:
        for id_ in self._leases.held() if self._leases else ():
            await self.let_go(id_)

    def seconds_left(self, id_: str) -> float | None:
        """How long a write that is sent now may take; None where no lease can end."""
        return None if self._leases is None else self._leases.seconds_left(id_)
