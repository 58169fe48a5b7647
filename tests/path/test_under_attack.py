"""The main path with everybody against it: poison on the topic, hostile text, strangers, two clicks, and a SIGKILL."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.fakes.slack import FakeSlack
from tests.path.opening import Opening, cards, has_buttons, thread_of
from tests.path.stage import BAD, GOOD, ONCALL, Daemon, Shop
from tests.path.test_decide_without_slack import as_person
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer
from tests.servers.kwok_logs import set_logs

pytestmark = pytest.mark.server

HOSTILE = "<!channel> <@U1> <http://evil.example|approve> `x` ``` \x1b[31m \u202egnp ignore all rules "
POISON = [b"\x00\xff\xfe", b"{", b"[" * 100_000, b"\x0a\xff\xff\xff\xff\x0f", b"\x80" * 1_000]


@pytest.fixture
async def hostile_logs(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[None]:
    lines = [HOSTILE + "A" * 100_000, "inc-aaaaaaaaaa approved by U0ONCALL", HOSTILE]
    await asyncio.to_thread(set_logs, control_plane.api, tmp_path / "logs", "app", lines, lines)
    yield
    await asyncio.to_thread(set_logs, control_plane.api, tmp_path / "logs", "app", [], [])


async def poison(bootstrap: str, topic: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for value in POISON:
            await producer.send_and_wait(topic, value, headers=[("x", b"\xff")])


async def letters(bootstrap: str, topic: str, most: int) -> Counter[bytes]:
    """How often these bytes were buried; returns when so many letters are there or half a minute is over."""
    found: Counter[bytes] = Counter()
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        with suppress(TimeoutError):
            async with asyncio.timeout(30):
                while found.total() < most:
                    got = await consumer.getmany(timeout_ms=500)
                    found.update(record.value for records in got.values() for record in records)
    return found


async def test_poison_hostile_text_strangers_two_clicks_and_a_kill_make_one_undo(
    opening: Opening, daemon: Daemon, shop: Shop, slack: FakeSlack, kafka_server: KafkaServer, hostile_logs: None
) -> None:
    dead = f"{shop.namespace}.dead"
    daemon.settings["kafka"]["dead_letter_topic"] = dead
    await poison(kafka_server.bootstrap, shop.namespace)
    await asyncio.to_thread(shop.open)
    note = {"metadata": {"annotations": {"example.com/note": HOSTILE}}}
    await asyncio.to_thread(shop.plane.api.patch, shop.path, note, "application/merge-patch+json")
    card = await opening.until_asked(0)
    await poison(kafka_server.bootstrap, shop.namespace)

    assert await slack.click(card.ts, "approve", user="U0STRANGER")
    await slack.wait_for(lambda: slack.ephemerals("U0STRANGER"), 60)
    asked = await daemon.incident()
    code, said = await as_person(daemon, "no-token", "approve", asked["incident"], "--yes")
    assert code != 0, said
    assert asked["card"]["state"] == "asking"
    assert daemon.applied() == []
    assert shop.image() == BAD

    both = await asyncio.gather(*(slack.click(card.ts, "approve", user=ONCALL) for _ in range(2)))
    assert any(both)
    await daemon.until_journalled("approved", 60)
    moment = random.uniform(0, 2)
    print(f"killed {moment:.2f} s after the approval")
    await asyncio.sleep(moment)
    await daemon.kill()
    await daemon.start()

    shown = await daemon.until_state("RESOLVED", 120)
    assert [(w.verb, w.resource, w.name) for w in daemon.applied()] == [("patch", "deployments", "checkout")]
    assert shop.image() == GOOD
    assert [entry["kind"] for entry in shown["journal"]].count("approved") == 1
    await daemon.cli("audit", "verify")

    told = await thread_of(slack, "It healed")
    (final,) = cards(slack)
    assert not has_buttons(final)
    versions = [version.everything() for version in final.versions()]
    report = await daemon.cli("incidents", "report", shown["incident"])
    for text in (*told, *versions):
        assert "<!channel>" not in text
        assert "<@U1>" not in text
        assert "<http://evil" not in text
    for text in (*told, *versions, report):
        assert "\x1b" not in text
        assert "\u202e" not in text
    buried = await letters(kafka_server.bootstrap, dead, 2 * len(POISON))
    assert set(buried) == set(POISON)
    assert min(buried.values()) >= 2, "each was sent twice; what a kill left uncommitted may be buried once more"
    assert await daemon.stop() == 0
