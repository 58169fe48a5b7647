"""Each example of docs/wiring.md does what the page says: loads, is taken by a real collector, becomes that alert."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.core.correlate import labelled_target
from handrail.decode import ENCODINGS, decode
from handrail.decode.parts import EVENT_AGE
from handrail.model.config import AlertmanagerConfig, AlertsConfig, HttpIntakeConfig, IntakeConfig, KafkaConfig
from handrail.model.doors import ALERTMANAGER, GRAFANA, path_of
from handrail.model.mapping import NO_MAPPING, AlertMapping
from tests.decode.records import example, record
from tests.http.doors import TOKEN, Room, doors
from tests.servers import pins
from tests.servers.alertmanager import NOWHERE, AlertmanagerServer
from tests.servers.prometheus import PrometheusServer

TEXT = (Path(__file__).parents[2] / "docs" / "wiring.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(yaml|json)\n(.*?)^```", TEXT, re.M | re.S)
YAMLS = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]
COLLECTORS = [block for block in YAMLS if "exporters" in block]
BECOMES = [
    "NoOrders firing critical Deployment shop/checkout",
    "Checkout is down firing critical Deployment shop/checkout",
    "Pod crash looping firing  Deployment shop/checkout",
    "QueueStuck firing  StatefulSet shop/orders",
]


def examples() -> list[tuple[str, AlertMapping]]:
    """Each JSON example with the mapping that was shown last before it, in its own section."""
    found: list[tuple[str, AlertMapping]] = []
    for section in TEXT.split("\n## "):
        mapping = NO_MAPPING
        for kind, text in re.findall(r"^```(yaml|json)\n(.*?)^```", section, re.M | re.S):
            if kind == "json":
                found.append((text, mapping))
            else:
                mapping = mapping_in(yaml.safe_load(text)) or mapping
    return found


def mapping_in(block: dict[str, Any]) -> AlertMapping | None:
    if "alerts" in block:
        return AlertsConfig.model_validate(block["alerts"]).mapping
    topics = KafkaConfig.model_validate(block["kafka"]).topics if "kafka" in block else ()
    return next((topic.mapping for topic in topics if topic.mapping), None)


@pytest.mark.parametrize(("number", "line"), list(enumerate(BECOMES)))
def test_each_json_example_becomes_the_alert_that_the_page_speaks_of(number: int, line: str) -> None:
    text, mapping = examples()[number]
    found = decode(record(text.encode()), mapping=mapping)
    assert found.refused == ()
    (alert,) = found.alerts
    assert f"{alert.name} {alert.status} {alert.severity} {labelled_target(alert)}" == line
    assert alert.starts_at is not None


def test_every_json_example_is_among_them() -> None:
    assert len(examples()) == len(BECOMES)


def test_every_encoding_and_every_key_of_a_mapping_stands_on_the_page() -> None:
    assert all(f"`{encoding}`" in TEXT or f"encoding: {encoding}" in TEXT for encoding in ENCODINGS)
    assert all(f"`{key}`" in TEXT for key in AlertMapping.model_fields)


def test_the_age_of_events_on_the_page_is_the_default() -> None:
    shown = [block["alerts"]["event_age_minutes"] for block in YAMLS if "event_age_minutes" in block.get("alerts", {})]
    assert shown == [AlertsConfig().event_age_minutes] == [EVENT_AGE.total_seconds() / 60]


@pytest.mark.server
@pytest.mark.parametrize("block", COLLECTORS, ids=lambda block: next(iter(block.get("receivers", block["exporters"]))))
def test_a_real_collector_takes_the_exporters_of_the_page(block: dict[str, Any], tmp_path: Path) -> None:
    """The test's collector has no receiver of webhooks or events: its own stands in for them."""
    path = tmp_path / "collector.yaml"
    config = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}},
        "exporters": block["exporters"],
        "service": {"pipelines": {"logs": {"receivers": ["otlp"], "exporters": list(block["exporters"])}}},
    }
    path.write_text(json.dumps(config))
    program = str(pins.program("otel-collector"))
    done = subprocess.run([program, "validate", f"--config={path}"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def the(key: str) -> dict[str, Any]:
    """The one YAML example with this key."""
    (found,) = [block for block in YAMLS if key in block]
    return dict(found)


STRAIGHT = next(block for block in YAMLS if "route" in block and "routes" in block["route"])
PORT = "handrail-intake.handrail:8081"


def test_the_keys_of_the_configuration_are_its_own() -> None:
    assert len(IntakeConfig.model_validate(the("intake")["intake"]).http.tokens) == 1
    assert AlertmanagerConfig.model_validate(the("alertmanager")["alertmanager"]).seconds == 5
    limits = HttpIntakeConfig()
    assert (limits.most_bytes, limits.seconds, limits.at_once, limits.waiting) == (4 * 2**20, 10, 16, 100)


@pytest.mark.server
async def test_a_real_alertmanager_takes_the_route_and_its_receiver_knocks_at_the_right_door(
    alertmanager_server: AlertmanagerServer,
) -> None:
    await asyncio.to_thread(alertmanager_server.configure, STRAIGHT)
    await asyncio.to_thread(alertmanager_server.notify, NOWHERE)
    (hook,) = next(one for one in STRAIGHT["receivers"] if one["name"] == "handrail")["webhook_configs"]
    assert hook["url"] == f"http://{PORT}{path_of(ALERTMANAGER)}"
    assert (hook["send_resolved"], hook["max_alerts"]) == (True, 0)
    assert hook["http_config"]["authorization"]["type"] == "Bearer"


@pytest.mark.server
def test_a_real_prometheus_takes_the_rule_and_it_names_an_object(prometheus_server: PrometheusServer) -> None:
    (group,) = the("groups")["groups"]
    prometheus_server.configure({}, group["rules"])
    prometheus_server.configure({})
    (rule,) = group["rules"]
    labels = {"alertname": rule["alert"], "namespace": "shop", "deployment": "checkout", **rule["labels"]}
    (alert,) = decode(record(json.dumps([{"labels": labels}]).encode())).alerts
    assert str(labelled_target(alert)) == "Deployment shop/checkout"


async def test_the_contact_point_of_the_page_opens_grafanas_door() -> None:
    (point,) = the("contactPoints")["contactPoints"]
    (receiver,) = point["receivers"]
    settings = receiver["settings"]
    assert settings["url"] == f"http://{PORT}{path_of(GRAFANA)}"
    assert (receiver["type"], settings["httpMethod"], receiver["disableResolveMessage"]) == ("webhook", "POST", False)
    sent = f"{settings['authorization_scheme']} {TOKEN}"
    room = Room()
    async with doors(room) as at:
        assert (await at.post(path_of(GRAFANA), example("grafana_unified_webhook.json"), token=sent)).status == 200
    assert [name for name, _ in room.bodies] == [GRAFANA.name]
