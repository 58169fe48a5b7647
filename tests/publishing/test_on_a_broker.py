"""Events on a real broker: a kill between sending and the cursor repeats and never skips; they are never input."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from handrail.adapters.kafka import EventTopic
from handrail.adapters.publishing import Publisher
from handrail.adapters.store import Store
from handrail.core.publishing import Message
from handrail.model.config import KafkaConfig, TopicConfig
from handrail.model.errors import Transient
from handrail.model.incident import Incident, State
from handrail.reconciler import contained
from tests.factories import CLUSTER, FakeTime, a_target
from tests.kafka.room import an_alert, room
from tests.kafka.support import (
    config,
    fresh,
    make_intake_topics,
    make_topics,
    read_all,
    running,
    send,
    until_committed,
)
from tests.servers.kafka import KafkaServer
from tests.store.driving import walk

pytestmark = pytest.mark.server
ROOT = Path(__file__).parents[2]
WORKLOADS = ("a", "b", "c")


async def stories(url: str) -> list[Incident]:
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    found = [await walk(store, State.UNDONE, name, a_target(name, f"uid-{name}")) for name in WORKLOADS]
    await store.close()
    return found


async def life(*arguments: object) -> tuple[int | None, bytes]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.publishing.lives", *map(str, arguments), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return process.returncode, out


def by_incident(messages: Iterable[Any]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for message in messages:
        found[message.key.decode()].append(int(dict(message.headers)["handrail.seq"]))
    return found


async def test_killed_between_sending_and_the_cursor_it_repeats_and_never_misses(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    topic, url = fresh("events"), f"sqlite:///{tmp_path / 'handrail.db'}"
    await make_topics(kafka_server.bootstrap, topic, partitions=3)
    incidents = await stories(url)
    for killed_at in (1, 2, 4):
        code, out = await life(url, kafka_server.bootstrap, topic, killed_at)
        assert (code, out) == (-signal.SIGKILL, b"")
    code, out = await life(url, kafka_server.bootstrap, topic, 0)
    assert (code, out) == (0, b"done\n")
    assert await life(url, kafka_server.bootstrap, topic, 0) == (0, b"done\n")
    written = sum(await ends_of(kafka_server.bootstrap, topic, 3))
    found = by_incident(await read_all(kafka_server.bootstrap, topic, written))
    for incident in incidents:
        seqs = found[incident.id]
        assert sorted(set(seqs)) == list(range(1, incident.seq + 1))
        for place, seq in enumerate(seqs):
            assert set(range(1, seq)) <= set(seqs[:place]), "in order, so that the highest seq tells what is a repeat"
    assert written > sum(incident.seq for incident in incidents), "something was repeated"


async def ends_of(bootstrap: str, topic: str, partitions: int) -> list[int]:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        found = await consumer.end_offsets([TopicPartition(topic, number) for number in range(partitions)])
    finally:
        await consumer.stop()
    return list(found.values())


async def test_our_own_events_on_a_topic_of_alerts_open_nothing_and_are_no_dead_letters(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    """keep #5111, with a mirror that brings the events back, with its headers and without."""
    alerts, events = fresh("alerts"), fresh("events")
    await make_intake_topics(kafka_server.bootstrap, alerts)
    await make_topics(kafka_server.bootstrap, events)
    settings = config(kafka_server.bootstrap, alerts, events_topic=events)
    async with room(tmp_path, settings) as here, running(here.intake()):
        await send(kafka_server.bootstrap, alerts, [an_alert("a")])
        await until_committed(kafka_server.bootstrap, settings.group, alerts, 1)
        topic = EventTopic(settings)
        await Publisher("prod", here.store.outbox(events), topic, contained, time.monotonic).publish_all()
        await topic.close()
        (message,) = await read_all(kafka_server.bootstrap, events, 1)
        await send(kafka_server.bootstrap, alerts, [message.value], headers=list(message.headers))
        await send(kafka_server.bootstrap, alerts, [message.value])
        await until_committed(kafka_server.bootstrap, settings.group, alerts, 3)
        (row,) = await here.rows()
        assert row.head == 1
    assert await ends_of(kafka_server.bootstrap, settings.dead_letter_topic, 1) == [0]


async def test_after_an_event_that_is_too_large_for_the_topic_it_goes_on(
    kafka_server: KafkaServer,
) -> None:
    small = fresh("events")
    await make_topics(kafka_server.bootstrap, small, settings={"max.message.bytes": "2000"})
    topic = EventTopic(config(kafka_server.bootstrap, fresh("alerts"), events_topic=small))
    assert await topic.send(Message(b"k", b"1", []))
    assert not await topic.send(Message(b"k", b"x" * 5_000, []))
    assert await topic.send(Message(b"k", b"2", [])), "it goes on, with a new connection"
    await topic.close()
    assert [record.value for record in await read_all(kafka_server.bootstrap, small, 2)] == [b"1", b"2"]


async def test_brokers_that_are_away_are_said_in_one_sentence() -> None:
    settings = KafkaConfig(bootstrap=("127.0.0.1:1",), topics=(TopicConfig(name="a"),), events_topic="events")
    topic = EventTopic(settings)
    with pytest.raises(Transient, match="events can't be published: "):
        await topic.send(Message(b"k", b"1", []))
    await topic.close()
