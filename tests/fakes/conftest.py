"""The fake Messages API and the real client that asks it, for the tests of the fakes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
from anthropic import AsyncAnthropic

from tests.fakes.messages import FakeMessages


@pytest.fixture(autouse=True)
def _nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client takes headers from the environment even when it is given a key."""
    for name in [each for each in os.environ if each.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)


@pytest.fixture
async def model() -> AsyncIterator[FakeMessages]:
    async with FakeMessages() as fake:
        yield fake


@pytest.fixture
async def claude(model: FakeMessages) -> AsyncIterator[AsyncAnthropic]:
    """Asks once and waits briefly."""
    async with AsyncAnthropic(api_key=model.api_key, base_url=model.url, max_retries=0, timeout=5) as made:
        yield made
