"""The stop switch: one row that every intent reads in its own transaction, and a stream that keeps who pressed it."""

from __future__ import annotations

from sqlalchemy import select, update

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import clean, head_of, rows_after, said, write_rows
from handrail.adapters.store.schema import SYSTEM, switch
from handrail.model.errors import Bug
from handrail.model.switch import Switch


async def switch_now(tx: Tx, *, locked: bool = False) -> Switch:
    """`locked` keeps the row as it is until the transaction ends: else an intent slips past a concurrent stop."""
    row = select(switch.c.stopped, switch.c.by, switch.c.why, switch.c.at)
    found = (await tx.conn.execute(row.with_for_update(read=True) if locked else row)).one_or_none()
    if found is None:
        raise Bug("the stop switch has no row: whether writing is allowed can't be known")
    return Switch(stopped=found.stopped, by=found.by, why=found.why, at=found.at)


async def set_switch(tx: Tx, stopped: bool, by: str, why: str) -> Switch:
    """Row and journal entry together. Pressed again it is recorded again, with the newest person and reason."""
    kind = "stopped" if stopped else "started"
    await tx.conn.execute(select(switch.c.id).with_for_update())
    rows = rows_after(tx, SYSTEM, await head_of(tx, SYSTEM), [said(kind, {"kind": kind, "by": by, "why": why})], by)
    await write_rows(tx, rows)
    pressed = Switch(stopped=stopped, by=clean(by), why=clean(why), at=tx.now)
    await tx.conn.execute(update(switch).values(**pressed.model_dump(), head=rows[-1]["seq"]))
    return pressed
