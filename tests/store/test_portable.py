"""The same tables and look-ups are said to PostgreSQL too; SQLite's own words stay in one file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from handrail.adapters import store
from handrail.adapters.store.schema import metadata

FOLDER = Path(store.__file__).parent
OWN_WORDS = re.compile(
    r"PRAGMA|BEGIN IMMEDIATE|RAISE\(|INSERT OR|json_each|dialects\.sqlite|exec_driver_sql\(\s*f?[\"']"
)
"""Text for the driver that stands in the code is somebody's dialect; text that SQLAlchemy compiled is nobody's."""


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=str)
def test_every_table_can_be_made_on_postgresql(table: Table) -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy's own gap
    said = str(CreateTable(table).compile(dialect=dialect))
    for index in table.indexes:
        said += str(CreateIndex(index).compile(dialect=dialect))
    assert "AUTOINCREMENT" not in said
    if table.name == "inbox":
        assert '"offset" BIGINT' in said
    if table.name == "incidents":
        assert said.count("WHERE is_open IS true") == 2


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_only_one_file_speaks_the_dialect_of_sqlite(path: Path) -> None:
    found = OWN_WORDS.findall(path.read_text())
    assert bool(found) == (path.name == "sqlite.py")
