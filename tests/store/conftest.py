"""A store in a folder of its own, with a clock that only tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.adapters.store import Store
from tests.factories import CLUSTER, FakeTime


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "handrail.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
async def store(url: str, time: FakeTime) -> AsyncIterator[Store]:
    opened = await Store.open(url, cluster=CLUSTER, clock=time)
    yield opened
    await opened.close()
