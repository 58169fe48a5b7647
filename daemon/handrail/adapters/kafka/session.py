"""One membership in the group: poll, hand over to the store, send dead letters, only then commit.

Partitions are polled one by one, so that one that can't be read costs the others nothing. Never skips a record: what
can't be read is set aside where it stands, said, and tried again. Ends by raising; the intake begins another one.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import structlog
from aiokafka import ConsumerRebalanceListener, TopicPartition, errors

from handrail.adapters.kafka.letters import Batch, DeadLetter, bury
from handrail.adapters.kafka.membership import Membership
from handrail.adapters.kafka.reach import must_exist
from handrail.adapters.kafka.signs import SILENT_SECONDS, Pulse, Signs, label
from handrail.adapters.kafka.starting import start
from handrail.adapters.kafka.words import explain
from handrail.model.config import KafkaConfig
from handrail.model.errors import Transient, Undecodable
from handrail.model.reason import Reason
from handrail.model.record import Record, Undecoded

log = structlog.get_logger("kafka")

TakeRecords = Callable[[Sequence[Record]], Awaitable[Sequence[DeadLetter]]]

BATCH = 500
IDLE_SECONDS, QUIET_SECONDS = 0.2, 0.5
"""Between two polls that find nothing; the second one after ten seconds without a record."""
SLOW_SECONDS = 1.0
"""A store that takes longer than this is not waited for without polling."""
ASIDE_SECONDS = 60.0
NOBODYS = TopicPartition("", 0)
"""Asking for it gives no records, but raises what the group has to say and waits while it is being rearranged."""

UNREADABLE = (
    errors.CorruptRecordException,
    errors.UnsupportedCodecError,
    errors.RecordTooLargeError,
    errors.TopicAuthorizationFailedError,
    errors.OffsetOutOfRangeError,
    ValueError,  # a header name that is not UTF-8, a length that is none
    struct.error,
    zlib.error,
    EOFError,
    OSError,  # what gzip calls a damaged file; nothing is read from the network here
)
"""What taking the fetched records of one partition raises. The rest concerns the whole session."""


class Session:
    """`run` goes on until it raises: KafkaError, OSError, Transient, or whatever `take` raises but Transient."""

    def __init__(
        self, config: KafkaConfig, take: TakeRecords, pulse: Pulse, clock: Callable[[], float], membership: Membership
    ) -> None:
        self._dead_letters = config.dead_letter_topic
        self._topics = [topic.name for topic in config.topics]
        self._take = take
        self._pulse = pulse
        self._clock = clock
        self._membership = membership
        self._patience: asyncio.Timeout | None = None
        self._put_out = False
        self._careful: dict[TopicPartition, int] = {}
        self._aside: dict[TopicPartition, float] = {}
        self.reading = False

    async def run(self, consumer: Any, producer: Any) -> None:
        """The clients are not started yet; the caller closes them."""
        self._consumer, self._producer = consumer, producer
        self._membership.begin()
        self._signs = Signs(consumer, self._topics, self._pulse, self._clock)
        async with asyncio.timeout(SILENT_SECONDS):
            await self._start()
        self._pulse.last_poll = self._last = self._clock()
        self.reading = True
        log.info("reading", topics=self._topics)
        while True:
            await self._turn()

    async def bury(self, letters: Sequence[DeadLetter]) -> None:
        """Of what came another way than by Kafka; only while it is `reading`. Raises KafkaError."""
        await bury(self._producer, self._dead_letters, letters)

    async def _start(self) -> None:
        await start(self._producer)
        for name in (*self._topics, self._dead_letters):
            await must_exist(self._producer, name)
        self._consumer.subscribe(self._topics, listener=_Rebalance(self))
        await start(self._consumer)

    async def _turn(self) -> None:
        batch = Batch()
        await self._poll(batch)
        await self._look(batch)
        if not batch.records:
            await asyncio.sleep(IDLE_SECONDS if self._clock() - self._last < 10.0 else QUIET_SECONDS)
            return
        self._last = self._clock()
        letters = await self._durably(batch)
        async with asyncio.timeout(SILENT_SECONDS):
            await bury(self._producer, self._dead_letters, letters)
            await self._commit(batch.ends)

    async def _look(self, batch: Batch) -> None:
        try:
            await self._signs.read(batch.begins)
        finally:
            aside = next(iter(self._pulse.set_aside.values()), "")
            self._pulse.last_error = aside or self._signs.complaint or self._gone()

    def _gone(self) -> str:
        """A topic that was deleted is assigned to nobody, and nothing would be said."""
        gone = [name for name in self._topics if not self._consumer.partitions_for_topic(name)]
        return f"topic {gone[0]!r} does not exist: create it, or correct its name in kafka" if gone else ""

    async def _poll(self, batch: Batch) -> None:
        """Bounded: while the group is being rearranged aiokafka waits without a limit."""
        self._pulse.turned = self._clock()
        self._try_again()
        self._must_be_in()
        try:
            async with asyncio.timeout(SILENT_SECONDS) as self._patience:
                await self._consumer.getmany(NOBODYS, timeout_ms=0)
                here = sorted(self._consumer.assignment() - self._aside.keys())
                for partition in here:
                    await self._poll_one(partition, max(1, BATCH // len(here)), batch)
        except TimeoutError:
            self._must_be_in()
            raise
        finally:
            self._patience = None

    def _must_be_in(self) -> None:
        if self._put_out:
            raise Transient("the brokers no longer know this member of the group")

    async def _poll_one(self, partition: TopicPartition, most: int, batch: Batch) -> None:
        careful = self._careful.get(partition, 0)
        try:
            got = await self._consumer.getmany(partition, timeout_ms=0, max_records=1 if careful else most)
        except UNREADABLE as error:
            await self._unreadable(partition, error)
            return
        batch.add(got)
        if careful and got:
            self._careful[partition] = careful - 1

    async def _unreadable(self, partition: TopicPartition, error: BaseException) -> None:
        """First one record at a time, to get what lies before the bad one; then it is set aside for a while.

        aiokafka would go on behind the good records of the broken fetch without ever having given them: seek back.
        """
        position = await self._consumer.position(partition)
        self._consumer.seek(partition, position)
        if not self._careful.get(partition):
            self._careful[partition] = BATCH
            return
        self._consumer.pause(partition)
        self._aside[partition] = self._clock() + ASIDE_SECONDS
        why = f"{label(partition)} can't be read from offset {position} on, the others go on: {explain(error)}"
        self._pulse.set_aside[label(partition)] = why
        log.error("a partition is set aside", partition=label(partition), offset=position, why=explain(error))

    def _try_again(self) -> None:
        now = self._clock()
        for partition in [one for one, until in self._aside.items() if until <= now]:
            self._drop([partition])
            self._careful[partition] = BATCH
            if partition in self._consumer.assignment():
                self._consumer.resume(partition)
                self._signs.listen_anew()

    async def _durably(self, batch: Batch) -> list[DeadLetter]:
        """Returns once everything in the batch is taken; it may grow meanwhile."""
        letters: list[DeadLetter] = []
        done = 0
        while done < len(batch.records):
            records = batch.records[done:]
            letters += await self._taken(records, batch)
            done += len(records)
        return letters

    async def _taken(self, records: list[Record], batch: Batch) -> list[DeadLetter]:
        """A record that breaks the taking is found by halving, and buried: it must not hold up its neighbours."""
        try:
            return list(await self._patiently(records, batch))
        except Undecodable as poison:
            if len(records) == 1:
                return [(records[0], Undecoded(reason=_reason(poison), detail=poison.detail))]
            half = len(records) // 2
            first = await self._taken(records[:half], batch)
            return first + await self._taken(records[half:], batch)

    async def _patiently(self, records: list[Record], batch: Batch) -> Sequence[DeadLetter]:
        """While the store is away or slow, polling goes on over paused partitions: a silent member is put out."""
        try:
            while True:
                taking = asyncio.ensure_future(self._take(records))
                await self._until_taken(taking, batch)
                try:
                    return taking.result()
                except Transient as away:
                    self._pause(str(away)[:300])
                    await self._poll_paused(batch, max(away.retry_after, IDLE_SECONDS))
        finally:
            if self._pulse.paused:
                self._pulse.paused, self._pulse.waits_for = False, ""
                self._signs.listen_anew()
                self._consumer.resume(*(self._consumer.assignment() - self._aside.keys()))

    async def _until_taken(self, taking: asyncio.Future[Sequence[DeadLetter]], batch: Batch) -> None:
        """What ends this ends the taking too: if it was committed all the same, the records are known when they come
        again."""
        try:
            await asyncio.wait({taking}, timeout=SLOW_SECONDS)
            while not taking.done():
                self._pause("the store is slow")
                await self._poll_paused(batch, 0.0)
                await asyncio.wait({taking}, timeout=IDLE_SECONDS)
        finally:
            if not taking.done():
                taking.cancel()
                await asyncio.wait({taking}, timeout=SLOW_SECONDS)
            if taking.done() and not taking.cancelled():
                taking.exception()  # looked at, also where something else ends the session

    def _pause(self, why: str) -> None:
        if self._pulse.waits_for != why:
            log.warning("intake waits", why=why)
        self._pulse.paused, self._pulse.waits_for = True, why

    async def _poll_paused(self, batch: Batch, seconds: float) -> None:
        """What a rebalance lets through in spite of the pause joins the batch: dropping it would lose it."""
        self._consumer.pause(*self._consumer.assignment())
        ends = self._clock() + seconds
        while True:
            await self._poll(batch)
            await self._look(batch)
            if self._clock() >= ends:
                return
            await asyncio.sleep(IDLE_SECONDS)

    async def _commit(self, ends: dict[TopicPartition, int]) -> None:
        """A partition that was lost meanwhile can't be committed: its records come again and are seen as such."""
        mine = {partition: end for partition, end in ends.items() if partition in self._consumer.assignment()}
        try:
            if mine:
                await self._consumer.commit(mine)
        except (errors.CommitFailedError, errors.IllegalStateError) as moved:
            log.info("the group has moved on: these records come again", why=explain(moved))

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """A rebalance forgets pauses: set them again (library trap)."""
        self._membership.joined(self._consumer)
        if self._pulse.paused:
            self._consumer.pause(*partitions)

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Joining follows. It never does for a stable name that was lost: it may be another process's by now."""
        self._signs.forget(partitions)
        self._drop(partitions)
        if self._membership.lost(self._consumer):
            self._put_out = True
            if self._patience is not None:
                self._patience.reschedule(0)
            await asyncio.Event().wait()  # until this session's clients are closed

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._aside.pop(partition, None)
            self._careful.pop(partition, None)
            self._pulse.set_aside.pop(label(partition), None)


class _Rebalance(ConsumerRebalanceListener):  # type: ignore[misc]  # untyped base
    def __init__(self, session: Session) -> None:
        self._session = session

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await self._session.revoked(revoked)

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._session.assigned(assigned)


def _reason(poison: Undecodable) -> Reason:
    return Reason(poison.reason) if poison.reason in Reason.__members__ else Reason.MALFORMED
