"""Pytest fixtures: one server of each kind for the whole run, started when the first test asks for it.

Decides: when a test is skipped (the server is not to be had) and when that is a failure
(HANDRAIL_REQUIRE_SERVERS=1). Never leaves a process behind: each is stopped by the id recorded at start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, TypeVar

import pytest

from tests.servers.alertmanager import AlertmanagerServer
from tests.servers.cluster import ExistingCluster
from tests.servers.collector import OtelCollector
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import ExistingKafka, KafkaServer
from tests.servers.pins import Missing
from tests.servers.postgres import ExistingPostgres, PostgresServer
from tests.servers.prometheus import PrometheusServer


class Closes(Protocol):
    def close(self) -> None: ...


Server = TypeVar("Server", bound=Closes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """What turns out to be missing in the middle of a test is treated as in a fixture."""
    try:
        return (yield)
    except Missing as missing:
        unavailable(str(missing))


@contextmanager
def running(start: Callable[[], Server]) -> Iterator[Server]:
    """The server for as long as the block lasts; skips (or fails) when it cannot be had."""
    try:
        server = start()
    except Missing as missing:
        unavailable(str(missing))
    try:
        yield server
    finally:
        server.close()


def unavailable(why: str) -> NoReturn:
    """Skip with one line, or fail with it where servers are required."""
    if os.environ.get("HANDRAIL_REQUIRE_SERVERS") == "1":
        raise pytest.fail.Exception(why, pytrace=False) from None
    raise pytest.skip.Exception(why) from None


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[KafkaServer | ExistingKafka]:
    """A broker with a plain listener (`bootstrap`)."""

    def start() -> KafkaServer | ExistingKafka:
        return ExistingKafka() if os.environ.get("HANDRAIL_TEST_KAFKA") else KafkaServer().start()

    with running(start) as server:
        yield server


@pytest.fixture(scope="session")
def kafka_secure_server() -> Iterator[KafkaServer]:
    """A broker with SSL, SASL_PLAINTEXT and SASL_SSL listeners beside the plain one."""
    with running(lambda: KafkaServer(secure=True).start()) as server:
        yield server


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane | ExistingCluster]:
    """An API server with controllers, scheduler, two nodes and pods that do what their spec says."""

    def start() -> ControlPlane | ExistingCluster:
        return ExistingCluster() if os.environ.get("HANDRAIL_TEST_KUBECONFIG") else ControlPlane().start()

    with running(start) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer | ExistingPostgres]:
    """A server; take a database of your own with `create_database()`."""

    def start() -> PostgresServer | ExistingPostgres:
        return ExistingPostgres() if os.environ.get("HANDRAIL_TEST_POSTGRES") else PostgresServer().start()

    with running(start) as server:
        yield server


@pytest.fixture(scope="session")
def prometheus_server() -> Iterator[PrometheusServer]:
    """Prometheus that scrapes nothing yet: see `configure`."""
    with running(lambda: PrometheusServer().start()) as server:
        yield server


@pytest.fixture
def alertmanager_server() -> Iterator[AlertmanagerServer]:
    """Alertmanager that tells nobody yet: see `notify`. One for each test: it keeps whatever it was told, and would
    tell the next test's receiver too."""
    with running(lambda: AlertmanagerServer().start()) as server:
        yield server


@pytest.fixture(scope="session")
def otel_collector(
    kafka_server: KafkaServer | ExistingKafka,
) -> Iterator[Callable[..., OtelCollector]]:
    """Starts collectors that write to `kafka_server` (or to the `bootstrap` given); arguments as OtelCollector's."""
    started: list[OtelCollector] = []

    def start(bootstrap: str | None = None, **settings: Any) -> OtelCollector:
        try:
            collector = OtelCollector(bootstrap or kafka_server.bootstrap, **settings).start()
        except Missing as missing:
            unavailable(str(missing))
        started.append(collector)
        return collector

    yield start
    for collector in started:
        collector.close()
