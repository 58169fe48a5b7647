"""A shop in the simulated cluster, healthy at first; a store in a file, or on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from handrail.sim.clock import ManualClock
from handrail.sim.simulator import Simulator
from tests.reconciler.rig import Shop
from tests.servers.postgres import Databases
from tests.store.places import Template, migrated


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    clock = ManualClock()
    async with Simulator(clock=clock, seed=7) as simulator:
        found = Shop(simulator, clock)
        await found.set_up()
        yield found


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{migrated(tmp_path / 'handrail.db')}"
        return
    template: Template = request.getfixturevalue("template")
    copy = template.copy()
    yield template.url(copy.name)
    template.drop(copy)


@pytest.fixture(scope="session")
def template(postgres_server: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    made = Template(postgres_server, tmp_path_factory.mktemp("template"))
    yield made
    made.close()
