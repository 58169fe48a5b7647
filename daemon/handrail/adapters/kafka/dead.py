"""The dead-letter topic, read and sent back from, beside the daemon: it needs the brokers alone.

Reads without a group, so that nothing is committed and no member is disturbed. Sends a letter back and notes that it
did in one transaction: a kill in between leaves both or neither. There is one sender at a time: who begins puts an
earlier one out, waits until what that one began has ended, and reads the notes only then. Decides nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    ProducerFenced,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)

from handrail.adapters.kafka.closing import close
from handrail.adapters.kafka.letters import record_of
from handrail.adapters.kafka.reach import unreachable
from handrail.adapters.kafka.starting import start
from handrail.adapters.kafka.wire import options
from handrail.adapters.kafka.words import explain
from handrail.core.letters import Message, letters_of, newest, note_of, sent_back
from handrail.model.config import KafkaConfig
from handrail.model.errors import NotAllowed, Permanent, Transient
from handrail.model.letter import Letter, Place
from handrail.model.record import Record

FIRST_LOOK = 200
"""Records of each partition that are looked at first; a longer way back is four times as long each time."""
SILENT_SECONDS = 15.0
DENIED = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)
TRANSACTION_MS = 30_000
REQUEST_BYTES = 64 * 1024 * 1024


class DeadLetters:
    """Raises Transient where the brokers are away, NotAllowed where a right is missing, Permanent where they say no for
    another reason or there is no such topic."""

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._topic = config.dead_letter_topic

    async def newest(self, limit: int, reason: str = "") -> list[Letter]:
        """At most `limit`, oldest first, without their values; `reason` "" is any."""
        async with self._reader() as (consumer, begins, ends):
            far = max(FIRST_LOOK, 2 * limit)
            while True:
                starts = {one: max(begins[one], end - far) for one, end in ends.items()}
                found = newest(letters_of(await _read(consumer, starts, ends, ())), limit, reason)
                if len(found) == limit or starts == begins:
                    return found
                far *= 4

    async def at(self, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], Letter]:
        """Those of these partitions and offsets that are letters, whole."""
        async with self._reader() as (consumer, begins, ends):
            starts: dict[TopicPartition, int] = {}
            for partition, offset in places:
                one = TopicPartition(self._topic, partition)
                if one in ends:
                    starts[one] = min(max(offset, begins[one]), starts.get(one, ends[one]))
            wanted = {Place(self._topic, *place) for place in places}
            found = letters_of(await _read(consumer, starts, ends, wanted))
            return {letter.place[1:]: letter for letter in found if letter.place in wanted}

    @asynccontextmanager
    async def _reader(self) -> AsyncIterator[tuple[Any, dict[Any, int], dict[Any, int]]]:
        wire = options(self._config)
        consumer = AIOKafkaConsumer(
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            **wire,
        )
        async with _said(wire):
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    await start(consumer)
                    parts = await self._partitions(wire)
                    consumer.assign(parts)
                    begins, ends = await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
                yield consumer, dict(begins), dict(ends)
            finally:
                await close(consumer)

    async def _partitions(self, wire: dict[str, Any]) -> list[TopicPartition]:
        admin = AIOKafkaAdminClient(**wire)
        try:
            await start(admin)
            known = await admin.describe_topics()  # of all: asking for one by its name would make it
        finally:
            await close(admin)
        numbers = [part["partition"] for one in known if one["topic"] == self._topic for part in one["partitions"]]
        if not numbers:
            raise Permanent(f"topic {self._topic!r} does not exist, or this user may not see it")
        return [TopicPartition(self._topic, number) for number in sorted(numbers)]

    @asynccontextmanager
    async def replay(self) -> AsyncIterator[Replay]:
        """Everything that another replay began has ended by now, one way or the other; it can send nothing more."""
        wire = options(self._config)
        producer = AIOKafkaProducer(
            transactional_id=f"handrail.dlq.{self._topic}"[:249],
            transaction_timeout_ms=TRANSACTION_MS,
            max_request_size=REQUEST_BYTES,
            **wire,
        )
        async with _said(wire):
            try:
                async with asyncio.timeout(SILENT_SECONDS * 2):
                    await start(producer)
                yield Replay(producer)
            finally:
                await close(producer)


class Replay:
    """Of one sender; see `DeadLetters.replay`."""

    def __init__(self, producer: Any) -> None:
        self._producer = producer

    async def send_back(self, letter: Letter) -> None:
        """The letter and the note that it was sent, both or neither. Raises KafkaError."""
        await self._producer.begin_transaction()
        try:
            for message in (sent_back(letter), note_of(letter)):
                await self._send(message)
            await self._producer.commit_transaction()
        except ProducerFenced:
            raise  # another one has begun, and ended ours
        except (KafkaError, TimeoutError):
            with contextlib.suppress(KafkaError):
                await self._producer.abort_transaction()
            raise

    async def _send(self, message: Message) -> None:
        async with asyncio.timeout(SILENT_SECONDS):
            await self._producer.send_and_wait(**message._asdict())


async def _read(
    consumer: Any, starts: Mapping[Any, int], ends: Mapping[Any, int], whole: Collection[Place]
) -> list[Record]:
    """All records from `starts` to `ends`, in order in each partition; values of those that are wanted `whole` only:
    a topic of letters may hold more than there is memory for."""
    for one in ends:
        if one in starts:
            consumer.seek(one, starts[one])
        else:
            consumer.pause(one)
    found: list[Record] = []
    while left := [one for one in starts if await consumer.position(one) < ends[one]]:
        async with asyncio.timeout(SILENT_SECONDS):
            before = [await consumer.position(one) for one in left]
            while before == [await consumer.position(one) for one in left]:
                got = await consumer.getmany(*left, timeout_ms=200)
                for message in (message for messages in got.values() for message in messages):
                    if message.offset < ends[TopicPartition(message.topic, message.partition)]:
                        found.append(_kept(record_of(message), whole))
    return found


def _kept(record: Record, whole: Collection[Place]) -> Record:
    wanted = Place(record.topic, record.partition, record.offset) in whole
    return record if wanted else record.model_copy(update={"value": None})


@asynccontextmanager
async def _said(wire: dict[str, Any]) -> AsyncIterator[None]:
    """The client's errors in our words."""
    try:
        yield
    except ProducerFenced as fenced:
        raise Permanent("another replay has begun: nothing more is sent by this one") from fenced
    except KafkaConnectionError as away:
        raise Transient(await unreachable(wire) or explain(away)) from away
    except TimeoutError as silent:
        raise Transient("the brokers do not answer") from silent
    except DENIED as no:
        raise NotAllowed(explain(no)) from no
    except (KafkaError, OSError, EOFError) as wrong:
        raise Permanent(explain(wrong)) from wrong
