"""What the tests of the intake share: topics of their own, a store that remembers, an intake that must end clean."""

from __future__ import annotations

import asyncio
import gc
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import GroupCoordinatorNotAvailableError

from handrail.adapters.kafka import KafkaIntake
from handrail.model.config import KafkaConfig, KafkaSecurity, TopicConfig
from handrail.model.record import Record, Undecoded

PATIENCE = 40.0


class Taker:
    """A store: remembers what it took. `before` runs first and may raise, `meanwhile` is what then takes its time;
    `letters` says what can't be decoded."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.calls: list[list[Record]] = []
        self.before: Callable[[Sequence[Record]], None] = lambda records: None
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.letters: Callable[[Sequence[Record]], list[tuple[Record, Undecoded]]] = lambda records: []

    async def __call__(self, records: Sequence[Record]) -> Sequence[tuple[Record, Undecoded]]:
        self.calls.append(list(records))
        self.before(records)
        if self.meanwhile is not None:
            await self.meanwhile()
        self.records += records
        return self.letters(records)

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:10]}"


def config(bootstrap: str, *topics: str, **more: Any) -> KafkaConfig:
    return KafkaConfig(
        bootstrap=(bootstrap,),
        topics=tuple(TopicConfig(name=topic) for topic in topics),
        group=more.pop("group", None) or fresh("group"),
        dead_letter_topic=more.pop("dead_letters", None) or f"{topics[0]}.dead",
        security=more.pop("security", KafkaSecurity()),
        **more,
    )


async def make_topics(bootstrap: str, *names: str, partitions: int = 1, settings: dict[str, str] | None = None) -> None:
    """Returns once the broker knows them: the controller's answer comes before that."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings or {}) for name in names])
        async with asyncio.timeout(PATIENCE):
            while not set(names) <= set(await admin.list_topics()):
                await asyncio.sleep(0.05)
    finally:
        await admin.close()


async def until_groups_are_coordinated(bootstrap: str) -> None:
    """A fresh broker makes the place for groups at the first asking, which takes it a while on a busy machine."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(GroupCoordinatorNotAvailableError):
                    await admin.find_coordinator(fresh("group"))
                    return
                await asyncio.sleep(0.1)
    finally:
        await admin.close()


async def make_intake_topics(bootstrap: str, *names: str, partitions: int = 1) -> None:
    """The topics and the dead-letter topic that `config` names."""
    await make_topics(bootstrap, *names, partitions=partitions)
    await make_topics(bootstrap, f"{names[0]}.dead")


async def send(bootstrap: str, topic: str, values: Iterable[bytes | None], **more: Any) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all")
    await producer.start()
    try:
        for value in values:
            await producer.send_and_wait(topic, value, **{"key": b"k" if value is None else None, **more})
    finally:
        await producer.stop()


async def committed(bootstrap: str, group: str, topic: str, partition: int = 0) -> int | None:
    """None also where a fresh broker has no place for groups yet."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        offsets = await admin.list_consumer_group_offsets(group)
    except GroupCoordinatorNotAvailableError:
        return None
    finally:
        await admin.close()
    found = offsets.get(TopicPartition(topic, partition))
    return None if found is None or found.offset < 0 else int(found.offset)


async def until_committed(bootstrap: str, group: str, topic: str, offset: int, partition: int = 0) -> None:
    async with asyncio.timeout(PATIENCE):
        while await committed(bootstrap, group, topic, partition) != offset:
            await asyncio.sleep(0.2)


async def read_all(bootstrap: str, topic: str, count: int) -> list[Any]:
    """`count` records of a topic from its beginning, without a group."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        async with asyncio.timeout(PATIENCE):
            return [await consumer.getone() for _ in range(count)]
    finally:
        await consumer.stop()


async def until(condition: Callable[[], Any], what: str = "it", patience: float = PATIENCE) -> None:
    """Polls until it holds; the last resort against waiting for ever is `patience`, in seconds."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not so within {patience:.0f} s"
        await asyncio.sleep(0.05)


TICK = 0.05


async def end_within(seconds: float, tasks: Sequence[asyncio.Task[Any]]) -> None:
    """They must. Only time in which this loop gets to run counts: a machine that is busy elsewhere keeps both them and
    this waiting."""
    for _ in range(round(seconds / TICK)):
        _, left = await asyncio.wait(tasks, timeout=TICK)
        if not left:
            return
    raise AssertionError(f"not ended within {seconds:g} s: {left}")


def open_connections() -> list[Any]:
    """Those that this event loop still reads from or writes to; TLS says goodbye before a connection is closed."""
    loop, found = asyncio.get_running_loop(), [one for one in gc.get_objects() if isinstance(one, asyncio.Transport)]
    return [one for one in found if getattr(one, "_loop", None) is loop and getattr(one, "_sock", None) is not None]


@asynccontextmanager
async def running(*intakes: KafkaIntake) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Runs them; afterwards nothing of theirs may be left: no task, no connection, no complaint of the loop."""
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    before = asyncio.all_tasks()
    tasks = [asyncio.create_task(intake.run()) for intake in intakes]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        loop.set_exception_handler(None)
        left = [task for task in asyncio.all_tasks() - before if not task.done()]
        assert not left, f"tasks are left: {left}"
        await until(lambda: not open_connections(), "every connection is closed", patience=15.0)
        assert not complaints, f"the event loop complains: {complaints}"


def intake(settings: KafkaConfig, taker: Taker) -> KafkaIntake:
    return KafkaIntake(settings, taker, time.monotonic)
