"""Transactions: what every statement of ours runs in, and what becomes of the database's errors.

A transaction is never left half-way: a cancelled caller goes, its transaction ends by itself. An error of the database
that may pass is Transient; nothing else of SQLAlchemy's gets out but a Bug.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from handrail.adapters.store.folds import Folds
from handrail.adapters.store.home import CHANNEL, Home, Listener
from handrail.adapters.store.leases import Leases
from handrail.adapters.store.opening import begin
from handrail.adapters.store.values import Committed
from handrail.adapters.store.wake import Wake
from handrail.adapters.store.words import RETRY_SECONDS, translated
from handrail.model.errors import BadConfig, Bug, Transient
from handrail.model.incident import Incident

T = TypeVar("T")

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Tx:
    """One transaction. `now` is its time for all that it writes, from before it waited for any lock; `clock` says what
    time it is by now. `fresh` are its folds, kept when it has committed.

    `committed` are the events that it appends to folded journals, for whoever counts them once it has committed.
    `unfit` says of which incidents the journal can't be folded, and why; it outlives the transaction, whatever its end.
    `ends` are the last seq and hash of streams that it has locked, `grown` the streams that it appends to: only then
    there is news for the loops. `leases` are this replica's, None where one process has the database for itself.
    """

    conn: AsyncConnection
    cluster: str
    epoch: int
    now: datetime
    clock: Callable[[], Awaitable[datetime]]
    folds: Folds
    leases: Leases | None = None
    unfit: dict[str, str] = field(default_factory=dict)
    committed: list[Committed] = field(default_factory=list)
    fresh: dict[str, Incident] = field(default_factory=dict)
    ends: dict[str, tuple[int, str]] = field(default_factory=dict)
    grown: set[str] = field(default_factory=set)

    def known(self, id_: str) -> Incident | None:
        return self.fresh.get(id_) or self.folds.get(id_)


Work = Callable[[Tx], Awaitable[T]]


class Database:
    """An open database. `epoch` counts how often a file has been opened; a server's replicas have leases instead.

    Without a clock of the caller's, times are the database's: replicas whose clocks differ agree on one.
    """

    def __init__(self, home: Home, cluster: str, clock: Clock | None, wake: Wake, leases: Leases | None) -> None:
        self._home = home
        self._cluster = cluster
        self._clock = clock
        self._wake = wake
        self.leases = leases
        self._folds = Folds()
        self.unfit: dict[str, str] = {}
        self.heard: Callable[[Sequence[Committed]], None] = lambda _committed: None
        self._one_writer = asyncio.Lock()
        self._unfinished: set[asyncio.Task[object]] = set()
        self._closed = False
        self.epoch = 0
        self.answered = -math.inf
        """Monotonic seconds of the last look that ended well."""

    async def open(self) -> None:
        """Raises BadConfig when another process holds the file, or it is none of ours, or of a newer build, or where
        a server can't be reached or has an older schema."""
        self._home.take()
        async with contextlib.AsyncExitStack() as undone:
            undone.push_async_callback(self.close)
            self.epoch = await self._begin_epoch()
            undone.pop_all()

    async def close(self) -> None:
        """Waits for transactions whose callers have gone. Afterwards nothing gets in: the file may be another's."""
        self._closed = True
        while self._unfinished:
            await asyncio.wait(self._unfinished)
        await self._home.writes.dispose()
        self._home.release()

    def hints(self) -> Listener | None:
        """What other replicas say, None where there are none."""
        return self._home.listener(self._wake, self.leases.holder) if self.leases else None

    def known(self, id_: str, head: int) -> Incident | None:
        found = self._folds.get(id_)
        return found if found is not None and found.seq == head else None

    async def read(self, work: Work[T]) -> T:
        """One consistent look: no write of others shows half-way through."""
        self._still_open()
        with translated():
            async with self._home.reads.connect() as conn, conn.begin():
                tx = await self._tx(conn)
                found = await work(tx)
        self._keep(tx)
        self.answered = time.monotonic()
        return found

    async def write(self, work: Work[T]) -> T:
        """All of it or nothing. Raises Transient when the database is away, full or busy. Where a connection broke
        just then it may have been committed all the same: whoever tries again looks first."""
        self._still_open()
        task: asyncio.Task[T] = asyncio.ensure_future(self._write(work))
        self._unfinished.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    async def _write(self, work: Work[T]) -> T:
        async with contextlib.nullcontext() if self._home.shared else self._one_writer:
            with translated():
                async with self._writing() as tx:
                    found = await work(tx)
                    if tx.grown and self.leases is not None:
                        await tx.conn.execute(select(func.pg_notify(CHANNEL, self.leases.holder)))
        self._keep(tx)
        self.heard(tx.committed)
        if tx.grown:
            self._wake.nudge()
        return found

    def _still_open(self) -> None:
        if self._closed:
            raise Transient("the store is closed", retry_after=RETRY_SECONDS)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[Tx]:
        async with self._home.writes.connect() as conn, conn.begin():
            yield await self._tx(conn)

    def _finished(self, task: asyncio.Task[object]) -> None:
        self._unfinished.discard(task)
        if not task.cancelled():
            task.exception()

    async def _tx(self, conn: AsyncConnection) -> Tx:
        now = await self._now(conn)
        if now.tzinfo is None:
            raise Bug("the store needs a clock that gives aware times")
        return Tx(
            conn=conn,
            cluster=self._cluster,
            epoch=self.epoch,
            now=now,
            clock=lambda: self._now(conn),
            folds=self._folds,
            leases=self.leases,
            unfit=self.unfit,
        )

    async def _now(self, conn: AsyncConnection) -> datetime:
        if self._clock is not None:
            return self._clock()
        if self._home.shared:
            found: datetime = (await conn.execute(select(func.clock_timestamp()))).scalar_one()
            return found.astimezone(UTC)
        return datetime.now(UTC)

    def _keep(self, tx: Tx) -> None:
        for incident in tx.fresh.values():
            self._folds.keep(incident)

    async def _begin_epoch(self) -> int:
        try:
            async with self._writing() as tx:
                return await begin(self._home, tx.conn)
        except DBAPIError as error:
            said = " ".join(str(error.orig).split())
            raise BadConfig(
                f"store.url: {self._home.where} can't be used: {said}; {self._home.advice(error)}"
            ) from error
