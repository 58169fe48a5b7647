"""All that is said in PostgreSQL's own words: how to connect, how long to wait, and what its errors mean.

A server that hangs must not hold up a replica, and a replica that hangs must not hold up the others: every statement,
every lock and every idle transaction ends by itself before a lease does.
"""

from __future__ import annotations

from typing import Any

import psycopg
from sqlalchemy import event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from handrail.adapters.store.hints import Hints
from handrail.adapters.store.home import Access
from handrail.adapters.store.wake import Wake
from handrail.model.errors import BadConfig

STATEMENT_MS = 10_000
LOCK_MS = 5_000
IDLE_IN_TRANSACTION_MS = 10_000
"""A replica that was stopped in the middle of a transaction loses its locks after this."""

CONNECT_SECONDS = 5
POOL = 5
OVERFLOW = 5
POOL_SECONDS = 10.0

_SESSION = {
    "statement_timeout": STATEMENT_MS,
    "lock_timeout": LOCK_MS,
    "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_MS,
}
_CONNECT: dict[str, Any] = {
    "application_name": "handrail",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": STATEMENT_MS,
    "options": " ".join(f"-c {name}={value}" for name, value in _SESSION.items()),
}


class PostgresHome:
    """Also the way to connections outside of the pool (`connect`), for listening."""

    shared = True

    def __init__(self, url: URL, access: Access) -> None:
        self._access = access
        url = url.set(drivername="postgresql+psycopg")
        if access.user:
            url = url.set(username=access.user)
        self.where = url.render_as_string(hide_password=True).replace("+psycopg", "", 1)
        self._engine = create_async_engine(
            url,
            connect_args=_CONNECT,
            hide_parameters=True,
            pool_size=POOL,
            max_overflow=OVERFLOW,
            pool_timeout=POOL_SECONDS,
            pool_pre_ping=True,
        )
        event.listen(self._engine.sync_engine, "do_connect", self._with_password)
        self.writes: AsyncEngine = self._engine.execution_options(isolation_level="READ COMMITTED")
        self.reads: AsyncEngine = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

    def take(self) -> None:
        """Any number of replicas may be here."""

    async def prepare(self, conn: AsyncConnection) -> None:
        encoding = (await conn.execute(text("SHOW server_encoding"))).scalar_one()
        if encoding != "UTF8":
            raise BadConfig(f"store.url: {self.where} is encoded as {encoding}; make a database WITH ENCODING 'UTF8'")

    def listener(self, wake: Wake, mine: str) -> Hints:
        return Hints(self.connect, wake, mine)

    def release(self) -> None: ...

    def advice(self, error: DBAPIError) -> str:
        state = getattr(error.orig, "sqlstate", None) or ""
        said = str(error.orig)
        if "password" in said or "pg_hba" in said or state.startswith("28"):
            return "put the right password where store.password points to, and let this user in (pg_hba.conf)"
        if state == "42501":
            return "grant its rights: handrail store upgrade --grant-to ROLE"
        if state == "3D000" or ("database" in said and "does not exist" in said):
            return "create that database"
        return "see that it is up and can be reached from here"

    def connect_args(self) -> dict[str, Any]:
        """For psycopg itself, the password as it is now. Raises BadConfig."""
        url = self._engine.url
        _, found = self._engine.dialect.create_connect_args(url)
        found = {**found, **_CONNECT}
        if self._access.password is not None:
            found["password"] = self._access.password()
        return found

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        """Outside of the pool, each statement by itself. Raises psycopg.Error, BadConfig."""
        return await psycopg.AsyncConnection.connect(**self.connect_args(), autocommit=True)

    def _with_password(self, _dialect: Any, _record: Any, _args: Any, params: dict[str, Any]) -> None:
        if self._access.password is not None:
            params["password"] = self._access.password()


def sqlstate(error: DBAPIError) -> str:
    """The five letters by which PostgreSQL names an error; "" where there are none."""
    return getattr(error.orig, "sqlstate", None) or ""
