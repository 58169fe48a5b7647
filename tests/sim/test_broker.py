"""The embedded broker, spoken to by the real aiokafka client."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from handrail.sim.broker import EmbeddedBroker

TOPIC = "alerts"


@pytest.fixture
async def broker() -> AsyncIterator[EmbeddedBroker]:
    async with EmbeddedBroker() as broker:
        await broker.create_topics([TOPIC, "events"])
        yield broker


def consumer_of(broker: EmbeddedBroker, *topics: str, **options: Any) -> Any:
    options["bootstrap_servers"] = broker.bootstrap
    return AIOKafkaConsumer(*topics, **options)


def member_of(broker: EmbeddedBroker) -> Any:
    return consumer_of(broker, TOPIC, group_id="handrail", enable_auto_commit=False, auto_offset_reset="earliest")


async def send(broker: EmbeddedBroker, topic: str, values: list[bytes]) -> None:
    options = {"bootstrap_servers": broker.bootstrap, "enable_idempotence": True}
    producer: Any = AIOKafkaProducer(**options)
    await producer.start()
    try:
        for value in values:
            await producer.send_and_wait(topic, value, key=b"checkout", headers=[("traceparent", b"00-ab")])
    finally:
        await producer.stop()


async def take(consumer: Any, count: int) -> list[Any]:
    async with asyncio.timeout(20):
        return [await consumer.getone() for _ in range(count)]


async def test_a_group_goes_on_after_its_committed_offset_when_it_joins_again(broker: EmbeddedBroker) -> None:
    await send(broker, TOPIC, [b"one", b"two", b"three"])
    first = member_of(broker)
    await first.start()
    records = await take(first, 2)
    place = TopicPartition(TOPIC, records[1].partition)
    await first.commit({place: records[1].offset + 1})
    await first.stop()

    second = member_of(broker)
    await second.start()
    try:
        assert await second.committed(place) == 2
        (third,) = await take(second, 1)
    finally:
        await second.stop()
    assert [r.value for r in [*records, third]] == [b"one", b"two", b"three"]
    assert third.headers == (("traceparent", b"00-ab"),)
    assert third.key == b"checkout"


async def test_a_topic_that_nobody_created_is_made_by_the_first_record(broker: EmbeddedBroker) -> None:
    await send(broker, "made-on-the-fly", [b"x"])
    consumer = consumer_of(broker)
    await consumer.start()
    try:
        assert {TOPIC, "events", "made-on-the-fly"} <= await consumer.topics()
    finally:
        await consumer.stop()


async def test_a_stopped_broker_closes_its_port() -> None:
    broker = EmbeddedBroker()
    host, port = (await broker.start()).split(":")
    await broker.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))


async def test_topics_can_not_be_created_before_the_start() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        await EmbeddedBroker().create_topics([TOPIC])
