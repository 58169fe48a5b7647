"""Where a store under test lives: a file, or a database of its own on a real PostgreSQL.

Both are named by a path, so that a test is said once: `behind` opens either for somebody who has it in hand.
"""

from __future__ import annotations

import asyncio
import functools
import re
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql

from handrail.adapters.store.upgrading import upgrade_store
from tests.servers.postgres import Databases

Params = Sequence[Any] | Mapping[str, Any]

_ON_SERVER: dict[Path, str] = {}
"""Superusers' URLs by the path that names the database."""


class InHand(Protocol):
    def execute(self, statement: str, params: Params = (), /) -> Any: ...


def migrated(path: Path) -> Path:
    """A file there that holds the tables already, as nobody has opened it yet; one that is there stays as it is.

    The migrations take longer than most tests, and thousands of tests are not about them. Those that are
    (test_open.py, test_migrations.py, tests/helm) begin without a file.
    """
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(_migrated())
    return path


@functools.cache
def _migrated() -> bytes:
    """Made once in each process, by the product's own upgrade; in a thread, since the caller's loop may be running."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=1) as aside:
        path = Path(folder) / "template.db"
        aside.submit(asyncio.run, upgrade_store(f"sqlite:///{path}")).result()
        assert not path.with_name(path.name + "-wal").exists()
        return path.read_bytes()


class Template:
    """A server, with one database that is migrated already: each test's is a copy of it."""

    def __init__(self, server: Databases, folder: Path) -> None:
        self.server = server
        self._parts = urlsplit(server.url)
        self._passfile = folder / "passfile"
        self._passfile.write_text(f"*:*:*:*:{unquote(self._parts.password or '')}\n")
        self._passfile.chmod(0o600)
        self._names: list[str] = []
        self._template = self.make()
        asyncio.run(upgrade_store(self.url(self._template)))

    def make(self, template: str = "template0") -> str:
        name = f"handrail_{secrets.token_hex(6)}"
        self._run("CREATE DATABASE {} TEMPLATE {}", name, template)
        self._names.append(name)
        return name

    def copy(self) -> Path:
        name = self.make(self._template)
        path = Path("/on-the-server") / name
        _ON_SERVER[path] = self.server.url_of(name)
        return path

    def drop(self, path: Path) -> None:
        del _ON_SERVER[path]
        self._drop(path.name)

    def url(self, name: str, user: str = "") -> str:
        """As a configuration has it: without a password."""
        at = f"{self._parts.hostname}:{self._parts.port or 5432}"
        return f"postgresql://{user or self._parts.username}@{at}/{name}?passfile={self._passfile}"

    def close(self) -> None:
        for name in list(self._names):
            self._drop(name)

    def _drop(self, name: str) -> None:
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        self._names.remove(name)

    def _run(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def behind(path: Path) -> InHand:
    """Somebody with the database in hand, beside the daemon: triggers gone, changes committed at once."""
    if path in _ON_SERVER:
        return _Superuser(_ON_SERVER[path])
    connection = sqlite3.connect(path, isolation_level=None)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    return connection


@dataclass(frozen=True)
class _Superuser:
    """Says to PostgreSQL what is written for SQLite's placeholders; one connection for each statement."""

    url: str

    def execute(self, statement: str, params: Params = (), /) -> Any:
        said = re.sub(r"(?<!:):([a-z]+)", r"%(\1)s", statement).replace("?", "%s")
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            return _Rows(connection.execute(said, params or None))


class _Rows:
    """Read to the end while the connection is there."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._rows = cursor.fetchall() if cursor.description else []

    def fetchall(self) -> list[Any]:
        return self._rows


def on_server(path: Path) -> bool:
    return path in _ON_SERVER
