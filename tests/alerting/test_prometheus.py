"""One alert of a real rule, from pending to firing to resolved, through real Alertmanagers to the incident and its end.

Both of a pair tell the same, again and again, while the daemon is restarted in between.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.alerting.stage import NAME, TOKEN, Desk, Monitoring, kinds, policy, story, tell
from tests.decode.records import fired, webhook
from tests.http.support import fetch
from tests.kafka.support import make_topics, read_all
from tests.path.stage import BAD, GOOD, Shop, until
from tests.servers.alertmanager import NOWHERE, AlertmanagerServer
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server

PATIENCE = 90.0
LOOKED_AT = 20
"""Seconds for which an alert is pending where somebody looks meanwhile. Not told by loading the rules anew: what fired
right after that was sent a minute later."""


async def begin(desk: Desk, shop: Shop, kafka_server: KafkaServer) -> None:
    """A daemon that runs, and a healthy Deployment."""
    await make_topics(kafka_server.bootstrap, shop.namespace, f"{shop.namespace}.dead")
    await asyncio.to_thread(desk.daemon.install, policy(shop))
    await asyncio.to_thread(shop.open)
    await until(shop.ready, 60, "three ready pods")
    await desk.daemon.start()


async def break_it(shop: Shop) -> None:
    await asyncio.to_thread(shop.roll_out, BAD)
    await until(shop.crashing, 60, "crash-looping pods")


def card(shown: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = shown["card"]
    return found


async def test_an_alert_of_a_rule_is_one_incident_from_pending_to_resolved_whoever_tells_it_how_often(
    desk: Desk, shop: Shop, monitoring: Monitoring, kafka_server: KafkaServer
) -> None:
    await begin(desk, shop, kafka_server)
    for one in monitoring.alertmanagers:
        await asyncio.to_thread(one.configure, tell(desk.doors, repeat="1s"))
    await break_it(shop)
    await asyncio.to_thread(monitoring.watch, LOOKED_AT)
    monitoring.available(1)

    await until(lambda: monitoring.state() == "pending", 30, "the alert to be pending")
    assert await desk.rows() == [], "what is pending is nobody's business yet"
    await until(lambda: monitoring.state() == "firing", 60, "the alert to fire")
    asked = await desk.until(lambda shown: card(shown)["state"] == "asking", PATIENCE, "a question")
    assert card(asked)["target"] == f"Deployment {shop.namespace}/checkout"
    assert card(asked)["title"] == NAME

    def told_often(shown: dict[str, Any]) -> bool:
        return kinds(shown).count("alert_attached") >= 3

    await desk.until(told_often, PATIENCE, "both of the pair, and their repeats")
    assert await desk.daemon.stop() == 0
    await asyncio.sleep(3)  # what is told meanwhile is told again: a refused connection is no answer
    await desk.daemon.start()
    (row,) = await desk.rows()
    assert row["id"] == asked["incident"]

    await desk.daemon.cli("approve", asked["incident"], "--yes")
    await until(lambda: shop.image() == GOOD, PATIENCE, "the undo")
    await until(shop.ready, PATIENCE, "three ready pods")
    done = await desk.daemon.until_state("RESOLVED", PATIENCE)

    def fires_on(shown: dict[str, Any]) -> bool:
        return "still fires after the repair" in story(shown)

    await desk.until(fires_on, PATIENCE, "a note, since the rule looks back over a window")
    assert monitoring.state() == "firing"
    monitoring.available(3)
    await until(lambda: monitoring.state() == "", 30, "the alert to end")

    def heard_the_end(shown: dict[str, Any]) -> bool:
        return "says it is resolved" in story(shown)

    await desk.until(heard_the_end, PATIENCE, "the resolved notification")
    assert len(await desk.rows()) == 1, "one alert, one incident"
    assert done["incident"] == asked["incident"]
    assert len(desk.daemon.applied()) == 1
    await desk.daemon.cli("audit", "verify")


async def test_what_ends_by_itself_before_anybody_decides_is_closed(
    desk: Desk, shop: Shop, monitoring: Monitoring, kafka_server: KafkaServer
) -> None:
    await begin(desk, shop, kafka_server)
    await asyncio.to_thread(monitoring.alertmanagers[0].configure, tell(desk.doors))
    await break_it(shop)
    await asyncio.to_thread(monitoring.watch)
    monitoring.available(1)
    asked = await desk.until(lambda shown: card(shown)["state"] == "asking", PATIENCE, "a question")
    await asyncio.to_thread(shop.roll_out, GOOD)
    await until(shop.ready, 60, "three ready pods")
    monitoring.available(3)
    closed = await desk.daemon.until_state("SUPPRESSED", PATIENCE)
    assert closed["incident"] == asked["incident"]
    assert "RESOLVED_BY_ITSELF" in card(closed)["status"]
    assert desk.daemon.applied() == []


async def test_what_is_silenced_waits_for_the_end_of_the_silence_and_what_is_inhibited_says_so(
    desk: Desk, shop: Shop, alertmanager_server: AlertmanagerServer, kafka_server: KafkaServer
) -> None:
    await begin(desk, shop, kafka_server)
    rule = {"source_matchers": ['alertname = "NodeDown"'], "target_matchers": [f'alertname = "{NAME}"']}
    await asyncio.to_thread(alertmanager_server.configure, tell(NOWHERE, inhibit=[rule]))
    labels = {"alertname": NAME, "namespace": shop.namespace, "deployment": "checkout"}
    node_down = {"alertname": "NodeDown", "node": f"n-{shop.namespace}"}
    await asyncio.to_thread(alertmanager_server.send, [{"labels": labels}, {"labels": node_down}])
    mine = {"namespace": shop.namespace}
    silence = alertmanager_server.silence
    await break_it(shop)
    await asyncio.to_thread(silence, mine, 25, by="alice", comment="we move the database")
    assert await post(desk, labels) == 200
    silenced = await desk.until(lambda shown: "silenced" in kinds(shown), PATIENCE, "the silence to be seen")
    status = card(silenced)["status"]
    assert "SILENCED" in status
    assert "alice" in status
    assert "we move the database" in status
    asked = await desk.until(lambda shown: card(shown)["state"] == "asking", PATIENCE, "the end of the silence")
    assert "Left alone until" in story(asked)
    report = await desk.daemon.cli("incidents", "report", asked["incident"])
    assert "inhibited" in report
    assert "NodeDown" in report

    await asyncio.to_thread(silence, mine, 3600, by="bob", comment="not now")
    await desk.daemon.cli("approve", asked["incident"], "--yes")
    again = await desk.until(lambda shown: kinds(shown).count("silenced") == 2, PATIENCE, "the second silence")
    assert "bob" in card(again)["status"]
    assert desk.daemon.applied() == []


async def test_a_mark_of_maintenance_on_the_namespace_keeps_us_off_what_was_approved(
    desk: Desk, shop: Shop, kafka_server: KafkaServer
) -> None:
    await begin(desk, shop, kafka_server)
    await break_it(shop)
    labels = {"alertname": NAME, "namespace": shop.namespace, "deployment": "checkout"}
    assert await post(desk, labels) == 200
    asked = await desk.until(lambda shown: card(shown)["state"] == "asking", PATIENCE, "a question")
    mark = {"metadata": {"annotations": {"handrail.dev/maintenance": "alice moves the database"}}}
    path = f"/api/v1/namespaces/{shop.namespace}"
    await asyncio.to_thread(shop.plane.api.patch, path, mark, "application/merge-patch+json")
    await desk.daemon.cli("approve", asked["incident"], "--yes")
    ended = await desk.daemon.until_state("HANDED_OVER", PATIENCE)
    assert "IN_MAINTENANCE" in card(ended)["status"]
    assert "alice moves the database" in card(ended)["status"]
    assert desk.daemon.applied() == []


async def post(desk: Desk, labels: dict[str, str]) -> int:
    """The same alert as the real one would notify of, were it not silenced and inhibited."""
    now = datetime.now(UTC).isoformat()
    body = json.dumps(webhook(fired(labels, startsAt=now))).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    return (await fetch(desk.doors, "POST", "/v1/alerts/alertmanager", body, headers)).status


async def test_dead_letters_of_http_go_to_kafka_and_every_yes_outlives_a_sigterm(
    desk: Desk, shop: Shop, kafka_server: KafkaServer
) -> None:
    await begin(desk, shop, kafka_server)
    await until(desk.ready, 60, "the brokers to be read")
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    answer = await fetch(desk.doors, "POST", "/v1/alerts/alertmanager", b"nonsense", headers)
    assert answer.status == 400
    (letter,) = await read_all(kafka_server.bootstrap, f"{shop.namespace}.dead", 1)
    assert letter.value == b"nonsense"
    assert dict(letter.headers)["handrail.topic"] == b"http:/v1/alerts/alertmanager"
    assert (await fetch(f"http://127.0.0.1:{desk.daemon.port}", "POST", "/v1/logs", b"", headers)).status == 404

    yes: list[str] = []

    async def flood(sender: int) -> None:
        for number in range(10_000):
            name = f"d-{sender}-{number}"
            labels = {"alertname": NAME, "namespace": shop.namespace, "deployment": name}
            try:
                if await post(desk, labels) == 200:
                    yes.append(name)
            except OSError:
                return

    senders = [asyncio.create_task(flood(sender)) for sender in range(6)]
    await until(lambda: len(yes) >= 30, 60, "thirty alerts to be taken")
    assert await desk.daemon.stop() == 0
    await asyncio.gather(*senders, return_exceptions=True)
    await desk.daemon.start()
    rows = await desk.daemon.cli("incidents", "list", "--limit", "1000", "--json")
    lost = [name for name in yes if f'/{name}"' not in rows]
    assert lost == []
