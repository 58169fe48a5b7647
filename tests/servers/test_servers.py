"""The other test servers: each starts, answers and stops."""

from __future__ import annotations

import asyncio
import logging
import ssl
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import aiohttp
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.servers import helm
from tests.servers.alertmanager import AlertmanagerServer
from tests.servers.collector import OtelCollector
from tests.servers.fixtures import running
from tests.servers.kafka import KafkaServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import accepts, wait_until
from tests.servers.prometheus import MetricsPage, PrometheusServer

pytestmark = pytest.mark.server


async def test_kafka_takes_a_record_and_gives_it_back(kafka_server: KafkaServer) -> None:
    assert await _there_and_back(kafka_server.bootstrap) == b"hello"


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
async def test_secured_kafka_takes_a_record_on_each_listener(kafka_secure_server: KafkaServer, protocol: str) -> None:
    assert (
        await _there_and_back(kafka_secure_server.listeners[protocol], **_secured(kafka_secure_server, protocol))
        == b"hello"
    )


async def test_secured_kafka_refuses_a_wrong_password(
    kafka_secure_server: KafkaServer, caplog: pytest.LogCaptureFixture
) -> None:
    # The daemon quiets this library, and tests that run it in this process may have come before.
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("aiokafka")]:
        caplog.set_level(logging.DEBUG, logger=name)
    settings = _secured(kafka_secure_server, "SASL_SSL") | {"sasl_plain_password": "wrong"}
    producer = AIOKafkaProducer(bootstrap_servers=kafka_secure_server.listeners["SASL_SSL"], **settings)
    try:
        # The client raises the same as for a broker that is down; only its log says why.
        with pytest.raises(KafkaConnectionError):
            await producer.start()
    finally:
        await producer.stop()
    assert "SaslAuthenticationFailed" in caplog.text


async def test_a_record_outlives_a_restart_of_kafka() -> None:
    with running(lambda: KafkaServer().start()) as server:
        await _send(server.bootstrap, "kept", b"before")
        server.stop()
        assert not accepts(int(server.bootstrap.rpartition(":")[2]))
        server.start()
        assert await _read_one(server.bootstrap, "kept") == b"before"


def test_postgres_gives_each_test_a_database_of_its_own(postgres_server: PostgresServer) -> None:
    one, two = postgres_server.create_database(), postgres_server.create_database()
    postgres_server.psql("CREATE TABLE t (n int); INSERT INTO t VALUES (7)", one)
    assert postgres_server.psql("SELECT n FROM t", one) == "7"
    with pytest.raises(RuntimeError, match='relation "t" does not exist'):
        postgres_server.psql("SELECT n FROM t", two)
    postgres_server.drop_database(one)
    with pytest.raises(ValueError, match="not created here"):
        postgres_server.drop_database(one)


def test_what_postgres_committed_outlives_its_death() -> None:
    with running(lambda: PostgresServer().start()) as server:
        url = server.create_database()
        server.psql("CREATE TABLE t (n int); INSERT INTO t VALUES (7)", url)
        server.process.kill()
        server.start()
        assert server.psql("SELECT n FROM t", url) == "7"


def test_an_alert_goes_from_a_scraped_page_to_the_webhook(
    prometheus_server: PrometheusServer, alertmanager_server: AlertmanagerServer
) -> None:
    page = MetricsPage("queue_depth 42\n")
    inbox = _Webhook()
    rule = {"alert": "QueueDeep", "expr": "queue_depth > 10", "labels": {"severity": "page"}}
    try:
        alertmanager_server.notify(inbox.url)
        prometheus_server.configure({"shop": page.address}, [rule], [alertmanager_server.address])
        wait_until(lambda: _values(prometheus_server, "queue_depth") == ["42"], 30, "scraped")
        wait_until(lambda: b'"firing"' in b"".join(inbox.bodies), 60, "told of the alert")
        page.text = "queue_depth 1\n"
        wait_until(lambda: b'"resolved"' in b"".join(inbox.bodies), 60, "told of its end")
    finally:
        prometheus_server.configure({})
        alertmanager_server.notify("http://127.0.0.1:9/")
        inbox.close()
        page.close()


async def test_the_collector_writes_logs_to_kafka(
    kafka_server: KafkaServer, otel_collector: Callable[..., OtelCollector]
) -> None:
    topic = f"logs-{uuid.uuid4().hex[:8]}"
    collector = otel_collector(topics={"logs": topic})
    sent = ExportLogsServiceRequest()
    sent.resource_logs.add().scope_logs.add().log_records.add().body.string_value = "disk full"
    headers = {"Content-Type": "application/x-protobuf"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{collector.http}/v1/logs", data=sent.SerializeToString(), headers=headers) as answer,
    ):
        assert answer.status == 200

    got = ExportLogsServiceRequest.FromString(await _read_one(kafka_server.bootstrap, topic))

    assert got.resource_logs[0].scope_logs[0].log_records[0].body.string_value == "disk full"


def test_helm_says_its_pinned_version(tmp_path: Path) -> None:
    done = helm.run("version", "--short", home=tmp_path)
    assert done.stdout.startswith("v4."), done.stderr


class _Webhook:
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        bodies: list[bytes] = []

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.bodies = bodies
        self._server = HTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _secured(server: KafkaServer, protocol: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"security_protocol": protocol}
    if "SSL" in protocol:
        settings["ssl_context"] = ssl.create_default_context(cafile=str(server.ca_file))
    if "SASL" in protocol:
        settings |= {
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": server.user,
            "sasl_plain_password": server.password,
        }
    return settings


async def _there_and_back(bootstrap: str, **settings: Any) -> bytes:
    topic = f"t-{uuid.uuid4().hex[:8]}"
    await _send(bootstrap, topic, b"hello", **settings)
    return await _read_one(bootstrap, topic, **settings)


async def _send(bootstrap: str, topic: str, value: bytes, **settings: Any) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, **settings) as producer:
        await producer.send_and_wait(topic, value)


async def _read_one(bootstrap: str, topic: str, **settings: Any) -> bytes:
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}", auto_offset_reset="earliest", **settings
    )
    async with consumer:
        record = await asyncio.wait_for(consumer.getone(), 60)
    assert record.value is not None
    return bytes(record.value)


def _values(server: PrometheusServer, expression: str) -> list[str]:
    return [result["value"][1] for result in server.query(expression)]
