"""A store with a clock that only tests move: in a file of its own, and again in a database of its own on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from handrail.adapters.store import Duty, Store
from tests.factories import CLUSTER, FakeTime
from tests.servers.postgres import Databases
from tests.store.places import Template, migrated, on_server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def kind(request: pytest.FixtureRequest) -> str:
    """Which database; a module about one of them says so by a fixture of this name."""
    return str(request.param)


@pytest.fixture
def has_tables() -> bool:
    """Whether a file is there already, with its tables; a module about how it gets them says no."""
    return True


@pytest.fixture(scope="session")
def template(postgres_server: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    made = Template(postgres_server, tmp_path_factory.mktemp("template"))
    yield made
    made.close()


@pytest.fixture
def path(kind: str, has_tables: bool, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Names the database: its file, or a name for `behind`."""
    if kind == "sqlite":
        file = tmp_path / "handrail.db"
        yield migrated(file) if has_tables else file
        return
    template: Template = request.getfixturevalue("template")
    copy = template.copy()
    yield copy
    template.drop(copy)


@pytest.fixture
def url(path: Path, request: pytest.FixtureRequest) -> str:
    if not on_server(path):
        return f"sqlite:///{path}"
    template: Template = request.getfixturevalue("template")
    return template.url(path.name)


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
async def store(url: str, time: FakeTime) -> AsyncIterator[Store]:
    opened = await Store.open(url, cluster=CLUSTER, clock=time)
    assert await opened.on_duty(Duty.TELLING)
    yield opened
    await opened.close()
