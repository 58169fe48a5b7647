"""The topic that events are published to: one message after another, each acknowledged by all replicas in sync.

Opens its connection when there is something to send, and anew after any error, with secrets read again. Never decides
what is published; never sends the next message of an incident before the last one has arrived.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from handrail.adapters.kafka.closing import close
from handrail.adapters.kafka.reach import must_exist
from handrail.adapters.kafka.starting import start
from handrail.adapters.kafka.wire import options
from handrail.adapters.kafka.words import explain
from handrail.core.publishing import Message
from handrail.model.config import KafkaConfig
from handrail.model.errors import Transient

SECONDS = 30.0
RETRY_SECONDS = 2.0
REQUEST_BYTES = 64 * 1024 * 1024
"""Our own limit only: the brokers have the say on what they accept."""


class EventTopic:
    """Several incidents may send at once; the producer is idempotent, so that a retry of its own repeats nothing."""

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._producer: Any = None
        self._opening = asyncio.Lock()

    async def send(self, message: Message) -> bool:
        """Returns once it is safe; False where the brokers take no message that large. Raises Transient: perhaps it
        is there all the same."""
        try:
            async with asyncio.timeout(SECONDS):
                producer = await self._open()
                await producer.send_and_wait(self._config.events_topic, **message._asdict())
        except MessageSizeTooLargeError:
            await self.close()  # its place in the producer's sequence is lost, and with it all that would follow
            return False
        except (KafkaError, OSError, EOFError, TimeoutError) as away:
            await self.close()
            raise Transient(f"events can't be published: {explain(away)}", retry_after=RETRY_SECONDS) from away
        return True

    async def _open(self) -> Any:
        async with self._opening:
            if self._producer is None:
                wire = options(self._config)
                producer = AIOKafkaProducer(acks="all", enable_idempotence=True, max_request_size=REQUEST_BYTES, **wire)
                self._producer = producer
                await start(producer)
                await must_exist(producer, self._config.events_topic)
            return self._producer

    async def close(self) -> None:
        """Never raises but CancelledError."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await close(producer)
