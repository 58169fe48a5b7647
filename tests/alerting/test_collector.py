"""A real collector: all three signals through Kafka to incidents of the daemon, and logs straight to its door."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.alerting.stage import TOKEN, Desk, policy
from tests.decode.records import attributes, example
from tests.decode.test_real_senders import post
from tests.kafka.support import make_topics
from tests.path.stage import CLUSTER, Shop, until
from tests.servers.collector import OtelCollector
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server


def now_ns() -> str:
    return str(int(datetime.now(UTC).timestamp() * 1e9))


def log_alert(name: str, namespace: str) -> dict[str, Any]:
    said = {"alert.name": name, "alert.state": "firing", "alert.starts_at": datetime.now(UTC).isoformat()}
    about = {"k8s.cluster.name": CLUSTER, "k8s.namespace.name": namespace, "k8s.deployment.name": f"d-{name.lower()}"}
    record = {"timeUnixNano": now_ns(), "body": {"stringValue": name}, "attributes": attributes({**said, **about})}
    line = {"timeUnixNano": now_ns(), "body": {"stringValue": "GET / 200"}}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record, line]}]}]}


def metric_alert(name: str, namespace: str) -> dict[str, Any]:
    labels = {"alertname": name, "alertstate": "firing", "cluster": CLUSTER}
    about = {"namespace": namespace, "deployment": f"d-{name.lower()}"}
    point = {"timeUnixNano": now_ns(), "asDouble": 1, "attributes": attributes({**labels, **about})}
    metric = {"name": "ALERTS", "gauge": {"dataPoints": [point]}}
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}


def span_alert() -> bytes:
    """The example, as if it had happened just now."""
    data = json.loads(example("otlp_traces_error.json"))
    for each in data["resourceSpans"]:
        for scope in each["scopeSpans"]:
            for span in scope["spans"]:
                span["startTimeUnixNano"] = span["endTimeUnixNano"] = now_ns()
                for event in span.get("events", ()):
                    event["timeUnixNano"] = now_ns()
    return json.dumps(data).encode()


@pytest.mark.parametrize("encoding", ["otlp_proto", "otlp_json"])
async def test_logs_metrics_and_traces_come_to_the_daemon_through_a_collector_and_kafka(
    desk: Desk, shop: Shop, kafka_server: KafkaServer, otel_collector: Callable[..., OtelCollector], encoding: str
) -> None:
    run = uuid.uuid4().hex[:6]
    topics = {signal: f"{signal}-{run}" for signal in ("logs", "metrics", "traces")}
    await make_topics(kafka_server.bootstrap, *topics.values(), f"{shop.namespace}.dead")
    read = [{"name": name, "signal": signal, "encoding": encoding} for signal, name in topics.items()]
    desk.daemon.settings["kafka"]["topics"] = read
    del desk.daemon.settings["alertmanager"]
    await asyncio.to_thread(desk.daemon.install, policy(shop))
    await desk.daemon.start()
    await until(desk.ready, 60, "the brokers to be read")
    straight = {"endpoint": desk.doors, "headers": {"Authorization": f"Bearer {TOKEN}"}, "retry_on_failure": {}}
    collector = await asyncio.to_thread(
        otel_collector, topics=topics, encoding=encoding, logs_to={"otlp_http": straight}
    )
    await post(collector, "logs", json.dumps(log_alert("InLogs", shop.namespace)).encode())
    await post(collector, "metrics", json.dumps(metric_alert("InMetrics", shop.namespace)).encode())
    await post(collector, "traces", span_alert())

    expected = {"InLogs", "InMetrics"}

    def titles() -> bool:
        return expected <= {row["title"] for row in found} and len(found) >= 3

    found: list[dict[str, Any]] = []
    async with asyncio.timeout(90):
        while not titles():
            found[:] = await desk.rows()
            await asyncio.sleep(0.5)
    logs = [row for row in found if row["title"] == "InLogs"]
    assert len(logs) == 1, "by Kafka and straight: the same alert, so the same incident"

    async def wires() -> set[str]:
        shown = json.loads(await desk.daemon.cli("incidents", "show", logs[0]["id"], "--json"))
        return {entry["kind"] for entry in shown["journal"]}

    async with asyncio.timeout(90):
        while "alert_attached" not in await wires():
            await asyncio.sleep(0.5)
    assert len([row for row in await desk.rows() if row["title"] == "InLogs"]) == 1
    assert "NO_ALERT_NAME" in desk.daemon.log(), "the line beside it is refused, and costs it nothing"
