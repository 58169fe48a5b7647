"""What is taken is taken once it is durable, and not before: against a real broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from handrail.decode.parts import MAX_ALERTS
from handrail.model.errors import Transient, Undecodable
from handrail.model.reason import Reason
from handrail.model.record import Record, Undecoded
from tests.decode.records import fired, webhook
from tests.kafka.room import an_alert, room
from tests.kafka.support import (
    Taker,
    committed,
    config,
    fresh,
    intake,
    make_intake_topics,
    make_topics,
    read_all,
    running,
    send,
    until,
    until_committed,
)
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server


async def test_a_record_is_taken_with_its_bytes_headers_and_time_and_then_committed(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    headers = [("trace", b"\x00\xff"), ("none", None)]
    await send(kafka_server.bootstrap, topic, [b"\x00one", None], headers=headers, timestamp_ms=1_700_000_000_000)
    async with running(intake(settings, taker)):
        await until(lambda: len(taker.records) == 2)
        await until_committed(kafka_server.bootstrap, settings.group, topic, 2)
    first, tombstone = taker.records
    assert (first.topic, first.partition, first.offset, first.value) == (topic, 0, 0, b"\x00one")
    assert first.headers == (("trace", b"\x00\xff"), ("none", b""))
    assert first.at.isoformat() == "2023-11-14T22:13:20+00:00"
    assert tombstone.value is None


async def test_a_time_beyond_every_calendar_does_not_stop_the_intake(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_topics(kafka_server.bootstrap, f"{topic}.dead")
    any_time = {"message.timestamp.after.max.ms": str(2**63 - 1)}  # what brokers before 4.0 do by default
    await make_topics(kafka_server.bootstrap, topic, settings=any_time)
    await send(kafka_server.bootstrap, topic, [b"late"], timestamp_ms=2**62)
    async with running(intake(config(kafka_server.bootstrap, topic), taker)):
        await until(lambda: taker.records)
    assert taker.records[0].at.year == 9999


async def test_nothing_is_committed_before_taking_has_returned(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    await send(kafka_server.bootstrap, topic, [b"one"])

    def dies(_records: Sequence[Record]) -> None:
        raise ZeroDivisionError("as if the process had been killed here")

    taker.before = dies
    async with running(intake(settings, taker)) as tasks:
        await asyncio.wait(tasks)
        assert isinstance(tasks[0].exception(), ZeroDivisionError)
    assert await committed(kafka_server.bootstrap, settings.group, topic) is None
    taker.before = lambda records: None
    async with running(intake(settings, taker)):
        await until(lambda: taker.values == [b"one"])


async def test_while_the_store_is_away_intake_waits_and_loses_nothing(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=3)
    settings = config(kafka_server.bootstrap, topic)
    away = True

    def refuse(_records: Sequence[Record]) -> None:
        if away:
            raise Transient("disk full", retry_after=0.5)

    taker.before = refuse
    one = intake(settings, taker)
    await send(kafka_server.bootstrap, topic, [b"0", b"1", b"2"])
    async with running(one):
        await until(lambda: one.pulse.paused)
        assert one.pulse.waits_for == "disk full"
        await send(kafka_server.bootstrap, topic, [b"%d" % n for n in range(3, 40)])
        await until(lambda: sum(one.pulse.lag.values()) == 40, "the lag counts what is in hand and what comes on top")
        polled = one.pulse.last_poll
        await until(lambda: one.pulse.last_poll != polled, "the brokers are asked for a sign of life meanwhile")
        away = False
        await until(lambda: len(taker.records) == 40)
        await until(lambda: not one.pulse.paused and sum(one.pulse.lag.values()) == 0)
    assert sorted(taker.values, key=lambda value: int(value or b"")) == [b"%d" % n for n in range(40)]


async def test_a_rebalance_during_the_wait_loses_nothing(kafka_server: KafkaServer) -> None:
    topic, first, second = fresh("alerts"), Taker(), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=4)
    settings = config(kafka_server.bootstrap, topic)
    away = True

    def refuse(_records: Sequence[Record]) -> None:
        if away:
            raise Transient("the store is away", retry_after=0.3)

    first.before = second.before = refuse
    a, b = intake(settings, first), intake(settings, second)
    for partition in range(4):
        await send(kafka_server.bootstrap, topic, [b"%d-%d" % (partition, n) for n in range(5)], partition=partition)
    everything = {b"%d-%d" % (p, n) for p in range(4) for n in range(5)} | {b"%d-late" % p for p in range(4)}
    async with running(a) as tasks:
        await until(lambda: a.pulse.paused)
        tasks.append(asyncio.create_task(b.run()))
        await until(lambda: b.pulse.paused, "the second member has its share")
        for partition in range(4):
            await send(kafka_server.bootstrap, topic, [b"%d-late" % partition], partition=partition)
        away = False
        await until(lambda: set(first.values) | set(second.values) == everything)
        tasks[1].cancel()
        await until(lambda: sum(a.pulse.lag.values()) == 0 and len(a.pulse.lag) == 4, "the first has all of it again")


async def test_two_members_take_each_record_at_least_once_across_a_rebalance(kafka_server: KafkaServer) -> None:
    topic, first, second = fresh("alerts"), Taker(), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=4)
    settings = config(kafka_server.bootstrap, topic)
    sent = [b"%d" % n for n in range(300)]
    a, b = intake(settings, first), intake(settings, second)
    async with running(a) as tasks:
        await until(lambda: a.pulse.last_poll)
        sending = asyncio.create_task(send(kafka_server.bootstrap, topic, sent[:200]))
        await until(lambda: first.records)
        tasks.append(asyncio.create_task(b.run()))
        await sending
        await until(lambda: len(a.pulse.lag) == 2 and len(b.pulse.lag) == 2, "two partitions each")
        await send(kafka_server.bootstrap, topic, sent[200:])
        await until(lambda: set(first.values) | set(second.values) == set(sent))
        assert second.records


async def test_a_dead_letter_keeps_the_bytes_says_why_and_goes_before_the_commit(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic, dead_letters=fresh("dead"))
    taker.letters = lambda records: [
        (record, Undecoded(reason=Reason.MALFORMED, detail="no JSON \ud800 \u20ac", index=2)) for record in records
    ]
    headers = [("a", b"\xff"), ("handrail.reason", b"forged")]
    await make_topics(kafka_server.bootstrap, settings.dead_letter_topic)
    at = {"timestamp_ms": 1_700_000_000_123}
    await send(kafka_server.bootstrap, topic, [b"\x80garbage"], headers=headers, key=b"key", **at)
    async with running(intake(settings, taker)):
        await until_committed(kafka_server.bootstrap, settings.group, topic, 1)
        (letter,) = await read_all(kafka_server.bootstrap, settings.dead_letter_topic, 1)
    assert (letter.key, letter.value) == (b"key", b"\x80garbage")
    assert letter.headers == (
        ("a", b"\xff"),
        ("handrail.reason", b"MALFORMED"),
        ("handrail.detail", b"no JSON \\ud800 \xe2\x82\xac"),
        ("handrail.topic", topic.encode()),
        ("handrail.partition", b"0"),
        ("handrail.offset", b"0"),
        ("handrail.part", b"2"),
        ("handrail.at", b"1700000000123"),
    )


async def test_a_dead_letter_that_no_longer_fits_says_where_the_record_lies(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    taker.letters = lambda records: [(record, Undecoded(reason=Reason.TOO_LARGE, detail="")) for record in records]
    largest = b"x" * (1_048_588 - 100)
    producer = AIOKafkaProducer(bootstrap_servers=kafka_server.bootstrap, max_request_size=2**21)
    await producer.start()
    await producer.send_and_wait(topic, largest)
    await producer.stop()
    async with running(intake(settings, taker)):
        await until_committed(kafka_server.bootstrap, settings.group, topic, 1)
        (letter,) = await read_all(kafka_server.bootstrap, settings.dead_letter_topic, 1)
    assert letter.value == b""
    assert dict(letter.headers)["handrail.offset"] == b"0"
    assert dict(letter.headers)["handrail.bytes_left_out"] == str(len(largest)).encode()


async def test_a_record_that_breaks_the_taking_is_buried_alone(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)

    def breaks(records: Sequence[Record]) -> None:
        if any(record.value == b"poison" for record in records):
            raise Undecodable("TOO_LARGE", "it breaks the decoder")

    taker.before = breaks
    await send(kafka_server.bootstrap, topic, [b"0", b"1", b"poison", b"3", b"4"])
    async with running(intake(settings, taker)):
        await until_committed(kafka_server.bootstrap, settings.group, topic, 5)
        (letter,) = await read_all(kafka_server.bootstrap, settings.dead_letter_topic, 1)
    assert taker.values == [b"0", b"1", b"3", b"4"]
    assert (letter.value, dict(letter.headers)["handrail.reason"]) == (b"poison", b"TOO_LARGE")


async def test_a_record_of_too_many_alerts_is_one_letter_that_says_so_and_its_neighbours_are_taken(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    small = {"status": "firing", "labels": {"alertname": "A", "namespace": "shop", "deployment": "not-taken"}}
    many = json.dumps(webhook(*[small] * (MAX_ALERTS + 1)), separators=(",", ":")).encode()
    bad = json.dumps(webhook(fired({"alertname": "A", "namespace": "shop", "deployment": "b"}), 7)).encode()
    await send(kafka_server.bootstrap, topic, [an_alert("a"), many, bad])
    async with room(tmp_path, settings) as here, running(here.intake()):
        await until_committed(kafka_server.bootstrap, settings.group, topic, 3)
        letters = await read_all(kafka_server.bootstrap, settings.dead_letter_topic, 2)
        assert await here.workloads() == ["a", "b"]
    said = {dict(one.headers)["handrail.offset"]: dict(one.headers)["handrail.detail"].decode() for one in letters}
    assert f"more than {MAX_ALERTS} alerts at once: nothing of it was taken" in said[b"1"]
    assert said[b"2"].endswith("; taken of it: 1 alert")


async def test_the_lag_is_what_is_not_durable_yet(kafka_server: KafkaServer) -> None:
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=2)
    one = intake(config(kafka_server.bootstrap, topic), taker)
    await send(kafka_server.bootstrap, topic, [b"x"] * 7, partition=1)
    async with running(one):
        await until(lambda: one.pulse.lag == {f"{topic}/0": 0, f"{topic}/1": 0} and len(taker.records) == 7)
    assert one.pulse.lag == {}
