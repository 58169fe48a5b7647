"""Rows that are the same whoever inserts them: made once, and no error where another replica was faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table, insert
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store.database import Tx


async def insert_once(tx: Tx, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """`rows` must come in the same order wherever they are inserted: each one waits for whoever inserts the same."""
    if not rows or await _inserted(tx, table, rows):
        return
    for row in rows if len(rows) > 1 else ():
        await _inserted(tx, table, [row])


async def _inserted(tx: Tx, table: Table, rows: Sequence[dict[str, Any]]) -> bool:
    try:
        async with tx.conn.begin_nested():
            await tx.conn.execute(insert(table), list(rows))
    except IntegrityError:
        return False
    return True
