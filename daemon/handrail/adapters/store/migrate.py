"""The schema: how old what is there is, and bringing it to what this build needs (docs/adr/0006-schema-changes.md).

Alembic is loaded only where there is something to change: it costs time and memory at each start.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, inspect, select
from sqlalchemy.ext.asyncio import AsyncConnection

from handrail.adapters.store.schema import READER, SCHEMA, meta
from handrail.model.errors import BadConfig

FIRST = "0001"
"""What the builds before the first migration made, without a note of Alembic's."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a database says of itself: `schema` 0 where there is nothing of ours yet."""

    schema: int
    min_reader: int

    @property
    def is_old(self) -> bool:
        return self.schema < SCHEMA

    def refuse_if_newer(self) -> None:
        """Raises BadConfig only where its own `min_reader` is above this build's: a newer schema alone is expected."""
        if self.min_reader > READER:
            raise BadConfig(
                f"store.url: a newer build wrote this database (readers from {self.min_reader} on, this one is"
                f" {READER}); run that build, or give this one a database of its own"
            )


async def standing(conn: AsyncConnection) -> Standing:
    if not await conn.run_sync(lambda sync: inspect(sync).has_table("meta")):
        return Standing(schema=0, min_reader=0)
    found = (await conn.execute(select(meta.c.schema, meta.c.min_reader))).one_or_none()
    return Standing(found.schema, found.min_reader) if found else Standing(schema=0, min_reader=0)


async def upgrade(conn: AsyncConnection) -> None:
    """In the caller's transaction: all of it or nothing."""
    await conn.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    there = inspect(connection)
    if there.has_table("meta") and not there.has_table("alembic_version"):
        command.stamp(config, FIRST)
    command.upgrade(config, "head")
