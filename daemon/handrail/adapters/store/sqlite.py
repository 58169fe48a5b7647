"""All that is said in SQLite's own words: which file, one process at a time, and transactions that lose nothing.

SQLAlchemy's defaults lose updates silently here: the driver begins late, so two transactions read the same row and both
write it (design, state rule 14). Hence BEGIN IMMEDIATE for whatever writes, WAL, and full synchronisation, since an
intent that a power cut takes back would be a write that nobody knows of.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import ColumnElement, Connection, event, func, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from handrail.adapters.store.home import parsed
from handrail.adapters.store.wake import Wake
from handrail.model.errors import BadConfig
from handrail.model.value import canonical

BUSY_MS = 5000
WRITES = "handrail_writes"
"""Execution option of a connection whose transaction is going to write."""

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA foreign_keys = ON",
)


def one_of(column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Whether the column is one of these, as one parameter."""
    each = func.json_each(canonical(list(values))).table_valued("value")
    return column.in_(select(each.c.value))


def database_file(url: str) -> Path:
    """The file that a URL names, symbolic links followed: one file, one lock.

    Raises BadConfig for everything that can't hold a durable journal.
    """
    named = parsed(url)
    if named.get_backend_name() != "sqlite":
        raise BadConfig("store.url: that names a server, not a file; write sqlite:////absolute/path.db")
    if not named.database or named.database == ":memory:" or named.query:
        raise BadConfig("store.url: the journal must outlive the process; name a plain file: sqlite:////path.db")
    path = Path(named.database).resolve()
    if not path.parent.is_dir():
        raise BadConfig(
            f"store.url: the folder {path.parent} does not exist; create it, or mount a volume there"
            " (sqlite:/// with three slashes is relative to the working directory, four are absolute)"
        )
    return path


def create(database: Path) -> None:
    """Made for its owner alone before SQLite would make it for everybody. Raises BadConfig where that can't be."""
    try:
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as refused:
        raise BadConfig(
            f"store.url: {database} can't be written: {refused.strerror}; give this user write access"
        ) from None


class FileLock:
    """Held while the store is open: two processes on one file would each believe that they alone drive it."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".lock")
        self._file = -1

    def take(self) -> None:
        """Raises BadConfig when another process holds it, or when the file can't be made."""
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as refused:
            raise BadConfig(
                f"store.url: can't create {self._path}: {refused.strerror}; give this user write access"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip()
            self.release()
            raise BadConfig(_taken(self._path, holder)) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Closing gives the lock back; the file stays, since removing it would let two processes hold two files."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> FileLock:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def _taken(lock: Path, holder: str) -> str:
    who = f" (process {holder})" if holder else ""
    return (
        f"store.url: another handrail{who} holds {lock}; stop that one first, or give this one a database of its own."
        " SQLite serves one process; commands go through the running daemon"
    )


class SqliteHome:
    """One file, one process."""

    shared = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path)
        self.where = str(path)
        self.reads = engine(path)
        self.writes: AsyncEngine = self.reads.execution_options(**{WRITES: True})

    def take(self) -> None:
        self._lock.take()
        create(self._path)

    async def prepare(self, conn: AsyncConnection) -> None:
        """Nothing: what the file is was seen when its first transaction began."""

    def listener(self, wake: Wake, mine: str) -> None:
        """Nobody else is here."""

    def release(self) -> None:
        self._lock.release()

    def advice(self, error: DBAPIError) -> str:
        said = str(error.orig)
        if "readonly" in said or "unable to open" in said:
            return "give this user the right to write the file and its folder"
        if "not a database" in said or "malformed" in said:
            return "it is no intact SQLite database; restore a backup, or name another file"
        return "free what it needs and start again"


def engine(database: Path) -> AsyncEngine:
    """Connections that obey us in when a transaction begins and how. Nothing is opened yet."""
    made = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(database)),
        connect_args={"isolation_level": None, "timeout": BUSY_MS / 1000},
        hide_parameters=True,
        pool_size=5,
        max_overflow=5,
    )
    event.listen(made.sync_engine, "connect", _prepare)
    event.listen(made.sync_engine, "begin", _begin)
    return made


def _prepare(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin(connection: Connection) -> None:
    """A writer locks before it reads: what it decides from can't change under it."""
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
