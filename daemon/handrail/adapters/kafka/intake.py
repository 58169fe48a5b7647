"""The intake loop: poll, hand over to the store, send dead letters, only then commit.

Never decides what an alert means. Never commits what is not durable. When the store is away the partitions are
paused while polling goes on, so the group keeps its members (library trap: past max_poll_interval_ms records come
again). When the brokers are away it starts over, and the last poll's age tells readiness.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from handrail.adapters.kafka.wire import options
from handrail.model.config import KafkaConfig
from handrail.model.errors import BadConfig, Transient
from handrail.model.record import Record, Undecoded

log = structlog.get_logger("kafka")

DeadLetter = tuple[Record, Undecoded]
TakeRecords = Callable[[Sequence[Record]], Awaitable[Sequence[DeadLetter]]]

POLL_MS = 500
BATCH = 500
RESTART_SECONDS = 2.0
STOP_SECONDS = 3.0


@dataclass
class Pulse:
    """What /readyz shows: monotonic seconds of the last good poll, records behind, whether partitions are paused."""

    last_poll: float | None = None
    lag: dict[str, int] = field(default_factory=dict)
    paused: bool = False
    last_error: str = ""


class KafkaIntake:
    """`take` makes a batch durable and returns what could not be decoded; it raises Transient when it can't now."""

    def __init__(self, config: KafkaConfig, take: TakeRecords, clock: Callable[[], float]) -> None:
        self._config = config
        self._take = take
        self._clock = clock
        self.pulse = Pulse()

    async def run(self) -> None:
        """Until cancelled; starts over after any error of the brokers, which are away at times."""
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        while True:
            try:
                await self._session()
            except (KafkaError, OSError, BadConfig, IllegalStateError) as error:
                self.pulse.last_error = f"{type(error).__name__}: {error}"[:300]
                log.warning("kafka is away", why=self.pulse.last_error)
            await asyncio.sleep(RESTART_SECONDS)

    async def _session(self) -> None:
        """One membership in the group, from join to loss."""
        wire = options(self._config)
        consumer = AIOKafkaConsumer(
            group_id=self._config.group,
            group_instance_id=self._config.group_instance_id or None,
            enable_auto_commit=False,
            auto_offset_reset=self._config.offset_reset,
            max_poll_records=BATCH,
            **wire,
        )
        producer = AIOKafkaProducer(acks="all", enable_idempotence=True, **wire)
        names = [topic.name for topic in self._config.topics]
        try:
            await producer.start()
            consumer.subscribe(names, listener=_Repause(consumer, self.pulse))
            await consumer.start()
            self.pulse.last_error = ""
            log.info("reading", topics=names, group=self._config.group)
            while True:
                await self._poll(consumer, producer)
        finally:
            await _stop(consumer)
            await _stop(producer)

    async def _poll(self, consumer: Any, producer: Any) -> None:
        got = await consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH)
        self.pulse.last_poll = self._clock()
        await self._measure(consumer)
        batch = _Batch()
        batch.add(got)
        if not batch.records:
            return
        for record, why in await self._durably(consumer, batch):
            await self._bury(producer, record, why)
        await self._commit(consumer, batch.ends)

    async def _durably(self, consumer: Any, batch: _Batch) -> Sequence[DeadLetter]:
        """Keeps the batch until the store has it. Meanwhile polling goes on over paused partitions."""
        try:
            while True:
                try:
                    return await self._take(batch.records)
                except Transient as away:
                    log.warning("the store is away: intake waits", why=str(away))
                    self.pulse.paused = True
                    await self._poll_paused(consumer, batch, away.retry_after)
        finally:
            if self.pulse.paused:
                self.pulse.paused = False
                consumer.resume(*consumer.assignment())

    async def _poll_paused(self, consumer: Any, batch: _Batch, seconds: float) -> None:
        """What a rebalance lets through in spite of the pause joins the batch: dropping it would lose it."""
        consumer.pause(*consumer.assignment())
        ends = self._clock() + seconds
        while self._clock() < ends:
            batch.add(await consumer.getmany(timeout_ms=POLL_MS))
            self.pulse.last_poll = self._clock()

    async def _bury(self, producer: Any, record: Record, why: Undecoded) -> None:
        """To the dead-letter topic with the reason in headers; the original bytes stay whole."""
        headers = [
            *record.headers,
            ("handrail.reason", str(why.reason).encode()),
            ("handrail.detail", why.detail[:500].encode()),
            ("handrail.topic", record.topic.encode()),
            ("handrail.partition", str(record.partition).encode()),
            ("handrail.offset", str(record.offset).encode()),
            ("handrail.part", str(why.index).encode()),
        ]
        topic = self._config.dead_letter_topic
        await producer.send_and_wait(topic, value=record.value, key=record.key, headers=headers)
        log.info(
            "dead letter", topic=record.topic, offset=record.offset, reason=str(why.reason), detail=why.detail[:200]
        )

    async def _commit(self, consumer: Any, ends: dict[TopicPartition, int]) -> None:
        """A partition that was lost meanwhile can't be committed: its records come again and are seen as such."""
        mine = {partition: end for partition, end in ends.items() if partition in consumer.assignment()}
        if mine:
            await consumer.commit(mine)

    async def _measure(self, consumer: Any) -> None:
        for partition in consumer.assignment():
            end = consumer.highwater(partition)
            if end is not None:
                behind = max(0, end - await consumer.position(partition))
                self.pulse.lag[f"{partition.topic}/{partition.partition}"] = behind


@dataclass
class _Batch:
    """Records that are not durable yet, and the offsets to commit once they are."""

    records: list[Record] = field(default_factory=list)
    ends: dict[TopicPartition, int] = field(default_factory=dict)

    def add(self, got: dict[TopicPartition, list[Any]]) -> None:
        for partition, messages in got.items():
            self.records += [_record(message) for message in messages]
            if messages:
                self.ends[partition] = messages[-1].offset + 1


class _Repause(ConsumerRebalanceListener):  # type: ignore[misc]  # untyped base
    """A rebalance forgets pauses: set them again (library trap)."""

    def __init__(self, consumer: Any, pulse: Pulse) -> None:
        self._consumer = consumer
        self._pulse = pulse

    async def on_partitions_revoked(self, revoked: Any) -> None:
        for partition in revoked:
            self._pulse.lag.pop(f"{partition.topic}/{partition.partition}", None)

    async def on_partitions_assigned(self, assigned: Any) -> None:
        if self._pulse.paused:
            self._consumer.pause(*assigned)


def _record(message: Any) -> Record:
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        headers=tuple((name, bytes(text or b"")) for name, text in message.headers or ()),
        at=datetime.fromtimestamp(max(0, message.timestamp) / 1000, UTC),
    )


async def _stop(client: Any) -> None:
    """Bounded: with the brokers down aiokafka's stop can raise CancelledError or hang (library trap)."""
    with contextlib.suppress(TimeoutError, KafkaError, OSError, asyncio.CancelledError):
        async with asyncio.timeout(STOP_SECONDS):
            await client.stop()
