"""The schema's history: it leads to what the code says, and takes over what was there before."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection

from handrail.adapters.store import Store
from handrail.adapters.store.schema import READER, SCHEMA, metadata
from handrail.adapters.store.upgrading import look_at_store, upgrade_store
from handrail.model import events as ev
from handrail.model.errors import BadConfig
from handrail.model.incident import State
from tests.factories import CLUSTER, FakeTime
from tests.store.driving import behind, drive, newest, walk

AS_BEFORE = (Path(__file__).parent / "schema_1.sql").read_text()
"""A dump of a new file of the last build before the migrations."""


@pytest.fixture
def has_tables() -> bool:
    return False


async def test_the_migrations_lead_to_the_tables_that_the_code_knows(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def differences(connection: Connection) -> list[object]:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
        return [one for one in found if "alembic_version" not in str(one)]

    async with store._database._home.writes.connect() as conn:
        assert await conn.run_sync(differences) == []


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_a_file_of_a_build_before_the_migrations_is_taken_over(url: str, path: Path, time: FakeTime) -> None:
    sqlite3.connect(path).executescript(AS_BEFORE).connection.close()
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    assert store.epoch == 2
    incident = await walk(store, State.EXECUTING)
    await store.close()
    rows = behind(path).execute("SELECT schema, min_reader FROM meta").fetchall()
    assert rows == [(SCHEMA, READER)]
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    assert await newest(store, incident.id) == incident
    assert (await store.audit()).ok
    await store.close()


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_what_came_before_is_counted_once_when_the_counts_are_made(url: str, path: Path, time: FakeTime) -> None:
    """Else the journal of what is open would begin to move with every repeat again."""
    old = sqlite3.connect(path).executescript(AS_BEFORE).connection
    at = "2026-11-29T03:00:00.000000+00:00"
    incident = ("inc-1", CLUSTER, "i", "e", "opened", "A", "", at, at, 1, 1, True)
    columns = "id, cluster, identity, episode, state, title, target, opened_at, moved_at, head, epoch, is_open"
    old.execute(f"INSERT INTO incidents ({columns}) VALUES ({','.join('?' * 12)})", incident)
    told = "INSERT INTO signals (incident, seq, identity, episode, name, status, seen_at, at, data) "
    for seq in (1, 2, None):
        old.execute(told + "VALUES (?, ?, 'i', 'e', 'A', 'firing', ?, ?, '{}')", ("inc-1", seq, at, at))
    old.commit()
    old.close()
    await (await Store.open(url, cluster=CLUSTER, clock=time)).close()
    rows = behind(path).execute("SELECT incident, identity, status, name, times, told, told_at FROM heard").fetchall()
    assert rows == [("inc-1", "i", "firing", "A", 3, 2, at)]


async def test_a_schema_of_a_newer_build_that_this_one_may_read_is_left_as_it_is(
    url: str, path: Path, time: FakeTime
) -> None:
    """The other half of expanding first: N and N+1 run side by side."""
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    await store.close()
    newer = SCHEMA + 3
    behind(path).execute(f"UPDATE meta SET schema = {newer}")
    behind(path).execute("UPDATE alembic_version SET version_num = 'of-a-newer-build'")
    behind(path).execute("ALTER TABLE incidents ADD COLUMN of_a_newer_build TEXT")
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    incident = await walk(store, State.OPENED)
    assert (await drive(store, incident, (ev.GatheringBegun(),))).state is State.GATHERING
    await store.close()
    before, after = await upgrade_store(url)
    assert (before.schema, after.schema) == (newer, newer)


async def test_a_database_that_only_newer_builds_may_read_is_refused_everywhere(url: str, path: Path) -> None:
    await (await Store.open(url, cluster=CLUSTER)).close()
    behind(path).execute(f"UPDATE meta SET min_reader = {READER + 1}")
    with pytest.raises(BadConfig, match="newer build"):
        await Store.open(url, cluster=CLUSTER)
    with pytest.raises(BadConfig, match="newer build"):
        await upgrade_store(url)
    found, _too_much = await look_at_store(url)
    assert found.min_reader == READER + 1


async def test_an_upgrade_that_was_done_is_not_done_again(url: str) -> None:
    first = await upgrade_store(url)
    second = await upgrade_store(url)
    assert first[1] == second[0] == second[1]
    assert not second[0].is_old


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_looking_makes_no_file(url: str, path: Path) -> None:
    with pytest.raises(BadConfig, match="no file"):
        await look_at_store(url)
    assert not path.exists()
