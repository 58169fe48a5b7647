"""What real senders put on the wire: Alertmanager's webhook, and a collector's Kafka records in both encodings."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from aiokafka import AIOKafkaConsumer

from handrail.core.correlate import arrival
from handrail.decode import decode
from handrail.model.alert import Alert
from handrail.model.record import Record
from tests.decode.records import example, record
from tests.fakes.webhook import FakeWebhook
from tests.servers.alertmanager import NOWHERE, AlertmanagerServer
from tests.servers.collector import OtelCollector
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server

LABELS = {"alertname": "KubePodNotReady", "namespace": "shop", "pod": "api-0", "job": "kube-state-metrics"}


async def told(hook: FakeWebhook, status: str) -> Alert:
    """The first alert of that status that the real Alertmanager posts."""
    async with asyncio.timeout(60):
        while True:
            for post in tuple(hook.posts):
                found = decode(record(json.dumps(post.body).encode(), at=datetime.now(UTC)))
                assert found.refused == ()
                for alert in found.alerts:
                    if alert.status == status:
                        return alert
            await asyncio.sleep(0.1)


async def test_alertmanagers_own_webhook_is_one_episode_from_firing_to_resolved(
    alertmanager_server: AlertmanagerServer,
) -> None:
    now = datetime.now(UTC)
    since = {"startsAt": (now - timedelta(minutes=5)).isoformat()}
    labels = {**LABELS, "pod": f"api-{uuid.uuid4().hex[:6]}", "severity": "Critical"}
    async with FakeWebhook() as hook:
        await asyncio.to_thread(alertmanager_server.notify, hook.url)
        try:
            await asyncio.to_thread(alertmanager_server.send, [{"labels": labels, **since}])
            firing = await told(hook, "firing")
            ended = {"endsAt": datetime.now(UTC).isoformat()}
            await asyncio.to_thread(alertmanager_server.send, [{"labels": labels, **since, **ended}])
            resolved = await told(hook, "resolved")
        finally:
            await asyncio.to_thread(alertmanager_server.notify, NOWHERE)
    assert (firing.name, firing.labels, firing.severity) == ("KubePodNotReady", labels, "critical")
    assert firing.starts_at == now - timedelta(minutes=5)
    assert (firing.ends_at, resolved.ends_at is not None) == (None, True)
    one, other = (arrival(alert, "prod-eu1", ()) for alert in (firing, resolved))
    assert (one.identity, one.episode, one.target) == (other.identity, other.episode, other.target)
    assert str(one.target) == f"Pod shop/{labels['pod']}"


async def test_alertmanagers_api_answer_is_read_too(alertmanager_server: AlertmanagerServer) -> None:
    labels = {**LABELS, "pod": f"api-{uuid.uuid4().hex[:6]}"}
    await asyncio.to_thread(alertmanager_server.send, [{"labels": labels}])
    listed = await asyncio.to_thread(alertmanager_server.alerts)
    found = decode(record(json.dumps(listed).encode(), at=datetime.now(UTC)))
    (alert,) = (alert for alert in found.alerts if alert.labels.get("pod") == labels["pod"])
    assert (alert.status, alert.ends_at) == ("firing", None), "its endsAt lies in the future: an expiry, not an end"


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("otlp_proto", "otlp_logs_alert.json"),
        ("otlp_json", "otlp_logs_alert.json"),
        ("otlp_proto", "otlp_logs_webhookevent_alertmanager.json"),
        ("otlp_json", "otlp_logs_webhookevent_alertmanager.json"),
        ("raw", "otlp_logs_webhookevent_alertmanager.json"),
    ],
)
async def test_what_a_collector_writes_to_kafka_holds_the_alerts_that_were_sent(
    kafka_server: KafkaServer, otel_collector: Callable[..., OtelCollector], encoding: str, name: str
) -> None:
    topic = f"alerts-{uuid.uuid4().hex[:8]}"
    only_logs = {
        "metrics": {"topic": "m", "encoding": "otlp_proto"},
        "traces": {"topic": "t", "encoding": "otlp_proto"},
    }
    collector = await asyncio.to_thread(
        otel_collector, topics={"logs": topic}, encoding=encoding, exporter=only_logs if encoding == "raw" else None
    )
    await post_logs(collector, example(name))
    written = await first_of(kafka_server.bootstrap, topic)
    found = decode(written, signal="logs", encoding="alertmanager" if encoding == "raw" else encoding)
    sent = decode(record(example(name), at=written.at))
    assert found.refused == ()
    assert [plain(alert) for alert in found.alerts] == [plain(alert) for alert in sent.alerts]
    assert decode(written) == found, "what it is can be told from the value alone"


def plain(alert: Alert) -> dict[str, Any]:
    return alert.model_dump(exclude={"wire"})


@pytest.mark.parametrize("encoding", ["otlp_proto", "otlp_json"])
@pytest.mark.parametrize(
    ("signal", "name"), [("metrics", "otlp_metrics_alerts.json"), ("traces", "otlp_traces_error.json")]
)
async def test_metrics_and_traces_come_through_a_collector_too(
    kafka_server: KafkaServer, otel_collector: Callable[..., OtelCollector], encoding: str, signal: str, name: str
) -> None:
    topic = f"alerts-{uuid.uuid4().hex[:8]}"
    collector = await asyncio.to_thread(otel_collector, topics={signal: topic}, encoding=encoding)
    await post(collector, signal, example(name))
    written = await first_of(kafka_server.bootstrap, topic)
    sent = decode(record(example(name), at=written.at))
    for found in (decode(written, signal=signal, encoding=encoding), decode(written)):
        assert (found.refused, found.passed) == ((), sent.passed)
        assert [plain(alert) for alert in found.alerts] == [plain(alert) for alert in sent.alerts]
        assert len(found.alerts) == 1


async def post_logs(collector: OtelCollector, body: bytes) -> None:
    await post(collector, "logs", body)


async def post(collector: OtelCollector, signal: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{collector.http}/v1/{signal}", data=body, headers=headers) as answer,
    ):
        assert answer.status == 200


async def first_of(bootstrap: str, topic: str) -> Record:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}", auto_offset_reset="earliest")
    async with consumer:
        got = await asyncio.wait_for(consumer.getone(), 60)
    return Record(
        topic=got.topic,
        partition=got.partition,
        offset=got.offset,
        key=got.key,
        value=got.value,
        headers=tuple(got.headers),
        at=datetime.fromtimestamp(got.timestamp / 1000, UTC),
    )
