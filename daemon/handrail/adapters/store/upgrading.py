"""`handrail store upgrade` and `status`: the schema, and the rights of the role that the daemon runs as.

Done by whoever may change the schema; the daemon's own role then may do no more than it needs: in the journal it may
insert and read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from handrail.adapters.store.home import Access, Home, home_of, parsed
from handrail.adapters.store.migrate import Standing, standing, upgrade
from handrail.adapters.store.schema import journal
from handrail.adapters.store.sqlite import database_file
from handrail.model.errors import BadConfig

_ONE_AT_A_TIME = 4_726_114_203
"""PostgreSQL's advisory lock for upgrades: any number that nobody else in this database takes."""

RIGHTS = {
    "journal": "SELECT, INSERT",
    "blobs": "SELECT, INSERT",
    "signals": "SELECT, INSERT, DELETE",
    "heard": "SELECT, INSERT, UPDATE, DELETE",
    "saga_starts": "SELECT, INSERT",
    "meta": "SELECT",
    "alembic_version": "SELECT",
    "inbox": "SELECT, INSERT, DELETE",
    "telling": "SELECT, INSERT, DELETE",
    "incidents": "SELECT, INSERT, UPDATE",
    "targets": "SELECT, INSERT, UPDATE",
    "duties": "SELECT, INSERT, UPDATE",
    "published": "SELECT, INSERT, UPDATE",
    "happened": "SELECT, INSERT, UPDATE, DELETE",
    "sightings": "SELECT, INSERT, UPDATE",
    "conditions": "SELECT, INSERT, UPDATE, DELETE",
    "switch": "SELECT, UPDATE",
    "stops": "SELECT, INSERT, UPDATE",
}
"""What the daemon does with each table, and nothing beyond; locking a row needs the right to update it."""


async def upgrade_store(url: str, access: Access | None = None, *, grant_to: str = "") -> tuple[Standing, Standing]:
    """How it stood and how it stands now. Raises BadConfig, also where this role may not change the schema."""
    async with _open(url, access) as (home, conn):
        if home.shared:
            await conn.execute(text(f"SELECT pg_advisory_xact_lock({_ONE_AT_A_TIME})"))
            await home.prepare(conn)
        before = await standing(conn)
        before.refuse_if_newer()
        if before.is_old:
            await upgrade(conn)
        if grant_to:
            await _grant(home, conn, grant_to)
        return before, await standing(conn)


async def look_at_store(url: str, access: Access | None = None) -> tuple[Standing, str]:
    """How it stands, and what the role that looks may do that it should not ("" for nothing). Changes nothing.

    Raises BadConfig, also for a file that is not there yet or that the daemon holds.
    """
    named = parsed(url)
    if named.get_backend_name() == "sqlite" and not database_file(url).exists():
        raise BadConfig(f"store.url: there is no file {named.database} yet; the daemon makes it")
    async with _open(url, access) as (home, conn):
        found = await standing(conn)
        too_much = await _too_much(conn) if home.shared and found.schema else ""
        return found, too_much


@asynccontextmanager
async def _open(url: str, access: Access | None) -> AsyncIterator[tuple[Home, AsyncConnection]]:
    home = home_of(url, access or Access())
    home.take()
    try:
        async with home.writes.connect() as conn, conn.begin():
            yield home, conn
    except DBAPIError as error:
        said = " ".join(str(error.orig).split())
        raise BadConfig(f"store.url: {home.where}: {said}; {home.advice(error)}") from error
    finally:
        await home.writes.dispose()
        home.release()


async def _grant(home: Home, conn: AsyncConnection, role: str) -> None:
    if not home.shared:
        raise BadConfig("--grant-to: a file has no roles; this is for postgresql://")
    known = (await conn.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role})).scalar()
    if known is None:
        raise BadConfig(f"--grant-to: there is no role {role!r}; make it first: CREATE ROLE ... LOGIN")
    name = conn.dialect.identifier_preparer.quote(role)
    schema = (await conn.execute(text("SELECT quote_ident(current_schema())"))).scalar_one()
    statements = [f"GRANT USAGE ON SCHEMA {schema} TO {name}"]
    for table, rights in RIGHTS.items():
        statements += [f"REVOKE ALL ON {schema}.{table} FROM {name}", f"GRANT {rights} ON {schema}.{table} TO {name}"]
    statements.append(f"GRANT USAGE ON SEQUENCE {schema}.signals_id_seq TO {name}")
    for statement in statements:
        await conn.execute(text(statement))


async def _too_much(conn: AsyncConnection) -> str:
    asked = text("SELECT has_table_privilege(:table, :right)")
    may = [
        right
        for right in ("UPDATE", "DELETE", "TRUNCATE")
        if (await conn.execute(asked, {"table": journal.name, "right": right})).scalar()
    ]
    return f"this role may {', '.join(may)} the journal: let the daemon run as another (--grant-to)" if may else ""
