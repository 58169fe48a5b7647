"""Transactions: what every statement of ours runs in, and what becomes of the database's errors.

A transaction is never left half-way: a cancelled caller goes, its transaction ends by itself. An error of the database
that may pass is Transient; nothing else of SQLAlchemy's gets out but a Bug.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from sqlalchemy import insert, select, update
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.ext.asyncio import AsyncConnection

from handrail.adapters.store import sqlite
from handrail.adapters.store.schema import READER, SCHEMA, meta, metadata, switch
from handrail.adapters.store.wake import Wake
from handrail.model.errors import BadConfig, Bug, Transient
from handrail.model.incident import Incident

T = TypeVar("T")

KEPT_FOLDS = 512
RETRY_SECONDS = 2.0


class Folds:
    """Folds that were made before, by incident. A journal only grows, so an older fold is a correct beginning."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Incident] = OrderedDict()

    def get(self, id_: str) -> Incident | None:
        found = self._kept.get(id_)
        if found is not None:
            self._kept.move_to_end(id_)
        return found

    def keep(self, incident: Incident) -> None:
        known = self._kept.get(incident.id)
        if known is None or known.seq < incident.seq:
            self._kept[incident.id] = incident
            self._kept.move_to_end(incident.id)
        while len(self._kept) > KEPT_FOLDS:
            self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Tx:
    """One transaction. `now` is its time for all that it writes; `fresh` are its folds, kept when it has committed.

    `unfit` says of which incidents the journal can't be folded, and why; it outlives the transaction, whatever its end.
    `ends` are the last seq and hash of streams that it has locked, `grown` the streams that it appends to: only then
    there is news for the loops.
    """

    conn: AsyncConnection
    cluster: str
    epoch: int
    now: datetime
    folds: Folds
    unfit: dict[str, str] = field(default_factory=dict)
    fresh: dict[str, Incident] = field(default_factory=dict)
    ends: dict[str, tuple[int, str]] = field(default_factory=dict)
    grown: set[str] = field(default_factory=set)

    def known(self, id_: str) -> Incident | None:
        return self.fresh.get(id_) or self.folds.get(id_)


Work = Callable[[Tx], Awaitable[T]]


class Database:
    """One open database file, held by a lock. `epoch` counts how often it has been opened."""

    def __init__(self, path: Path, cluster: str, clock: Callable[[], datetime], wake: Wake) -> None:
        self._lock = sqlite.FileLock(path)
        self._engine = sqlite.engine(path)
        self._path = path
        self._cluster = cluster
        self._clock = clock
        self._wake = wake
        self._folds = Folds()
        self.unfit: dict[str, str] = {}
        self._one_writer = asyncio.Lock()
        self._unfinished: set[asyncio.Task[object]] = set()
        self._closed = False
        self.epoch = 0

    async def open(self) -> None:
        """Raises BadConfig when another process holds the file, or it is none of ours, or of a newer build."""
        self._lock.take()
        async with contextlib.AsyncExitStack() as undone:
            undone.push_async_callback(self.close)
            sqlite.create(self._path)
            self.epoch = await self._begin_epoch()
            undone.pop_all()

    async def close(self) -> None:
        """Waits for transactions whose callers have gone. Afterwards nothing gets in: the file may be another's."""
        self._closed = True
        while self._unfinished:
            await asyncio.wait(self._unfinished)
        await self._engine.dispose()
        self._lock.release()

    async def read(self, work: Work[T]) -> T:
        """One consistent look: no write of others shows half-way through."""
        self._still_open()
        with _translated():
            async with self._engine.connect() as conn, conn.begin():
                tx = self._tx(conn)
                found = await work(tx)
        self._keep(tx)
        return found

    async def write(self, work: Work[T]) -> T:
        """All of it or nothing. Raises Transient when the database is away, full or busy."""
        self._still_open()
        task: asyncio.Task[T] = asyncio.ensure_future(self._write(work))
        self._unfinished.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    async def _write(self, work: Work[T]) -> T:
        async with self._one_writer:
            with _translated():
                async with self._writing() as tx:
                    found = await work(tx)
        self._keep(tx)
        if tx.grown:
            self._wake.nudge()
        return found

    def _still_open(self) -> None:
        if self._closed:
            raise Transient("the store is closed", retry_after=RETRY_SECONDS)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[Tx]:
        async with self._engine.connect() as conn:
            await conn.execution_options(**{sqlite.WRITES: True})
            async with conn.begin():
                yield self._tx(conn)

    def _finished(self, task: asyncio.Task[object]) -> None:
        self._unfinished.discard(task)
        if not task.cancelled():
            task.exception()

    def _tx(self, conn: AsyncConnection) -> Tx:
        now = self._clock()
        if now.tzinfo is None:
            raise Bug("the store needs a clock that gives aware times")
        return Tx(conn=conn, cluster=self._cluster, epoch=self.epoch, now=now, folds=self._folds, unfit=self.unfit)

    def _keep(self, tx: Tx) -> None:
        for incident in tx.fresh.values():
            self._folds.keep(incident)

    async def _begin_epoch(self) -> int:
        try:
            async with self._writing() as tx:
                return await _begin_epoch(tx.conn)
        except DBAPIError as error:
            raise BadConfig(f"store.url: {self._path} can't be used: {error.orig}; {_advice(error)}") from error


async def _begin_epoch(conn: AsyncConnection) -> int:
    await conn.run_sync(metadata.create_all)
    found = (await conn.execute(select(meta))).one_or_none()
    if found is None:
        await conn.execute(insert(meta).values(id=1, schema=SCHEMA, min_reader=READER, holder_epoch=1))
        await conn.execute(insert(switch).values(id=1, stopped=False, by="", why="", at=None, head=0))
        return 1
    if found.min_reader > READER:
        raise BadConfig(
            f"store.url: a newer build wrote this database (readers from {found.min_reader} on, this one is {READER});"
            " run that build, or give this one a database of its own"
        )
    await conn.execute(update(meta).values(holder_epoch=found.holder_epoch + 1))
    return int(found.holder_epoch) + 1


def _advice(error: DBAPIError) -> str:
    text = str(error.orig)
    if "readonly" in text or "unable to open" in text:
        return "give this user the right to write the file and its folder"
    if "not a database" in text or "malformed" in text:
        return "it is no intact SQLite database; restore a backup, or name another file"
    return "free what it needs and start again"


@contextmanager
def _translated() -> Iterator[None]:
    """The database's errors in our words."""
    try:
        yield
    except (ProgrammingError, DataError, IntegrityError) as ours:
        raise Bug(f"the store said something wrong to its database: {ours.orig}") from ours
    except (DBAPIError, NoConnection) as away:
        cause = getattr(away, "orig", None) or away
        raise Transient(f"the store is away: {cause}", retry_after=RETRY_SECONDS) from away
