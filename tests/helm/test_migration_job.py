"""What the migration's Job runs, run as it stands in the chart: by the owner's role, on a real PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml
from click.testing import CliRunner, Result
from psycopg import sql

from handrail.cli import cli
from handrail.model.value import Raw
from tests.helm.chart import LEAST, Helm, one, with_values
from tests.servers.postgres import ExistingPostgres, PostgresServer

pytestmark = pytest.mark.server


@dataclass
class Roles:
    """Of a new, empty database: who owns it, and whom the daemon is; both with the password `word`."""

    admin: str
    owner: str
    daemon: str
    word: str

    @property
    def url(self) -> str:
        at = urlsplit(self.admin)
        return f"postgresql://{self.daemon}@{at.hostname}:{at.port or 5432}{at.path}"


@pytest.fixture
def roles(postgres_server: PostgresServer | ExistingPostgres) -> Iterator[Roles]:
    mark = secrets.token_hex(4)
    url = postgres_server.create_database()
    found = Roles(url, f"owner_{mark}", f"daemon_{mark}", secrets.token_hex(8))
    names = [sql.Identifier(name) for name in (found.owner, found.daemon)]
    with psycopg.connect(url, autocommit=True) as admin:
        for name in names:
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(found.word)))
        admin.execute(sql.SQL("ALTER SCHEMA public OWNER TO {}").format(names[0]))
    yield found
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP OWNED BY {}, {} CASCADE").format(*names))
        admin.execute(sql.SQL("DROP ROLE {}, {}").format(*names))
    postgres_server.drop_database(url)


def job(objects: list[Raw], folder: Path, word: str) -> Result:
    """Its arguments, with the files of its volumes at places of ours; the daemon's own password is not among them."""
    (folder / "handrail.yaml").write_text(one(objects, "ConfigMap", "handrail-migration")["data"]["handrail.yaml"])
    (folder / "password").write_text(word)
    container = one(objects, "Job", "handrail-migration")["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["handrail"]
    places = {"/etc/handrail/config": str(folder), "/etc/handrail/migration": str(folder)}
    arguments = list(container["args"])
    for there, here in places.items():
        arguments = [argument.replace(there, here) for argument in arguments]
    return CliRunner().invoke(cli, arguments)


def test_the_job_makes_the_schema_and_gives_the_daemons_role_no_more_than_it_needs(
    helm: Helm, roles: Roles, tmp_path: Path
) -> None:
    store = {"url": roles.url, "password": {"file": "/etc/handrail/secrets/db/password"}}
    values = {
        "config": {**LEAST["config"], "store": store},
        "secrets": [{"name": "db", "secretName": "db"}],
        "migration": {"user": roles.owner, "secretName": "owner"},
    }
    objects = with_values(helm, tmp_path, **values)
    done = job(objects, tmp_path, roles.word)
    assert done.exit_code == 0, done.output
    assert f"{roles.daemon} may read and insert in the journal" in done.output
    assert "as it was" in job(objects, tmp_path, roles.word).output, "an upgrade that changes nothing is none"

    config = yaml.safe_load((tmp_path / "handrail.yaml").read_text())
    config["store"]["password"] = {"file": str(tmp_path / "password")}
    (tmp_path / "daemon.yaml").write_text(yaml.safe_dump(config))
    stands = CliRunner().invoke(cli, ["store", "status", "--config", str(tmp_path / "daemon.yaml")])
    assert stands.exit_code == 0, stands.output
    assert "let the daemon run as another" not in stands.output


def test_a_wrong_password_fails_the_job_with_words_and_a_code(helm: Helm, roles: Roles, tmp_path: Path) -> None:
    values = {
        "config": {**LEAST["config"], "store": {"url": roles.url}},
        "migration": {"user": roles.owner, "secretName": "owner"},
    }
    done = job(with_values(helm, tmp_path, **values), tmp_path, "wrong")
    assert done.exit_code != 0
    assert "password authentication failed" in f"{done.output} {done.exception}"
