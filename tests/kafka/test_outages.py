"""Brokers that stop, stall or hold what can't be read: the intake survives, says so, and loses nothing."""

from __future__ import annotations

import asyncio
import signal
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.record.util import calc_crc32c
from confluent_kafka import Producer

from handrail.adapters.kafka import intake as intake_module
from handrail.adapters.kafka import options, session, signs
from handrail.model.config import KafkaConfig
from tests.kafka.support import (
    Taker,
    config,
    end_within,
    fresh,
    intake,
    make_intake_topics,
    running,
    send,
    until,
)
from tests.servers.fixtures import running as serving
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server

Outage = Callable[[KafkaServer], AbstractAsyncContextManager[None]]


@pytest.fixture(scope="module")
def own_server() -> Iterator[KafkaServer]:
    """A broker that these tests may stop and start."""
    with serving(lambda: KafkaServer().start()) as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes half a minute in production takes seconds here."""
    monkeypatch.setattr(signs, "ASK_SECONDS", 1.0)
    monkeypatch.setattr(signs, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(session, "ASIDE_SECONDS", 1.0)


@asynccontextmanager
async def stopped(server: KafkaServer) -> AsyncIterator[None]:
    """Down for as long as the block lasts, and up again whatever happens in it."""
    await asyncio.to_thread(server.stop)
    try:
        yield
    finally:
        await asyncio.to_thread(server.start)


@asynccontextmanager
async def frozen(server: KafkaServer) -> AsyncIterator[None]:
    """Connections are accepted and nothing answers: a hung broker, or a network that swallows everything."""
    server.process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send(signal.SIGCONT)


async def test_after_a_stop_and_a_start_of_the_broker_nothing_is_lost_or_skipped(own_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(own_server.bootstrap, topic, partitions=2)
    one = intake(config(own_server.bootstrap, topic), taker)
    before, after = [b"before-%d" % n for n in range(20)], [b"after-%d" % n for n in range(20)]
    async with running(one):
        await send(own_server.bootstrap, topic, before)
        await until(lambda: set(taker.values) == set(before))
        async with stopped(own_server):
            await until(lambda: one.pulse.last_error, "the silence is said")
        await send(own_server.bootstrap, topic, after)
        await until(lambda: set(taker.values) == set(before) | set(after))
        await until(lambda: not one.pulse.last_error)


async def test_a_broker_that_is_away_at_the_start_is_waited_for(own_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(own_server.bootstrap, topic)
    await send(own_server.bootstrap, topic, [b"one"])
    one = intake(config(own_server.bootstrap, topic), taker)
    down = AsyncExitStack()
    async with down:
        await down.enter_async_context(stopped(own_server))
        async with running(one):
            await until(lambda: one.pulse.last_error)
            assert one.pulse.last_poll is None
            await down.aclose()
            await until(lambda: taker.values == [b"one"])


@pytest.mark.parametrize("outage", [stopped, frozen], ids=["stopped", "frozen"])
async def test_a_cancelled_intake_ends_within_three_seconds_whatever_the_broker_does(
    own_server: KafkaServer, outage: Outage
) -> None:
    """`running` checks that neither a task nor a complaint of the event loop is left."""
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(own_server.bootstrap, topic)
    one = intake(config(own_server.bootstrap, topic), taker)
    async with running(one) as tasks:
        await until(lambda: one.pulse.last_poll)
        async with outage(own_server):
            await until(lambda: one.pulse.last_error)
            tasks[0].cancel()
            await end_within(3.0, tasks)
            assert tasks[0].cancelled()


async def test_a_cancelled_intake_ends_within_three_seconds_while_it_still_joins() -> None:
    """Somebody accepts the connection and says nothing: as behind a broken load balancer."""
    silent = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    one = intake(config(f"127.0.0.1:{silent.sockets[0].getsockname()[1]}", fresh("alerts")), Taker())
    async with silent, running(one) as tasks:
        await asyncio.sleep(0.5)
        tasks[0].cancel()
        await end_within(3.0, tasks)
        assert tasks[0].cancelled()


@pytest.mark.parametrize("outage", [stopped, frozen], ids=["stopped", "frozen"])
async def test_a_session_in_which_nothing_answers_any_more_is_given_up(
    own_server: KafkaServer, monkeypatch: pytest.MonkeyPatch, outage: Outage
) -> None:
    """A new one reads addresses and secrets anew; aiokafka alone would ask the old ones for ever."""
    monkeypatch.setattr(signs, "SILENT_SECONDS", 3.0)
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(own_server.bootstrap, topic)
    one = intake(config(own_server.bootstrap, topic), taker)
    sessions: list[str] = []

    def counted(given: KafkaConfig) -> dict[str, Any]:
        sessions.append(given.group)
        return options(given)

    monkeypatch.setattr(intake_module, "options", counted)
    async with running(one):
        await until(lambda: one.pulse.last_poll)
        async with outage(own_server):
            await until(lambda: len(sessions) > 1, "another session is tried")
        await send(own_server.bootstrap, topic, [b"one"])
        await until(lambda: taker.values == [b"one"])
        await until(lambda: not one.pulse.last_error)


async def test_a_partition_that_cannot_be_read_is_set_aside_and_costs_the_others_nothing(
    own_server: KafkaServer,
) -> None:
    """What lies before the bad record is still taken; nothing behind it is skipped; and it is tried again."""
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(own_server.bootstrap, topic, partitions=2)
    await send(own_server.bootstrap, topic, [b"good-1", b"good-2"], partition=0)
    await send_unreadable(own_server.bootstrap, topic, 0)
    await send(own_server.bootstrap, topic, [b"behind"], partition=0)
    one = intake(config(own_server.bootstrap, topic), taker)
    async with running(one):
        await until(lambda: f"{topic}/0" in one.pulse.set_aside)
        assert "can't be read from offset 2 on" in one.pulse.set_aside[f"{topic}/0"]
        await until(lambda: "not UTF-8" in one.pulse.last_error)
        await send(own_server.bootstrap, topic, [b"other-1", b"other-2"], partition=1)
        await until(lambda: len(taker.values) == 4)
        await until(lambda: f"{topic}/0" not in one.pulse.set_aside, "it is tried again")
        await until(lambda: f"{topic}/0" in one.pulse.set_aside, "and set aside again")
        assert one.pulse.lag[f"{topic}/0"] == 2
    assert sorted(value or b"" for value in taker.values) == [b"good-1", b"good-2", b"other-1", b"other-2"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
async def test_compressed_records_are_read_or_the_missing_library_is_named(own_server: KafkaServer, codec: str) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(own_server.bootstrap, topic)
    await asyncio.to_thread(send_compressed, own_server.bootstrap, topic, codec)
    one = intake(config(own_server.bootstrap, topic), taker)
    async with running(one):
        if codec == "gzip" or find_spec("cramjam"):
            await until(lambda: len(taker.values) == 50)
        else:
            await until(lambda: "cramjam" in one.pulse.last_error)
            assert taker.values == []


async def test_offsets_that_the_broker_no_longer_has_are_passed_over(own_server: KafkaServer) -> None:
    """Retention was shorter than the outage: what is left is taken."""
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(own_server.bootstrap, topic)
    settings = config(own_server.bootstrap, topic)
    await send(own_server.bootstrap, topic, [b"0"])
    async with running(intake(settings, taker)):
        await until(lambda: taker.values == [b"0"])
    await send(own_server.bootstrap, topic, [b"%d" % n for n in range(1, 10)])
    admin = AIOKafkaAdminClient(bootstrap_servers=own_server.bootstrap)
    await admin.start()
    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=5)})
    await admin.close()
    async with running(intake(settings, taker)):
        await until(lambda: taker.values == [b"0", *(b"%d" % n for n in range(5, 10))])


def send_compressed(bootstrap: str, topic: str, codec: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 100})
    for _ in range(50):
        producer.produce(topic, b"the same again and again")
    producer.flush(20)


async def send_unreadable(bootstrap: str, topic: str, partition: int) -> None:
    """A record that brokers accept and no Python client can read: its header's name is not UTF-8."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        batch: Any = producer.create_batch()
        batch.append(key=None, value=b"poison", timestamp=None, headers=[("NAME", b"x")])
        batch.close()
        raw = bytearray(bytes(batch._build()).replace(b"NAME", b"\xff\xfe\xff\xfe"))
        raw[17:21] = struct.pack(">I", calc_crc32c(bytes(raw[21:])))
        batch._build = lambda: raw
        await (await producer.send_batch(batch, topic, partition=partition))
    finally:
        await producer.stop()
