"""The main path from end to end on real servers: SDK, Collector, Kafka, the daemon, the API server, Slack."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages import FakeMessages
from tests.fakes.slack import FakeSlack
from tests.path.stage import BAD, CHANNEL, GOOD, ONCALL, Daemon, Shop, send_alert, until
from tests.servers.collector import OtelCollector
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server

CRASHING_SECONDS = 60


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        fake.add_channel(CHANNEL, "incidents")
        yield fake
        assert not fake.warnings


@pytest.fixture
def shop(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Shop:
    number = abs(hash(request.node.name)) % 100_000
    return Shop(control_plane, f"shop-{number}")


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


def policy(namespace: str) -> dict[str, Any]:
    return {
        "version": 1,
        "rules": [{"namespaces": [namespace], "steps": {"rollout_undo": "ask", "rollout_restart": "ask"}}],
        "approvers": {"slack_users": [ONCALL]},
        "operators": {"slack_users": [ONCALL]},
    }


async def break_it(shop: Shop, seconds: float = CRASHING_SECONDS) -> None:
    """A healthy Deployment, then a bad image, then pods that flap between Running and CrashLoopBackOff."""
    await asyncio.to_thread(shop.open)
    await until(shop.ready, 60, "three ready pods")
    await asyncio.to_thread(shop.roll_out, BAD)
    await until(shop.crashing, 60, "crash-looping pods")
    await asyncio.sleep(seconds)


def cards(slack: FakeSlack) -> list[Any]:
    """Messages of the channel that are no replies; one that has replies names itself as its thread."""
    return [message for message in slack.messages(CHANNEL) if message.thread_ts in (None, message.ts)]


def has_buttons(message: Any) -> bool:
    return '"approve"' in json.dumps(message.blocks)


async def card_of(slack: FakeSlack) -> Any:
    """The one message in the channel, once it has buttons."""

    def asked() -> Any:
        return next((message for message in cards(slack) if has_buttons(message)), None)

    return await slack.wait_for(asked, 60)


async def test_an_alert_becomes_an_approved_undo_that_heals(
    daemon: Daemon, shop: Shop, slack: FakeSlack, otel_collector: Callable[..., OtelCollector]
) -> None:
    collector = await asyncio.to_thread(otel_collector, topics={"logs": shop.namespace})
    daemon.install(policy(shop.namespace))
    await daemon.start()
    await break_it(shop)
    await asyncio.to_thread(send_alert, collector.grpc, shop)

    card = await card_of(slack)
    assert daemon.applied() == [], "nothing is written before somebody has approved"
    assert shop.image() == BAD
    assert await slack.click(card.ts, "approve", user=ONCALL)

    shown = await daemon.until_state("RESOLVED", 120)
    assert shop.image() == GOOD
    await until(shop.ready, 30, "three ready pods of the old revision")
    assert not [pod for pod in shop.pods() if "crash" in pod["spec"]["containers"][0]["image"]]

    applied = daemon.applied()
    assert [(w.verb, w.resource, w.name) for w in applied] == [("patch", "deployments", "checkout")]
    assert "handrail" in applied[0].uri, "its field manager is named"

    kinds = [entry["kind"] for entry in shown["journal"]]
    assert kinds.index("approved") < kinds.index("intent") < kinds.index("outcome") < kinds.index("verified")
    await daemon.cli("audit", "verify")
    report = await daemon.cli("incidents", "report", shown["incident"])
    assert ONCALL in report
    assert [message.ts for message in cards(slack)] == [card.ts], "one message, updated in place"
    assert not has_buttons(cards(slack)[0]), "no button is left on an answered card"
    thread = " ".join(message.everything() for message in slack.thread(card.ts))
    assert "approved" in thread.lower()
    assert await daemon.stop() == 0


async def test_a_spec_changed_before_the_click_voids_writes_nothing_and_asks_anew(
    daemon: Daemon, shop: Shop, slack: FakeSlack, otel_collector: Callable[..., OtelCollector]
) -> None:
    collector = await asyncio.to_thread(otel_collector, topics={"logs": shop.namespace})
    daemon.install(policy(shop.namespace))
    await daemon.start()
    await break_it(shop)
    await asyncio.to_thread(send_alert, collector.grpc, shop)

    card = await card_of(slack)
    first = json.dumps(card.blocks)
    await asyncio.to_thread(shop.change_spec)
    assert await slack.click(card.ts, "approve", user=ONCALL)

    def asked_anew() -> bool:
        (now,) = cards(slack)
        return has_buttons(now) and json.dumps(now.blocks) != first

    await until(asked_anew, 60, "a new question")
    shown = await daemon.until_state("asking", 30)
    assert "voided" in [told["kind"] for told in shown["story"]]
    assert daemon.applied() == []
    assert shop.image() == BAD
    assert await daemon.stop() == 0


async def test_with_a_model_and_a_kill_right_after_approval_there_is_one_undo_and_one_request(
    daemon: Daemon, shop: Shop, slack: FakeSlack, otel_collector: Callable[..., OtelCollector], tmp_path: Path
) -> None:
    async with FakeMessages() as model:
        (tmp_path / "key").write_text(model.api_key)
        model.answer_with(_plan)
        daemon.settings["planner"] = {
            "mode": "model",
            "model": {"key": {"file": str(tmp_path / "key")}, "base_url": model.url},
        }
        collector = await asyncio.to_thread(otel_collector, topics={"logs": shop.namespace})
        daemon.install(policy(shop.namespace))
        await daemon.start()
        await break_it(shop)
        await asyncio.to_thread(send_alert, collector.grpc, shop)

        card = await card_of(slack)
        assert await slack.click(card.ts, "approve", user=ONCALL)
        await daemon.until_journalled("approved", 10)
        await daemon.kill()
        await daemon.start()

        await daemon.until_state("RESOLVED", 120)
        assert shop.image() == GOOD
        assert [(w.verb, w.resource, w.name) for w in daemon.applied()] == [("patch", "deployments", "checkout")]
        assert len(model.requests) == 1
        assert await daemon.stop() == 0


def _plan(request: Any) -> dict[str, Any]:
    """What a sensible model answers: the undo that the menu offers, for the cause that the facts show."""
    documents = [turn["text"].partition("\n") for turn in request.body["messages"][0]["content"]]
    told = {name: json.loads(text) for name, _, text in documents}
    undo = next(option for option in told["MENU"]["options"] if "undo" in option["does"])
    proofs = [piece["id"] for piece in told["EVIDENCE"] if piece["trust"] == "api"]
    return {
        "diagnosis": [
            {"statement": "The newest revision crashes at start.", "confidence": "high", "evidence": proofs[:2]}
        ],
        "can_plan": True,
        "why_not": "",
        "choices": [{"option": undo["id"], "numbers": []}],
        "expected_effect": "All three pods are ready again.",
        "would_disprove": "Pods of the old revision crash as well.",
    }
