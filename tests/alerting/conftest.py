"""A shop that monitoring watches over, and a daemon that takes alerts by HTTP. Nothing has begun yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.alerting.stage import TOKEN, Desk, Monitoring
from tests.kafka.support import fresh
from tests.path.stage import Daemon, Shop
from tests.servers.alertmanager import AlertmanagerServer
from tests.servers.control_plane import ControlPlane
from tests.servers.fixtures import running
from tests.servers.kafka import KafkaServer
from tests.servers.prometheus import MetricsPage, PrometheusServer


@pytest.fixture
def shop(control_plane: ControlPlane) -> Shop:
    return Shop(control_plane, fresh("shop"))


@pytest.fixture
async def desk(
    control_plane: ControlPlane,
    kafka_server: KafkaServer,
    alertmanager_server: AlertmanagerServer,
    shop: Shop,
    tmp_path: Path,
) -> AsyncIterator[Desk]:
    (tmp_path / "token").write_text(TOKEN + "\n")
    topics = [{"name": shop.namespace, "encoding": "auto"}]
    kafka = {
        "bootstrap": [kafka_server.bootstrap],
        "group": shop.namespace,
        "topics": topics,
        "dead_letter_topic": f"{shop.namespace}.dead",
    }
    settings = {
        "kafka": kafka,
        "intake": {"http": {"tokens": [{"file": str(tmp_path / "token")}]}},
        "alertmanager": {"url": alertmanager_server.url},
    }
    daemon = Daemon(control_plane, tmp_path / "d", settings, f"sa-{shop.namespace}")
    found = Desk(daemon)
    http = {"listen": f"127.0.0.1:{daemon.port}", "socket": str(tmp_path / "d" / "s"), "intake": found.doors[7:]}
    daemon.settings["http"] = http
    yield found
    await daemon.close()


@pytest.fixture
def twin() -> Iterator[AlertmanagerServer]:
    """The other one of a pair: it hears the same, and neither knows of the other."""
    with running(lambda: AlertmanagerServer().start()) as server:
        yield server


@pytest.fixture
def monitoring(
    prometheus_server: PrometheusServer, alertmanager_server: AlertmanagerServer, twin: AlertmanagerServer, shop: Shop
) -> Iterator[Monitoring]:
    exporter = MetricsPage()
    found = Monitoring(prometheus_server, (alertmanager_server, twin), exporter, shop)
    found.available(3)
    yield found
    prometheus_server.configure({})
    exporter.close()
