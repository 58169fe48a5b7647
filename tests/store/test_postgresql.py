"""What is PostgreSQL's alone: roles, passwords, an old schema, and what a start is refused for."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from sqlalchemy import text

from handrail.adapters.store import Access, Duty, Store, Telling
from handrail.adapters.store.schema import SCHEMA
from handrail.adapters.store.upgrading import look_at_store, upgrade_store
from handrail.cli import cli
from handrail.model.errors import BadConfig, Bug, Transient
from handrail.model.incident import State
from tests.factories import CLUSTER, FakeTime, a_saga, an_alert, an_intent
from tests.servers.fixtures import running
from tests.servers.postgres import PostgresServer
from tests.store.driving import arrive, behind, drive, newest, walk
from tests.store.places import Template

pytestmark = pytest.mark.server


@pytest.fixture
def kind() -> str:
    return "postgresql"


@dataclass
class Role:
    """The role that the daemon runs as, with a password that a test may change."""

    name: str
    file: Path
    url: str

    def password(self) -> str:
        return self.file.read_text()


@pytest.fixture
def role(path: Path, template: Template, tmp_path: Path) -> Iterator[Role]:
    name, file = f"app_{secrets.token_hex(4)}", tmp_path / "password"
    file.write_text("first")
    behind(path).execute(f"CREATE ROLE {name} LOGIN PASSWORD 'first'")
    yield Role(name, file, template.url(path.name, name).split("?")[0])
    behind(path).execute(f"DROP OWNED BY {name}")
    behind(path).execute(f"DROP ROLE {name}")


async def test_what_somebody_has_taken_away_is_waited_for_and_buries_no_record(
    url: str, path: Path, time: FakeTime
) -> None:
    """A column that a migration or a hand has dropped is no record's fault; what passes a limit of the server's is."""
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    try:
        behind(path).execute("ALTER TABLE incidents RENAME COLUMN identity TO was_identity")
        with pytest.raises(Transient, match="away"):
            await arrive(store, an_alert())
        behind(path).execute("ALTER TABLE incidents RENAME COLUMN was_identity TO identity")
        assert await arrive(store, an_alert())
        row = "INSERT INTO targets SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) AS n"
        with pytest.raises(Bug, match="index row"):
            await store._database.write(lambda tx: tx.conn.execute(text(row)))
    finally:
        await store.close()


async def test_the_daemons_role_does_all_that_the_daemon_does_and_can_not_change_the_journal(
    url: str, role: Role, time: FakeTime
) -> None:
    await upgrade_store(url, grant_to=role.name)
    store = await Store.open(role.url, cluster=CLUSTER, clock=time, access=Access(password=role.password))
    incident = await walk(store, State.RESOLVED)
    await store.set_switch(True, by="ops", why="freeze")
    assert await store.on_duty(Duty.TELLING)
    await store.save_telling(incident.id, Telling(told_seq=1))
    assert (await store.audit()).ok
    for statement in (
        "UPDATE journal SET actor = 'nobody'",
        "DELETE FROM journal",
        "TRUNCATE journal",
        "UPDATE blobs SET text = 'all was well'",
        "UPDATE meta SET min_reader = 0",
        "DROP TABLE journal",
        "ALTER TABLE journal DISABLE TRIGGER ALL",
        "DELETE FROM incidents",
    ):
        with pytest.raises(Exception, match=r"permission denied|must be owner"):
            async with store._database._writing() as tx:
                await tx.conn.exec_driver_sql(statement)
    await store.close()
    _found, too_much = await look_at_store(role.url, Access(password=role.password))
    assert too_much == ""
    assert "TRUNCATE" in (await look_at_store(url))[1]


async def test_a_role_without_rights_is_told_how_to_get_them(role: Role) -> None:
    with pytest.raises(BadConfig, match="--grant-to"):
        await Store.open(role.url, cluster=CLUSTER, access=Access(password=role.password))


async def test_a_right_that_is_taken_away_is_away_and_no_bug(url: str, path: Path, role: Role, time: FakeTime) -> None:
    await upgrade_store(url, grant_to=role.name)
    store = await Store.open(role.url, cluster=CLUSTER, clock=time, access=Access(password=role.password))
    behind(path).execute(f"REVOKE INSERT ON journal FROM {role.name}")
    with pytest.raises(Transient, match="permission denied"):
        await arrive(store, an_alert())
    behind(path).execute(f"GRANT INSERT ON journal TO {role.name}")
    assert await arrive(store, an_alert())
    await store.close()


async def test_a_password_that_was_changed_is_taken_up_without_a_restart(
    url: str, path: Path, role: Role, time: FakeTime
) -> None:
    await upgrade_store(url, grant_to=role.name)
    store = await Store.open(role.url, cluster=CLUSTER, clock=time, access=Access(password=role.password))
    behind(path).execute(f"ALTER ROLE {role.name} PASSWORD 'second'")
    await store._database._home.writes.dispose()
    with pytest.raises(Transient, match="password"):
        await store.ping()
    role.file.write_text("second")
    await store.ping()
    await store.close()


async def test_a_wrong_password_and_a_missing_database_are_said_in_words(path: Path, url: str, role: Role) -> None:
    with pytest.raises(BadConfig, match=r"store\.password") as caught:
        await Store.open(role.url, cluster=CLUSTER, access=Access(password=lambda: "wr0ng"))
    assert "wr0ng" not in str(caught.value)
    with pytest.raises(BadConfig, match="create that database"):
        await Store.open(url.replace(path.name, "nowhere"), cluster=CLUSTER)
    with pytest.raises(BadConfig, match="see that it is up"):
        await Store.open("postgresql://nobody@127.0.0.1:1/x", cluster=CLUSTER)


@pytest.fixture
def empty(template: Template) -> str:
    """A database with nothing in it."""
    return template.url(template.make())


def run(folder: Path, url: str, *words: str) -> Result:
    config = folder / "handrail.yaml"
    policy = folder / "policy.yaml"
    policy.write_text("version: 1\nrules: []\n")
    kafka = {"bootstrap": ["unused:1"], "topics": [{"name": "alerts"}]}
    said = {"cluster": {"name": "c"}, "kafka": kafka, "policy": str(policy), "store": {"url": url}}
    config.write_text(yaml.safe_dump(said))
    return CliRunner().invoke(cli, ["store", *words, "--config", str(config)])


async def test_a_start_against_an_old_schema_is_refused_with_what_to_run(empty: str) -> None:
    with pytest.raises(BadConfig, match=r"handrail store upgrade"):
        await Store.open(empty, cluster=CLUSTER)
    before, after = await upgrade_store(empty)
    assert (before.schema, after.schema) == (0, SCHEMA)
    await (await Store.open(empty, cluster=CLUSTER)).close()


def test_the_command_upgrades_and_says_how_it_stands(empty: str, tmp_path: Path) -> None:
    assert run(tmp_path, empty, "status").exit_code == 1
    done = run(tmp_path, empty, "upgrade")
    assert done.exit_code == 0, done.output
    assert f"schema 0 -> {SCHEMA}" in done.output
    again = run(tmp_path, empty, "upgrade")
    assert "as it was" in again.output
    status = run(tmp_path, empty, "status")
    assert status.exit_code == 0, status.output
    assert f"schema {SCHEMA}" in status.output


def test_a_role_that_is_not_there_is_not_granted_anything(empty: str, tmp_path: Path) -> None:
    done = run(tmp_path, empty, "upgrade", "--grant-to", "nobody-there; DROP TABLE journal")
    assert isinstance(done.exception, BadConfig)
    assert "there is no role" in str(done.exception)


async def test_a_server_that_restarts_costs_some_tries_and_nothing_that_was_committed(
    tmp_path: Path, time: FakeTime
) -> None:
    with running(lambda: PostgresServer().start()) as server:
        template = await asyncio.to_thread(Template, server, tmp_path)
        store = await Store.open(template.url(template.copy().name), cluster=CLUSTER, clock=time)
        incident = await walk(store, State.EXECUTING)
        server.stop()
        with pytest.raises(Transient):
            await arrive(store, an_alert(workload="cart"), offset=9)
        async with contextlib.AsyncExitStack() as stack:
            with pytest.raises(Transient):
                await stack.enter_async_context(store.driving(incident.model_copy(update={"id": "inc-other"})))
        server.process.start()
        assert await newest(store, incident.id) == incident
        assert await arrive(store, an_alert(workload="cart"), offset=9)
        await drive(store, incident, (an_intent(a_saga(incident.id)),))
        assert (await store.audit()).ok
        await store.close()
