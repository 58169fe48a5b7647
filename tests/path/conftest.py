"""The main path's rooms and people: a namespace, a Slack, and a daemon that is not installed yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.fakes.slack import FakeSlack
from tests.kafka.support import fresh
from tests.path.opening import Opening
from tests.path.stage import CHANNEL, Daemon, Shop
from tests.servers.collector import OtelCollector
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    # Slack gives three seconds, and tests/slack holds us to that; here a whole cluster may have the processor.
    async with FakeSlack(ack_within=30) as fake:
        fake.add_channel(CHANNEL, "incidents")
        yield fake
        assert not fake.warnings


@pytest.fixture
def shop(control_plane: ControlPlane) -> Shop:
    return Shop(control_plane, fresh("shop"))


@pytest.fixture
async def daemon(
    control_plane: ControlPlane, kafka_server: KafkaServer, slack: FakeSlack, shop: Shop, tmp_path: Path
) -> AsyncIterator[Daemon]:
    (tmp_path / "bot").write_text(slack.bot_token)
    (tmp_path / "app").write_text(slack.app_token)
    settings = {
        "kafka": {
            "bootstrap": [kafka_server.bootstrap],
            "group": shop.namespace,
            "topics": [{"name": shop.namespace, "signal": "logs", "encoding": "otlp_proto"}],
        },
        "slack": {
            "channel": CHANNEL,
            "bot_token": {"file": str(tmp_path / "bot")},
            "app_token": {"file": str(tmp_path / "app")},
            "base_url": slack.base_url,
        },
    }
    found = Daemon(control_plane, tmp_path / "d", settings, f"sa-{shop.namespace}")
    yield found
    await found.close()


@pytest.fixture
def opening(daemon: Daemon, shop: Shop, slack: FakeSlack, otel_collector: Callable[..., OtelCollector]) -> Opening:
    return Opening(daemon, shop, slack, otel_collector)
