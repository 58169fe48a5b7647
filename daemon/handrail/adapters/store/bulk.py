"""Many rows, and many keys, in one statement each: a poll holds thousands.

Decides nothing. SQLAlchemy builds each statement once; its rows then go to the driver as they are, since working out
the parameters of every row anew takes longer than the database does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Insert, Text, any_, bindparam
from sqlalchemy.engine import Dialect

from handrail.adapters.store.database import Tx
from handrail.adapters.store.schema import UtcText, iso
from handrail.adapters.store.sqlite import one_of

Row = Mapping[str, Any]


async def put(tx: Tx, statement: Insert, rows: Sequence[Row]) -> None:
    """`statement` is one of the few of a module, and all rows have the same keys. Raises IntegrityError."""
    if rows:
        sql, parameters = _prepared(statement, tx.conn.dialect, tuple(rows[0]))
        await tx.conn.exec_driver_sql(sql, [parameters(row) for row in rows])


@lru_cache(maxsize=64)
def _prepared(statement: Insert, dialect: Dialect, names: tuple[str, ...]) -> tuple[str, Callable[[Row], Any]]:
    """The text for the driver, and what makes its parameters of a row: in order, or by name. Times are kept as text
    (schema.UtcText)."""
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    dated = frozenset(name for name in names if isinstance(statement.table.c[name].type, UtcText))
    order = compiled.positiontup if compiled.positional else None
    if order is None:
        return str(compiled), lambda row: {**row, **{name: _text(row[name]) for name in dated}}
    in_order, times = itemgetter(*order), [place for place, name in enumerate(order) if name in dated]

    def parameters(row: Row) -> tuple[Any, ...]:
        found = list(in_order(row))
        for place in times:
            found[place] = _text(found[place])
        return tuple(found)

    return str(compiled), parameters


def _text(at: datetime | None) -> str | None:
    return None if at is None else iso(at)


def among(tx: Tx, column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
    """Whether the column is one of these, however many: they are one parameter."""
    if tx.conn.dialect.name == "postgresql":
        return column == any_(bindparam(None, list(values), type_=ARRAY(Text), unique=True))
    return one_of(column, values)
