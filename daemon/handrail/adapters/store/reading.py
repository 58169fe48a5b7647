"""What a store is asked: nothing here writes, and none of it waits for who does.

Lists come from the projection and fold nothing: they can be read whatever a journal holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from sqlalchemy import select

from handrail.adapters.store import audit, blobs, heard, journal, lists, spent, starts, stop
from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.values import AuditReport, IncidentRow, OpenWork, Telling
from handrail.core.budgets import Spent
from handrail.core.gate import Recent
from handrail.model.arrival import LastWord
from handrail.model.events import Entry
from handrail.model.incident import Incident
from handrail.model.switch import Switch

FRESH_SECONDS = 5.0


class Reading:
    """Every method is one consistent look, and raises Transient when the database is away; but for what lies in memory,
    which needs none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ping(self) -> None:
        """Raises Transient when the database does not answer."""

        async def ask(tx: Tx) -> None:
            await tx.conn.execute(select(1))

        await self._database.read(ask)

    async def answers(self) -> None:
        """As `ping`, without a question where something was read just now."""
        if time.monotonic() - self._database.answered > FRESH_SECONDS:
            await self.ping()

    # one incident

    async def incident(self, id_: str) -> Incident | None:
        """The fold of its journal. Raises Damaged where that is not what was written, UnknownEvent where a newer build
        wrote something there; `unfit` names it from then on."""
        return await self._database.read(lambda tx: journal.load(tx, id_))

    def known(self, id_: str, head: int) -> Incident | None:
        """The fold as it lies in memory; None unless it ends at `head`."""
        return self._database.known(id_, head)

    async def with_switch(self, id_: str) -> tuple[Incident | None, Switch]:
        """As `incident`, and the stop switch, in one look: all that the next move is decided from."""

        async def both(tx: Tx) -> tuple[Incident | None, Switch]:
            return await journal.load(tx, id_), await stop.switch_now(tx)

        return await self._database.read(both)

    async def entries(self, id_: str) -> tuple[Entry, ...]:
        """The whole journal, oldest first; () for an unknown id. Raises Damaged, UnknownEvent."""
        return await self._database.read(lambda tx: journal.entries_after(tx, id_, 0))

    async def unsaid(self, id_: str = "") -> tuple[LastWord, ...]:
        """What was heard last and is not journalled: of this incident, or of all where it is time that it is."""
        return await self._database.read(lambda tx: heard.unsaid(tx, id_))

    def unfit(self) -> dict[str, str]:
        """Incidents that can't be driven, as far as they were looked at, each with what is wrong with its journal."""
        return dict(self._database.unfit)

    async def recent(self, incident: Incident, uids: Iterable[str]) -> Recent:
        """What other incidents did to these objects and to the incident's target, as the gate will read it."""
        wanted = tuple(uids)
        return await self._database.read(lambda tx: starts.recent(tx, incident, wanted))

    async def spent(self, incident: Incident, uids: Iterable[str]) -> Spent:
        """What has been taken from every budget, of these objects too, and who is at work beside this incident."""
        wanted = tuple(uids)
        return await self._database.read(lambda tx: spent.spent(tx, incident, wanted))

    async def spent_by_all(self) -> Spent:
        """The same of the whole cluster, for those who look."""
        return await self._database.read(lambda tx: spent.spent(tx, None, ()))

    async def blob(self, digest: str) -> str | None:
        return await self._database.read(lambda tx: blobs.blob(tx, digest))

    # lists

    async def open_ids(self) -> tuple[str, ...]:
        return tuple(await self.open_heads())

    async def open_heads(self) -> dict[str, int]:
        """Open incidents, oldest first, with the seq at which each journal ends."""
        return await self._database.read(lists.open_heads)

    async def open_work(self) -> dict[str, int]:
        """As `open_heads`, without what other replicas drive just now."""
        return (await self._database.read(lists.work)).heads

    async def work_and_switch(self) -> tuple[OpenWork, Switch]:
        """`open_work` with what is cut off, and the stop switch, in one look."""

        async def both(tx: Tx) -> tuple[OpenWork, Switch]:
            return await lists.work(tx), await stop.switch_now(tx)

        return await self._database.read(both)

    async def count_by_state(self) -> dict[str, int]:
        return await self._database.read(lists.count_by_state)

    async def rows(self, limit: int, state: str | None = None) -> tuple[IncidentRow, ...]:
        """Newest first; `state` is a word of the lifecycle."""
        return await self._database.read(lambda tx: lists.rows(tx, limit, state))

    async def row(self, id_: str) -> IncidentRow | None:
        """From the projection alone: it can be read whatever the journal holds."""
        return await self._database.read(lambda tx: lists.row(tx, id_))

    async def find(self, prefix: str) -> tuple[str, ...]:
        """Ids that begin with `prefix`, at most ten: one where it is unambiguous."""
        return await self._database.read(lambda tx: lists.find(tx, prefix))

    async def untold(self) -> tuple[str, ...]:
        """Incidents whose journal goes further than what people were told, also closed ones; oldest first."""
        return await self._database.read(lists.untold)

    async def telling(self, id_: str) -> Telling:
        return await self._database.read(lambda tx: lists.told(tx, id_))

    # the whole

    async def switch(self) -> Switch:
        return await self._database.read(stop.switch_now)

    async def audit(self) -> AuditReport:
        return await self._database.read(audit.audit)
