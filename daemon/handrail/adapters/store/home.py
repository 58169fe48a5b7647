"""Where a database lives: one file that a single process holds, or a server that replicas share.

Decides which of the two a URL means. Never lets a password stand in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from handrail.adapters.store.wake import Wake
from handrail.model.errors import BadConfig

LEASE_SECONDS = 30.0

CHANNEL = "handrail"
"""Where replicas tell each other that something was committed. Only a hint."""


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is used. `password` is asked at each new connection, so that a changed one is taken up.

    `user` is another one than the URL names: the role that migrates. `lease_seconds` is how long a replica that
    falls silent keeps its incidents.
    """

    password: Callable[[], str] | None = None
    user: str = ""
    lease_seconds: float = LEASE_SECONDS


class Listener(Protocol):
    async def run(self) -> None:
        """Until cancelled: wakes this replica's loops for what the others commit."""


class Home(Protocol):
    """`writes` and `reads` begin transactions of their kind on one pool. `shared`: other replicas may be here too."""

    shared: bool
    where: str
    writes: AsyncEngine
    reads: AsyncEngine

    def take(self) -> None:
        """Before anything is opened. Raises BadConfig where another process holds it."""

    async def prepare(self, conn: AsyncConnection) -> None:
        """In the first transaction. Raises BadConfig for what can't hold a journal."""

    def listener(self, wake: Wake, mine: str) -> Listener | None:
        """None where nobody else can commit anything."""

    def release(self) -> None: ...

    def advice(self, error: DBAPIError) -> str:
        """What to do about an error at the start."""


def parsed(url: str) -> URL:
    """Raises BadConfig; never repeats the URL, which may hold a password."""
    try:
        found = make_url(url)
    except ArgumentError:
        raise BadConfig(
            "store.url: that is no database URL; write sqlite:////absolute/path.db or postgresql://user@host/database"
        ) from None
    if found.password is not None or "password" in found.query:
        raise BadConfig("store.url: no password belongs here; name its file or variable in store.password")
    if found.get_backend_name() not in ("sqlite", "postgresql"):
        raise BadConfig(
            f"store.url: {found.get_backend_name()} is not supported; write sqlite:////absolute/path.db or"
            " postgresql://user@host/database"
        )
    return found


def home_of(url: str, access: Access) -> Home:
    """Opens nothing yet. Raises BadConfig."""
    found = parsed(url)
    if found.get_backend_name() == "sqlite":
        from handrail.adapters.store.sqlite import SqliteHome, database_file

        return SqliteHome(database_file(url))
    from handrail.adapters.store.postgres import PostgresHome

    return PostgresHome(found, access)
