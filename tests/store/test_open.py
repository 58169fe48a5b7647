"""Opening: what can't hold a journal is refused at the start, in words that say what to do."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.adapters.store import Store
from handrail.model.errors import BadConfig, Transient
from tests.factories import CLUSTER, FakeTime, an_alert
from tests.store.driving import arrive, behind


@pytest.fixture
def kind() -> str:
    """Of files; test_postgresql.py says what a server is refused for."""
    return "sqlite"


@pytest.fixture
def has_tables() -> bool:
    return False


OPENS = """
import asyncio, sys
from datetime import UTC, datetime
from handrail.adapters.store import Store
from handrail.model.errors import BadConfig

async def main():
    try:
        store = await Store.open(sys.argv[1], cluster="prod", clock=lambda: datetime.now(UTC))
    except BadConfig as refused:
        print(refused)
        return 3
    await store.close()
    return 0

sys.exit(asyncio.run(main()))
"""


async def refused(url: str) -> str:
    with pytest.raises(BadConfig) as caught:
        await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite://", "outlive the process"),
        ("sqlite:///:memory:", "outlive the process"),
        ("sqlite:////tmp/x.db?mode=memory", "outlive the process"),
        ("mysql://db/handrail", "not supported"),
        ("postgresql://handrail:hunter2@db/handrail", "store.password"),
        ("postgresql://handrail@db/handrail?password=hunter2", "store.password"),
        ("no url at all", "no database URL"),
    ],
)
async def test_a_url_that_can_hold_no_journal_is_refused(url: str, says: str) -> None:
    message = await refused(url)
    assert message.startswith("store.url: ")
    assert says in message
    assert "hunter2" not in message


async def test_a_missing_folder_is_named_and_not_created(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    message = await refused(f"sqlite:///{folder}/handrail.db")
    assert str(folder) in message
    assert "create it" in message
    assert not folder.exists()


async def test_a_file_that_is_no_database_is_left_as_it_is(url: str, path: Path) -> None:
    path.write_bytes(b"these are somebody's notes, not a database" * 100)
    before = path.read_bytes()
    assert "no intact SQLite database" in await refused(url)
    assert path.read_bytes() == before
    path.unlink()
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    await store.close()


async def test_a_second_opener_in_this_process_is_refused_until_the_first_has_closed(url: str, store: Store) -> None:
    assert "another handrail" in await refused(url)
    await arrive(store, an_alert())
    await store.close()
    again = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    assert len(await again.open_ids()) == 1
    await again.close()


async def test_a_closed_store_takes_and_gives_nothing(url: str) -> None:
    """The file may be another process's by then."""
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    await store.close()
    for late in (arrive(store, an_alert()), store.set_switch(False, by="x", why="y"), store.switch(), store.ping()):
        with pytest.raises(Transient, match="closed"):
            await late


async def test_another_name_of_the_same_file_is_the_same_file(tmp_path: Path, path: Path, store: Store) -> None:
    alias = tmp_path / "alias.db"
    alias.symlink_to(path)
    assert "another handrail" in await refused(f"sqlite:///{alias}")
    assert store.epoch == 1


async def test_the_file_is_its_owners_alone(store: Store, path: Path) -> None:
    await arrive(store, an_alert())
    modes = {file.name: oct(file.stat().st_mode & 0o077) for file in path.parent.iterdir()}
    assert set(modes.values()) == {"0o0"}, modes


async def test_a_second_process_is_refused_and_told_who_holds_the_file_and_what_to_do(url: str, store: Store) -> None:
    other = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", OPENS, url], capture_output=True, text=True, check=False
    )
    assert other.returncode == 3, other.stderr
    assert f"process {os.getpid()}" in other.stdout
    assert "stop that one first" in other.stdout
    assert store.epoch == 1


async def test_a_database_that_only_a_newer_build_may_read_is_refused(url: str, path: Path) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    await store.close()
    behind(path).execute("UPDATE meta SET schema = 9, min_reader = 9")
    assert "newer build" in await refused(url)
    behind(path).execute("UPDATE meta SET min_reader = 1")
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    await store.close()


async def test_each_opening_is_a_new_epoch(url: str) -> None:
    epochs = []
    for _ in range(3):
        store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
        epochs.append(store.epoch)
        await store.close()
    assert epochs == [1, 2, 3]


async def test_connections_are_durable_and_wait_for_each_other(store: Store) -> None:
    async with store._database._home.writes.connect() as conn:
        found = {
            name: (await conn.exec_driver_sql(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 5000, "foreign_keys": 1}


async def test_a_path_with_odd_characters_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "a b #c"
    folder.mkdir()
    store = await Store.open(f"sqlite:///{folder}/handrail.db", cluster=CLUSTER, clock=FakeTime())
    await arrive(store, an_alert())
    await store.close()
    assert (folder / "handrail.db").exists()


async def test_a_reader_beside_the_daemon_sees_only_what_is_committed(store: Store, path: Path) -> None:
    await arrive(store, an_alert())
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as reader:
        assert reader.execute("SELECT count(*) FROM journal").fetchone() == (1,)
    reader.close()
