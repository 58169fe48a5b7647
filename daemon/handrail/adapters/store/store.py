"""The store: one object for all that is remembered. It commits what others decided, and refuses what must never be.

It never decides what to do next, and never touches the cluster. Every method but `nudge` is one transaction; they raise
Transient when the database is away, and then nothing has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select

from handrail.adapters.store import audit, blobs, claim, gate, intake, journal, late, lists, stop
from handrail.adapters.store.database import Database, Tx
from handrail.adapters.store.sqlite import database_file
from handrail.adapters.store.values import AuditReport, IncidentRow, Telling
from handrail.adapters.store.wake import Wake
from handrail.model.arrival import Batch, Took
from handrail.model.events import Attempted, Entry, Event, Gathered, Intent, ModelAnswered, Outcome
from handrail.model.incident import Incident
from handrail.model.reason import Refusal
from handrail.model.switch import Permit, Switch

ACTOR = "handrail"


class Store:
    """Made by `open`. `epoch` counts how often this database was opened: an older process's intents are refused."""

    def __init__(self, database: Database, wake: Wake, accept_unlabelled: bool) -> None:
        self._database = database
        self._wake = wake
        self._accept_unlabelled = accept_unlabelled

    @classmethod
    async def open(
        cls, url: str, *, cluster: str, clock: Callable[[], datetime], accept_unlabelled: bool = True
    ) -> Store:
        """`url` is sqlite:////absolute/path.db; `cluster` this daemon's own name; `clock` gives aware times.

        Raises BadConfig for a URL that can't be used, a missing folder, a file that another process holds, or that a
        newer build wrote.
        """
        wake = Wake()
        database = Database(database_file(url), cluster, clock, wake)
        await database.open()
        return cls(database, wake, accept_unlabelled)

    async def close(self) -> None:
        await self._database.close()

    @property
    def epoch(self) -> int:
        return self._database.epoch

    async def ping(self) -> None:
        """Raises Transient when the database does not answer."""

        async def ask(tx: Tx) -> None:
            await tx.conn.execute(select(1))

        await self._database.read(ask)

    # intake

    async def take(self, batches: Sequence[Batch], *, max_age: timedelta) -> tuple[tuple[Took, ...], ...]:
        """All records of a poll, or none of them; one tuple per batch. An alert seen longer ago than `max_age` opens
        nothing. A record that was taken before gives a single SEEN_BEFORE."""
        if not batches:
            return ()
        return await self._database.write(lambda tx: intake.take(tx, batches, max_age, self._accept_unlabelled))

    # incidents

    async def incident(self, id_: str) -> Incident | None:
        """The fold of its journal. Raises Damaged where that is not what was written, UnknownEvent where a newer build
        wrote something there; `unfit` names it from then on."""
        return await self._database.read(lambda tx: journal.load(tx, id_))

    async def entries(self, id_: str) -> tuple[Entry, ...]:
        """The whole journal, oldest first; () for an unknown id. Raises Damaged, UnknownEvent."""
        return await self._database.read(lambda tx: journal.entries_after(tx, id_, 0))

    def unfit(self) -> dict[str, str]:
        """Incidents that can't be driven, as far as they were looked at, each with what is wrong with its journal."""
        return dict(self._database.unfit)

    async def append(
        self,
        incident: Incident,
        events: Sequence[Event],
        *,
        actor: str = ACTOR,
        blobs: Mapping[str, str] | None = None,
    ) -> Incident:
        """Commits onto the head that `incident` was folded from, and returns the new fold. Raises HeadMoved where
        somebody was faster, Bug for an event that the state does not allow; then nothing is written."""
        kept = dict(blobs or {})

        async def work(tx: Tx) -> Incident:
            current = await journal.lock_at(tx, incident)
            await _keep(tx, kept)
            return await journal.extend(tx, current, events, actor)

        return await self._database.write(work)

    async def claim(
        self, incident: Incident, gathered: Gathered, blobs: Mapping[str, str], *, actor: str = ACTOR
    ) -> Incident | str:
        """Appends `gathered` and takes its target. Returns the id of the open incident that already has it, into
        which this one was merged. Raises HeadMoved."""
        kept = dict(blobs)

        async def work(tx: Tx) -> Incident | str:
            await _keep(tx, kept)
            return await claim.claim(tx, incident, gathered, actor)

        return await self._database.write(work)

    async def commit_intent(
        self, incident: Incident, event: Intent | Attempted, judge: gate.Judge, *, actor: str = ACTOR
    ) -> tuple[Incident, Permit] | Refusal:
        """The gate: `judge` sees what this very transaction read. Raises HeadMoved; a refusal writes nothing."""
        return await self._database.write(lambda tx: gate.commit_intent(tx, incident, event, judge, actor))

    async def append_outcome(self, incident_id: str, outcome: Outcome, *, actor: str = ACTOR) -> Incident:
        """What became of a write: wherever the head is, also after the end, and once per attempt."""
        return await self._database.write(lambda tx: late.append_outcome(tx, incident_id, outcome, actor))

    async def answer_model(
        self, incident_id: str, answered: ModelAnswered, blobs: Mapping[str, str], *, actor: str = ACTOR
    ) -> Incident:
        """What the model answered, with its raw text: wherever the head is; a recorded answer is never replaced."""
        kept = dict(blobs)

        async def work(tx: Tx) -> Incident:
            await _keep(tx, kept)
            return await late.answer_model(tx, incident_id, answered, actor)

        return await self._database.write(work)

    async def blob(self, digest: str) -> str | None:
        return await self._database.read(lambda tx: blobs.blob(tx, digest))

    # lists

    async def open_ids(self) -> tuple[str, ...]:
        return tuple(await self.open_heads())

    async def open_heads(self) -> dict[str, int]:
        """Open incidents, oldest first, with the seq at which each journal ends."""
        return await self._database.read(lists.open_heads)

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

    # the stop switch

    async def switch(self) -> Switch:
        return await self._database.read(stop.switch_now)

    async def set_switch(self, stopped: bool, *, by: str, why: str) -> Switch:
        return await self._database.write(lambda tx: stop.set_switch(tx, stopped, by, why))

    # telling people

    async def telling(self, id_: str) -> Telling:
        return await self._database.read(lambda tx: lists.told(tx, id_))

    async def save_telling(self, id_: str, telling: Telling) -> None:
        await self._database.write(lambda tx: lists.save_told(tx, id_, telling))

    async def untold(self) -> tuple[str, ...]:
        """Incidents whose journal goes further than what people were told, also closed ones; oldest first."""
        return await self._database.read(lists.untold)

    # the whole

    async def audit(self) -> AuditReport:
        return await self._database.read(audit.audit)

    async def wait_changed(self, timeout: float) -> bool:
        """True once something was committed since this task last waited; False after `timeout` seconds."""
        return await self._wake.wait(timeout)

    def nudge(self) -> None:
        """Wakes whoever waits."""
        self._wake.nudge()


async def _keep(tx: Tx, texts: Mapping[str, str]) -> None:
    await blobs.keep(tx, texts)
