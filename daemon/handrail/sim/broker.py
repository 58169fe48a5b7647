"""An embedded Kafka broker for the demo: librdkafka's mock cluster, which lives inside one idle producer.

It decides nothing and keeps everything in memory: it is no durable broker, and nothing but the demo and tests
may lean on it. What it can do was tried with aiokafka 0.14 and the client's default options: topics are made
by being asked for (four partitions each), produce (also idempotent and compressed), headers, consume in a
group, static members, commit, committed offsets read back after a re-join.

What it can't do, with librdkafka 2.16:
- a second member of one group is refused (`InvalidRequestError` from SyncGroup): one consumer for each group;
- aiokafka's `create_topics` and `list_consumer_groups` (the mock has neither): use `create_topics` here;
- join in under three seconds: the first rebalance is held back that long, and Python can't change it;
- the answer to a produce request carries a made-up timestamp; the records themselves keep the sender's.
"""

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

_PATIENCE_S = 5.0


class EmbeddedBroker:
    """One broker on a free port of the loopback interface, from `start` to `stop`."""

    def __init__(self) -> None:
        self._producer: Producer | None = None
        self.bootstrap = ""

    async def start(self) -> str:
        """Start the broker and return its `host:port`."""
        self._producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        metadata = await asyncio.to_thread(self._producer.list_topics, timeout=_PATIENCE_S)
        (broker,) = metadata.brokers.values()
        self.bootstrap = f"{broker.host}:{broker.port}"
        return self.bootstrap

    async def create_topics(self, names: Iterable[str]) -> None:
        """Make these topics exist. Asking twice is harmless."""
        if self._producer is None:
            raise RuntimeError("the broker is not started")
        for name in names:
            await asyncio.to_thread(self._producer.list_topics, name, timeout=_PATIENCE_S)

    async def stop(self) -> None:
        """End the broker and close its port; all topics and offsets are gone."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await asyncio.to_thread(producer.close)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
