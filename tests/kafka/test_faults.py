"""What goes wrong between a sender and the store, on a real broker, with the real decoders and a real store."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from handrail.adapters.kafka import intake as intake_module
from handrail.adapters.kafka import session
from handrail.adapters.kafka.membership import Membership
from tests.kafka.room import AGE_MINUTES, Room, an_alert, room
from tests.kafka.support import (
    PATIENCE,
    Taker,
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
from tests.servers.fixtures import running as serving
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often partitions were given to somebody."""
    found: Counter[str] = Counter()
    joined = Membership.joined

    def counted(self: Membership, consumer: object) -> None:
        found["joins"] += 1
        joined(self, consumer)

    monkeypatch.setattr(Membership, "joined", counted)
    return found


async def until_workloads(here: Room, *names: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while await here.workloads() != sorted(names):
            await asyncio.sleep(0.1)


async def test_poison_and_tombstones_in_a_batch_cost_their_good_neighbours_nothing(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    values = [an_alert("a"), b"\xff\xfe poison", an_alert("b"), None, b"", b"[" * 100_000, an_alert("c")]
    await send(kafka_server.bootstrap, topic, values)
    async with room(tmp_path, settings) as here, running(here.intake()):
        await until_workloads(here, "a", "b", "c")
        await until_committed(kafka_server.bootstrap, settings.group, topic, len(values))
        letters = await read_all(kafka_server.bootstrap, settings.dead_letter_topic, 4)
    reasons = [(dict(letter.headers)["handrail.offset"], dict(letter.headers)["handrail.reason"]) for letter in letters]
    assert sorted(reasons) == [(b"1", b"MALFORMED"), (b"3", b"EMPTY"), (b"4", b"EMPTY"), (b"5", b"MALFORMED")]


async def test_the_same_record_again_from_one_producer_or_two_is_one_incident(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=2)
    settings = config(kafka_server.bootstrap, topic)
    alerts = [an_alert(f"w{number}") for number in range(5)]
    twice = [alert for alert in alerts for _ in range(2)]
    async with room(tmp_path, settings) as here, running(here.intake()):
        both = (send(kafka_server.bootstrap, topic, twice, partition=number) for number in range(2))
        await asyncio.gather(*both)
        for partition in range(2):
            await until_committed(kafka_server.bootstrap, settings.group, topic, 10, partition)
        assert await here.workloads() == [f"w{number}" for number in range(5)]
        journals = [await here.store.entries(row.id) for row in await here.rows()]
    kinds = Counter(entry.event.kind for entries in journals for entry in entries)
    assert kinds["opened"] == 5
    assert set(kinds) <= {"opened", "alert_attached"}


async def test_offsets_that_are_reset_to_the_beginning_bring_nothing_twice(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    await send(kafka_server.bootstrap, topic, [an_alert(f"w{number}") for number in range(5)])
    async with room(tmp_path, settings) as here:
        async with running(here.intake()):
            await until_committed(kafka_server.bootstrap, settings.group, topic, 5)
        before = {row.id: row.head for row in await here.rows()}
        again = settings.model_copy(update={"group": fresh("group")})
        async with running(here.intake(again)):
            await until_committed(kafka_server.bootstrap, again.group, topic, 5)
        assert {row.id: row.head for row in await here.rows()} == before
        assert len(before) == 5


async def test_old_alerts_of_a_topic_that_is_read_from_its_beginning_open_nothing(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    """A new database, or a new group: what waited for hours is recorded, what fires now is acted on."""
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    old = int((time.time() - (AGE_MINUTES + 1) * 60) * 1000)
    await send(kafka_server.bootstrap, topic, [an_alert(f"old{n}") for n in range(3)], timestamp_ms=old)
    await send(kafka_server.bootstrap, topic, [an_alert("now")])
    async with room(tmp_path, settings) as here, running(here.intake()):
        await until_committed(kafka_server.bootstrap, settings.group, topic, 4)
        assert await here.workloads() == ["now"]


async def test_a_topic_that_was_deleted_and_made_anew_loses_no_alert(kafka_server: KafkaServer, tmp_path: Path) -> None:
    """It counts from 0 again: what is at a known place is another record."""
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    async with room(tmp_path, settings) as here:
        async with running(here.intake()):
            await send(kafka_server.bootstrap, topic, [an_alert("a"), an_alert("b"), an_alert("c")])
            await until_workloads(here, "a", "b", "c")
        await delete_topic(kafka_server.bootstrap, topic)
        await make_topics(kafka_server.bootstrap, topic)
        await send(kafka_server.bootstrap, topic, [an_alert("d"), an_alert("e")])
        async with running(here.intake()):
            await until_workloads(here, "a", "b", "c", "d", "e")


async def test_a_topic_that_goes_under_a_running_intake_is_said_and_one_that_is_made_anew_loses_no_alert(
    own_server: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "METADATA_MS", 1_000)
    topic, bootstrap = fresh("alerts"), own_server.bootstrap
    await make_intake_topics(bootstrap, topic)
    settings = config(bootstrap, topic)
    async with room(tmp_path, settings) as here:
        one = here.intake()
        async with running(one):
            await send(bootstrap, topic, [an_alert("a"), an_alert("b")])
            await until_workloads(here, "a", "b")
            await delete_topic(bootstrap, topic)
            await until(lambda: f"topic {topic!r} does not exist" in one.pulse.last_error)
            await make_topics(bootstrap, topic)
            await send(bootstrap, topic, [an_alert("c")])
            await until_workloads(here, "a", "b", "c")
            await until(lambda: not one.pulse.last_error)


async def delete_topic(bootstrap: str, topic: str) -> None:
    """Returns once it is gone for everybody; topics that appear when asked for are not asked for."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([topic])
        async with asyncio.timeout(PATIENCE):
            while topic in await admin.list_topics():
                await asyncio.sleep(0.1)
    finally:
        await admin.close()


async def test_aborted_transactions_are_no_alerts(kafka_server: KafkaServer, tmp_path: Path) -> None:
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic)
    async with sender(kafka_server.bootstrap, transactional_id=fresh("sender")) as producer:
        for workload, commits in (("a", True), ("never", False), ("b", True), ("nor-this", False)):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, an_alert(workload))
            await (producer.commit_transaction() if commits else producer.abort_transaction())
    await send(kafka_server.bootstrap, topic, [an_alert("c")])
    async with room(tmp_path, settings) as here, running(here.intake()):
        await until_workloads(here, "a", "b", "c")
        await until_committed(kafka_server.bootstrap, settings.group, topic, 9)


async def test_what_an_open_transaction_holds_back_is_said_and_comes_when_it_ends(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    topic = fresh("alerts")
    await make_intake_topics(kafka_server.bootstrap, topic)
    async with room(tmp_path, config(kafka_server.bootstrap, topic)) as here:
        one = here.intake()
        async with running(one), sender(kafka_server.bootstrap, transactional_id=fresh("sender")) as producer:
            await producer.begin_transaction()
            await producer.send_and_wait(topic, an_alert("open"))
            await send(kafka_server.bootstrap, topic, [an_alert("behind-it")])
            await until(lambda: one.pulse.lag == {f"{topic}/0": 2}, "two are behind")
            assert await here.workloads() == []
            await producer.commit_transaction()
            await until_workloads(here, "behind-it", "open")
            await until(lambda: one.pulse.lag == {f"{topic}/0": 0}, "markers leave no lag")


@asynccontextmanager
async def sender(bootstrap: str, **settings: Any) -> AsyncIterator[Any]:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, **settings)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@pytest.fixture(scope="module")
def own_server() -> Iterator[KafkaServer]:
    """A broker that compacts at once, and makes no topic because somebody asked for it."""
    settings = {"log.cleaner.backoff.ms": "200", "auto.create.topics.enable": "false"}
    with serving(lambda: KafkaServer(settings=settings).start()) as server:
        yield server


async def test_holes_of_a_compacted_topic_are_no_loss_and_no_lag(own_server: KafkaServer, tmp_path: Path) -> None:
    topic, bootstrap = fresh("alerts"), own_server.bootstrap
    compact = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    await make_topics(bootstrap, topic, settings={**compact, "max.compaction.lag.ms": "100"})
    await make_topics(bootstrap, f"{topic}.dead")
    settings = config(bootstrap, topic)
    for key, workload in ((b"1", "gone"), (b"2", "kept"), (b"1", "gone-too"), (b"1", "newest"), (b"3", "end")):
        await send(bootstrap, topic, [an_alert(workload)], key=key)
        await asyncio.sleep(0.15)  # a segment of its own for each
    async with asyncio.timeout(60):
        while [record.offset for record in await read_all(bootstrap, topic, 3)] != [1, 3, 4]:
            await asyncio.sleep(0.5)
    async with room(tmp_path, settings) as here:
        one = here.intake()
        async with running(one):
            await until_workloads(here, "kept", "newest", "end")
            await until(lambda: one.pulse.lag == {f"{topic}/0": 0}, "nothing is behind")
            await until_committed(bootstrap, settings.group, topic, 5)


async def test_records_larger_than_what_is_fetched_or_read_stop_nothing(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    """Brokers send one record whole however large it is. More than 4 MiB is not read: it is buried by its place."""
    topic = fresh("alerts")
    await make_topics(kafka_server.bootstrap, topic, settings={"max.message.bytes": str(20 * 2**20)})
    await make_topics(kafka_server.bootstrap, f"{topic}.dead")
    settings = config(kafka_server.bootstrap, topic)
    large = an_alert("large", annotations={"description": "x" * 3 * 2**20})
    too_large = an_alert("too-large", annotations={"description": "x" * 12 * 2**20})
    async with sender(kafka_server.bootstrap, max_request_size=2**25) as producer:
        for value in (an_alert("a"), large, too_large, an_alert("b")):
            await producer.send_and_wait(topic, value)
    async with room(tmp_path, settings) as here, running(here.intake()):
        await until_workloads(here, "a", "b", "large")
        (letter,) = await read_all(kafka_server.bootstrap, settings.dead_letter_topic, 1)
    headers = dict(letter.headers)
    assert (headers["handrail.reason"], headers["handrail.offset"]) == (b"TOO_LARGE", b"2")
    assert (letter.value, headers["handrail.bytes_left_out"]) == (b"", str(len(too_large)).encode())


async def test_a_store_that_blocks_longer_than_the_poll_interval_costs_no_membership_and_takes_each_record_once(
    kafka_server: KafkaServer, joins: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "POLL_INTERVAL_MS", 2_000)
    monkeypatch.setattr(session, "SLOW_SECONDS", 0.2)
    topic, taker, released = fresh("alerts"), Taker(), asyncio.Event()
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=2)
    settings = config(kafka_server.bootstrap, topic)
    taker.meanwhile = released.wait
    one = intake(settings, taker)
    await send(kafka_server.bootstrap, topic, [b"0", b"1", b"2"])
    async with running(one):
        await until(lambda: one.pulse.waits_for == "the store is slow")
        begun = time.monotonic()
        await send(kafka_server.bootstrap, topic, [b"3", b"4"], partition=1)
        await until(lambda: (one.pulse.turned or 0.0) > begun + 5.0, "it is polled far beyond the interval")
        await until(lambda: sum(one.pulse.lag.values()) == 5, "what comes meanwhile is counted")
        assert (one.pulse.paused, one.pulse.last_error, joins["joins"]) == (True, "", 1)
        assert taker.records == []
        released.set()
        await until(lambda: not one.pulse.paused and sum(one.pulse.lag.values()) == 0)
    assert sorted(taker.values) == [b"%d" % n for n in range(5)]  # type: ignore[type-var]
    assert sum(len(call) for call in taker.calls) == 5
    assert joins["joins"] == 1


async def test_a_rebalance_in_the_middle_of_a_batch_opens_each_incident_once(
    kafka_server: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one half of its partitions is taken from it while the store has the batch in hand."""
    monkeypatch.setattr(session, "SLOW_SECONDS", 0.2)
    topic, released, took = fresh("alerts"), asyncio.Event(), asyncio.Event()
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=4)
    settings = config(kafka_server.bootstrap, topic)
    names = sorted(f"w{number}" for number in range(20))
    for number, name in enumerate(names):
        await send(kafka_server.bootstrap, topic, [an_alert(name)], partition=number % 4)
    async with room(tmp_path, settings) as here:
        first, second = here.intake(), here.intake()
        original = first._take

        async def slowly(records: object) -> object:
            took.set()
            await released.wait()
            return await original(records)  # type: ignore[arg-type]

        first._take = slowly  # type: ignore[assignment]
        async with running(first) as tasks:
            await took.wait()
            tasks.append(asyncio.create_task(second.run()))
            await until(lambda: len(second.pulse.lag) == 2, "the second member has its share")
            released.set()
            await until_workloads(here, *names)
            await until(lambda: sum((*first.pulse.lag.values(), *second.pulse.lag.values())) == 0)
            for partition in range(4):
                await until_committed(kafka_server.bootstrap, settings.group, topic, 5, partition)
        assert [row.head for row in await here.rows()] == [1] * 20
