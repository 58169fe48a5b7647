"""A strict fake Slack, the desk on it, and fast clocks for the socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from handrail.adapters.slack import SlackDesk
from handrail.adapters.slack.socket import Pace
from handrail.model.config import SecretRef, SlackConfig
from tests.fakes.slack import FakeSlack

CHANNEL = "C0INCIDENTS"
FAST = Pace(look=0.05, gone=0.6, first_wait=0.01, most_wait=0.1)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack(ack_within=1.0) as fake:
        yield fake


def desk_for(
    slack: FakeSlack, channel: str = CHANNEL, *, bot: str = "", app: str = "", base_url: str = ""
) -> SlackDesk:
    nowhere = SecretRef(env="NOT_READ")
    config = SlackConfig(channel=channel, bot_token=nowhere, app_token=nowhere, base_url=base_url or slack.base_url)
    return SlackDesk(config, lambda: bot or slack.bot_token, lambda: app or slack.app_token)


@pytest.fixture
def desk(slack: FakeSlack) -> SlackDesk:
    return desk_for(slack)
