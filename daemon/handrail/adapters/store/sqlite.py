"""All that is said in SQLite's own words: which file, one process at a time, and transactions that lose nothing.

SQLAlchemy's defaults lose updates silently here: the driver begins late, so two transactions read the same row and both
write it (design, state rule 14). Hence BEGIN IMMEDIATE for whatever writes, WAL, and full synchronisation, since an
intent that a power cut takes back would be a write that nobody knows of.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import DDL, Connection, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from handrail.adapters.store.schema import journal
from handrail.model.errors import BadConfig

BUSY_MS = 5000
WRITES = "handrail_writes"
"""Execution option of a connection whose transaction is going to write."""

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA foreign_keys = ON",
)


def database_file(url: str) -> Path:
    """The file that a URL names, symbolic links followed: one file, one lock.

    Raises BadConfig for everything that can't hold a durable journal.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise BadConfig(f"store.url: {url!r} is no database URL; write sqlite:////absolute/path.db") from None
    if parsed.get_backend_name() != "sqlite":
        raise BadConfig(f"store.url: {parsed.get_backend_name()} is not supported yet; write sqlite:////path.db")
    if not parsed.database or parsed.database == ":memory:" or parsed.query:
        raise BadConfig("store.url: the journal must outlive the process; name a plain file: sqlite:////path.db")
    path = Path(parsed.database).resolve()
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


_APPEND_ONLY = (
    "CREATE TRIGGER journal_refuses_update BEFORE UPDATE ON journal"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    "CREATE TRIGGER journal_refuses_delete BEFORE DELETE ON journal"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    # INSERT OR REPLACE deletes without waking a delete trigger
    "CREATE TRIGGER journal_refuses_replace BEFORE INSERT ON journal"
    " WHEN EXISTS (SELECT 1 FROM journal WHERE incident = NEW.incident AND seq = NEW.seq)"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
)

for _trigger in _APPEND_ONLY:
    _ddl = DDL(_trigger)  # type: ignore[no-untyped-call]  # SQLAlchemy's own gap
    event.listen(journal, "after_create", _ddl.execute_if(dialect="sqlite"))
