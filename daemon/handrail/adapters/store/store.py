"""The store: one object for all that is remembered. It commits what others decided, and refuses what must never be.

It never decides what to do next, and never touches the cluster. Every method that commits is one transaction; they
raise Transient when the database is away, and then nothing has happened (on a server that broke off at the very commit,
perhaps all of it: whoever tries again looks first).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from handrail.adapters.store import (
    again,
    blobs,
    claim,
    gate,
    happened,
    heard,
    intake,
    journal,
    late,
    lists,
    pruning,
    stop,
)
from handrail.adapters.store.database import Clock, Database, Tx
from handrail.adapters.store.driving import Driving
from handrail.adapters.store.duties import Duties, Duty, require
from handrail.adapters.store.home import Access, home_of
from handrail.adapters.store.leases import Leases
from handrail.adapters.store.outbox import Outbox
from handrail.adapters.store.reading import Reading
from handrail.adapters.store.storms import Storms
from handrail.adapters.store.values import Committed, Telling
from handrail.adapters.store.wake import Wake
from handrail.adapters.store.watching import Watching
from handrail.model.arrival import Batch, LastWord, Took
from handrail.model.errors import HeadMoved, Transient
from handrail.model.events import Attempted, Event, Gathered, Intent, ModelAnswered, Outcome, StepBegun
from handrail.model.incident import Incident
from handrail.model.policy import StormLimit
from handrail.model.reason import Refusal
from handrail.model.switch import EVERYTHING, Permit, Reach, Stop, Switch

ACTOR = "handrail"

RACES = 5
"""How often a poll is placed anew where another replica took in the same alerts at the same moment."""


class Store(Reading):
    """What is remembered, and committing to it; made by `open`.

    `epoch` counts how often a file was opened: an older process's intents are refused. On a server leases say the same
    of each incident.
    """

    def __init__(self, database: Database, wake: Wake, accept_unlabelled: bool) -> None:
        super().__init__(database)
        self._wake = wake
        self._accept_unlabelled = accept_unlabelled
        self._driving = Driving(database, database.leases)
        self._duties = Duties(database, database.leases)
        self.watching = Watching(database)
        self.storms = Storms(database)
        self._listening: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        cluster: str,
        clock: Clock | None = None,
        accept_unlabelled: bool = True,
        access: Access | None = None,
    ) -> Store:
        """`url` is sqlite:////absolute/path.db or postgresql://user@host/database; `cluster` this daemon's own name;
        `clock` gives aware times, without one the database's own counts.

        Raises BadConfig for a URL that can't be used, a missing folder, a file that another process holds, a server
        that does not let us in or has an older schema, and what only a newer build may read.
        """
        access = access or Access()
        home, wake = home_of(url, access), Wake()
        leases = Leases(_name(), access.lease_seconds, time.monotonic) if home.shared else None
        database = Database(home, cluster, clock, wake, leases)
        await database.open()
        store = cls(database, wake, accept_unlabelled)
        store.listen()
        return store

    def listen(self) -> None:
        """To other replicas, where there may be any."""
        hints = self._database.hints()
        if hints is not None:
            self._listening = asyncio.create_task(hints.run(), name="hints")

    async def close(self) -> None:
        """Gives back what is held, as far as the database can be reached."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        await self._driving.let_all_go()
        await self._duties.let_all_go()
        await self._database.close()

    @property
    def replica(self) -> str:
        """This life of this replica, "" where there are no others."""
        return self._database.leases.holder if self._database.leases else ""

    @property
    def epoch(self) -> int:
        return self._database.epoch

    # intake

    async def take(
        self,
        batches: Sequence[Batch],
        *,
        max_age: timedelta,
        judge: happened.Judge = happened.nothing,
        storm: StormLimit | None = None,
    ) -> tuple[tuple[Took, ...], ...]:
        """All records of a poll, or none of them; one tuple per batch. An alert seen longer ago than `max_age` opens
        nothing. A record that was taken before gives a single SEEN_BEFORE; so does a copy of a Kubernetes event that is
        known. `judge` says what the window of a thing's events shows, `storm` what is one."""
        if not batches:
            return ()
        rules = intake.Rules(max_age, self._accept_unlabelled, judge, storm)
        for _ in range(RACES):
            with contextlib.suppress(HeadMoved):
                return await self._database.write(lambda tx: intake.take(tx, batches, rules))
        raise Transient("other replicas keep taking in the same alerts", retry_after=0.5)

    async def prune(self) -> int:
        """Forgets what came in more than a week ago, but for what an open incident has; how many rows that were.
        Raises Transient."""
        return await pruning.prune(self._database)

    # incidents

    def listen_to(self, heard: Callable[[Sequence[Committed]], None]) -> None:
        """`heard` is called after each commit of this process with what it appended, and must not fail."""
        self._database.heard = heard

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
            moved = await journal.extend(tx, current, events, actor)
            await _keep(tx, kept)
            return moved

        return await self._database.write(work)

    async def say(self, incident: Incident, events: Sequence[Event], words: Sequence[LastWord]) -> Incident:
        """As `append`, of the last words that were heard; each is known as journalled from then on."""

        async def work(tx: Tx) -> Incident:
            current = await journal.lock_at(tx, incident)
            said = await journal.extend(tx, current, events, intake.ACTOR) if events else current
            await heard.said_now(tx, words)
            return said

        return await self._database.write(work)

    async def claim(
        self, incident: Incident, gathered: Gathered, blobs: Mapping[str, str], *, actor: str = ACTOR
    ) -> Incident | str:
        """Appends `gathered` and takes its target. Returns the id of the open incident that already has it, into
        which this one was merged. Raises HeadMoved."""
        kept = dict(blobs)

        async def work(tx: Tx) -> Incident | str:
            found = await claim.claim(tx, incident, gathered, actor)
            await _keep(tx, kept)
            return found

        return await self._database.write(work)

    async def commit_intent(
        self,
        incident: Incident,
        event: Intent | Attempted,
        judge: gate.Judge,
        *,
        begun: StepBegun | None = None,
        actor: str = ACTOR,
    ) -> tuple[Incident, Permit] | Refusal:
        """The gate: `judge` sees what this very transaction read; `begun` goes with the intent. Raises HeadMoved; a
        refusal writes nothing."""
        wanted = gate.Wanted(event, begun)
        return await self._database.write(lambda tx: gate.commit_intent(tx, incident, wanted, judge, actor))

    async def append_outcome(
        self,
        incident_id: str,
        outcome: Outcome,
        *,
        held: Stop | None = None,
        attempt: int | None = None,
        actor: str = ACTOR,
    ) -> Incident:
        """What became of a write: wherever the head is, also after the end, and once per attempt. `held` is the stop
        of the cluster's that refused it: latched in the same transaction. `attempt` goes with what says only that this
        one was not applied: nothing is recorded where there has been a further one."""

        beside = late.Beside(held, attempt)
        return await self._database.write(lambda tx: late.append_outcome(tx, incident_id, outcome, beside, actor))

    async def answer_model(
        self, incident_id: str, answered: ModelAnswered, blobs: Mapping[str, str], *, actor: str = ACTOR
    ) -> Incident:
        """What the model answered, with its raw text: wherever the head is; a recorded answer is never replaced."""
        kept = dict(blobs)

        async def work(tx: Tx) -> Incident:
            found = await late.answer_model(tx, incident_id, answered, actor)
            await _keep(tx, kept)
            return found

        return await self._database.write(work)

    async def open_again(self, id_: str, begin: again.Begin, *, actor: str) -> str | Refusal:
        """Another incident from a closed one; its id. Raises HeadMoved where the same was opened at that moment."""
        return await self._database.write(lambda tx: again.open_again(tx, id_, begin, actor))

    # replicas

    def driving(self, incident: Incident) -> AbstractAsyncContextManager[bool]:
        """Around one move. False where another replica drives this incident. Raises HeadMoved, Transient."""
        return self._driving.driving(incident)

    async def let_go(self, id_: str) -> None:
        """The incident waits, or has ended: nothing of it is held. Never raises."""
        await self._driving.let_go(id_)

    def seconds_left(self, id_: str) -> float | None:
        """How long a write of this incident may take, None where nothing but the write's own time-out says so."""
        return self._driving.seconds_left(id_)

    async def on_duty(self, duty: Duty) -> bool:
        """True where this replica is the one that does it now. Raises Transient."""
        return await self._duties.on_duty(duty)

    # the stop switch

    async def set_switch(self, stopped: bool, *, by: str, why: str, reach: Reach = EVERYTHING) -> Switch:
        """A person's press, committed when this returns; the whole switch as it stands then."""
        pressed = Stop(reach=reach, on=stopped, by=by, why=why)
        return await self._database.write(lambda tx: stop.press(tx, pressed))

    async def latch(self, incident: Incident, held: Stop, events: Sequence[Event], *, actor: str = ACTOR) -> Incident:
        """What the cluster refused becomes a stop of ours, in one transaction with what the incident is told of it.
        Raises HeadMoved: whoever tries again is refused again."""
        return await self._database.write(lambda tx: stop.latch_at(tx, incident, held, events, actor))

    # telling people

    async def save_telling(self, id_: str, telling: Telling) -> None:
        """Raises Transient where another replica tells people now: what it saved is newer."""

        async def work(tx: Tx) -> None:
            await require(tx, Duty.TELLING, self._duties.epoch(Duty.TELLING))
            await lists.save_told(tx, id_, telling)

        await self._database.write(work)

    def outbox(self, publisher: str) -> Outbox:
        """What is to be published of the journals, for a publisher that is named by where it publishes to."""
        return Outbox(self._database, self._duties, self._wake, publisher)

    # the whole

    async def wait_changed(self, timeout: float) -> bool:
        """True once something was committed since this task last waited; False after `timeout` seconds."""
        return await self._wake.wait(timeout)

    def nudge(self) -> None:
        """Wakes whoever waits."""
        self._wake.nudge()


async def _keep(tx: Tx, texts: Mapping[str, str]) -> None:
    """After the incident is locked, as everywhere: else two that keep the same text could wait for each other."""
    await blobs.keep(tx, texts)


def _name() -> str:
    """Of this life: a replica that is started again is another holder."""
    return f"{os.uname().nodename[:60]}/{os.getpid()}/{secrets.token_hex(4)}"
