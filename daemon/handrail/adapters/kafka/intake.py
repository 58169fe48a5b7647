"""The intake: one session with the brokers after another, until it is cancelled.

Never decides what an alert means. Never commits what is not durable. When the brokers are away it begins anew, with
secrets read again; the age of their last answer tells readiness.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, KafkaError

from handrail.adapters.kafka.closing import close
from handrail.adapters.kafka.letters import DeadLetter
from handrail.adapters.kafka.membership import Membership
from handrail.adapters.kafka.reach import unreachable
from handrail.adapters.kafka.session import BATCH, Session, TakeRecords
from handrail.adapters.kafka.signs import Pulse
from handrail.adapters.kafka.wire import member_name, options
from handrail.adapters.kafka.words import explain, one_line
from handrail.model.config import KafkaConfig
from handrail.model.errors import HandrailError

log = structlog.get_logger("kafka")

RESTART_SECONDS = 2.0
BURY_SECONDS = 3.0
"""Whoever posts alerts waits meanwhile."""
SESSION_MS, STATIC_SESSION_MS, REBALANCE_MS = 10_000, 45_000, 10_000
"""A member with a stable name may be gone for as long as a restart takes, without a rebalance."""
POLL_INTERVAL_MS = 300_000
"""Who polls less often is put out of the group. A slow store is no reason: polling goes on beside it."""
REQUEST_MS = 20_000
"""Who joins the group is answered within REBALANCE_MS. An answer that was lost costs this long in silence, so no
longer."""
FETCH_WAIT_MS = 2_000
"""A broker answers as soon as it has a record; this is for a quiet night. Less than signs.ASK_SECONDS."""
FETCHER_MS = 1_000
"""How often aiokafka's fetching looks by itself what to ask for; an answer, or what was taken, wakes it at once."""
METADATA_MS = 30_000
"""How soon a topic that was made anew, or has more partitions by now, is read."""
FETCH_BYTES = 8 * 1024 * 1024
LETTER_BYTES = 64 * 1024 * 1024
"""Our own limit only: the brokers have the say on what they accept."""


class KafkaIntake:
    """`take` makes a batch durable and returns what could not be decoded; it raises Transient when it can't now."""

    def __init__(self, config: KafkaConfig, take: TakeRecords, clock: Callable[[], float]) -> None:
        self._config = config
        self._take = take
        self._clock = clock
        self._wire: dict[str, Any] = {}
        self._membership: Membership | None = None
        self._now: Session | None = None
        self.pulse = Pulse()

    async def run(self) -> None:
        """Until cancelled. Raises only what `take` raises outside the tree of HandrailError."""
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        while True:
            self.pulse.turned = self._clock()
            try:
                await self._session()
            except (KafkaError, OSError, EOFError, HandrailError) as error:
                self.pulse.last_error = await self._why(error)
                log.warning("the session with Kafka is over", why=self.pulse.last_error)
            await asyncio.sleep(RESTART_SECONDS)

    async def _session(self) -> None:
        self._wire = options(self._config)
        membership = self._membership = self._membership or Membership(self._config.group, member_name(self._config))
        await membership.must_be_ours(self._wire)
        consumer, producer = _clients(self._config, membership.name, self._wire)
        session = self._now = Session(self._config, self._take, self.pulse, self._clock, membership)
        try:
            await session.run(consumer, producer)
        finally:
            self._now = None
            self.pulse.lag.clear()
            self.pulse.set_aside.clear()
            await close(consumer, producer)

    async def bury(self, letters: Sequence[DeadLetter]) -> bool:
        """Of what came another way than by Kafka. False where the brokers are away: then nobody waits for them."""
        session = self._now
        if session is None or not session.reading:
            return False
        try:
            async with asyncio.timeout(BURY_SECONDS):
                await session.bury(letters)
        except (KafkaError, TimeoutError):
            return False
        return True

    async def _why(self, error: BaseException) -> str:
        if isinstance(error, HandrailError):
            return one_line(str(error))
        if isinstance(error, KafkaConnectionError):
            return await unreachable(self._wire) or explain(error)
        return explain(error)


def _clients(config: KafkaConfig, name: str, wire: dict[str, Any]) -> tuple[Any, Any]:
    consumer = AIOKafkaConsumer(
        group_id=config.group,
        group_instance_id=name or None,
        enable_auto_commit=False,
        auto_offset_reset=config.offset_reset,
        isolation_level="read_committed",
        metadata_max_age_ms=METADATA_MS,
        max_poll_interval_ms=POLL_INTERVAL_MS,
        max_poll_records=BATCH,
        fetch_max_bytes=FETCH_BYTES,
        session_timeout_ms=STATIC_SESSION_MS if name else SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        request_timeout_ms=REQUEST_MS,
        fetch_max_wait_ms=FETCH_WAIT_MS,
        consumer_timeout_ms=FETCHER_MS,
        **wire,
    )
    return consumer, AIOKafkaProducer(acks="all", max_request_size=LETTER_BYTES, **wire)
