"""The first transaction of a life: is this a database that this build may use, and what number has this life?"""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from handrail.adapters.store.home import Home
from handrail.adapters.store.migrate import standing, upgrade
from handrail.adapters.store.schema import SCHEMA, meta
from handrail.model.errors import BadConfig

SHARED_EPOCH = 0
"""Where leases fence, the number of a life says nothing."""


async def begin(home: Home, conn: AsyncConnection) -> int:
    """The epoch. A file is brought to this build's schema here; a server only by who runs `handrail store upgrade`.

    Raises BadConfig for what can't hold a journal, is older on a server, or may be read by newer builds only.
    """
    await home.prepare(conn)
    found = await standing(conn)
    found.refuse_if_newer()
    if found.is_old and home.shared:
        there = f"holds schema {found.schema}" if found.schema else "holds no tables of ours yet"
        raise BadConfig(
            f"store.url: {home.where} {there}, this build needs {SCHEMA}; run `handrail store upgrade --config FILE`"
            " with a role that may change the schema (the chart does it before each upgrade)"
        )
    if found.is_old:
        await upgrade(conn)
    if home.shared:
        return SHARED_EPOCH
    before = (await conn.execute(select(meta.c.holder_epoch))).scalar_one()
    await conn.execute(update(meta).values(holder_epoch=before + 1))
    return int(before) + 1
