"""Signs of life: when the brokers last answered, and how far behind we are.

A consumer polls happily with every broker dead, and after a broker's restart it can stall in silence (library trap):
so a poll alone proves nothing, only an answer does. Says when a session must begin anew; never ends one itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from handrail.model.errors import Transient

ASK_SECONDS = 5.0
"""A partition that was quiet for so long is asked about."""
PATIENCE_SECONDS = 5.0
SILENT_SECONDS = 30.0
"""After so long without any answer (or without records where the broker says it is well) it begins anew."""


@dataclass
class Pulse:
    """What /readyz and /healthz show. `last_poll`: monotonic seconds of the brokers' last answer; `turned`: when the
    loop polled last, or began anew, whatever the brokers said; `lag`: records not durable yet.

    `set_aside` names partitions that can't be read, with the reason; `waits_for` says why intake is `paused`.
    """

    last_poll: float | None = None
    turned: float | None = None
    lag: dict[str, int] = field(default_factory=dict)
    paused: bool = False
    last_error: str = ""
    set_aside: dict[str, str] = field(default_factory=dict)
    waits_for: str = ""


def label(partition: TopicPartition) -> str:
    return f"{partition.topic}/{partition.partition}"


class Signs:
    """Of one consumer. `topics` are asked about while nothing is assigned."""

    def __init__(self, consumer: Any, topics: Iterable[str], pulse: Pulse, clock: Callable[[], float]) -> None:
        self._consumer = consumer
        self._topics = tuple(topics)
        self._pulse = pulse
        self._clock = clock
        self._stamps: dict[TopicPartition, int] = {}
        self._heard: dict[TopicPartition, float] = {}
        self._asked = clock()
        self.complaint = ""

    async def read(self, begins: Mapping[TopicPartition, int]) -> None:
        """`begins`: the first offset in hand that is not durable, by partition. Raises Transient: begin anew."""
        now = self._clock()
        for partition in self._consumer.assignment():
            stamp = self._consumer.last_poll_timestamp(partition)
            if stamp is not None and stamp != self._stamps.get(partition):
                self._stamps[partition] = stamp
                self._heard[partition] = self._pulse.last_poll = now
                await self._measure(partition, self._consumer.highwater(partition), begins)
            self._heard.setdefault(partition, now)
        await self._ask_the_quiet(now, begins)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._heard.pop(partition, None)
            self._pulse.lag.pop(label(partition), None)

    def listen_anew(self) -> None:
        """What was paused was quiet because of us."""
        self._heard.clear()

    async def _ask_the_quiet(self, now: float, begins: Mapping[TopicPartition, int]) -> None:
        if now - self._asked < ASK_SECONDS:
            return
        assigned = self._consumer.assignment()
        quiet = [one for one in assigned if now - self._heard.get(one, now) >= ASK_SECONDS]
        if assigned and not quiet:
            self.complaint = ""
            return
        self._asked = now
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                ends = await self._consumer.end_offsets(quiet or self._all())
        except (KafkaError, TimeoutError) as silent:
            self._complain(now, quiet, silent)
            return
        await self._answered(now, ends, begins)

    async def _answered(self, now: float, ends: Mapping[TopicPartition, int], begins: Mapping[Any, int]) -> None:
        self._pulse.last_poll = self._clock()
        self.complaint = ""
        for partition, end in ends.items():
            await self._measure(partition, end, begins)
            reading = partition in self._consumer.assignment() - self._consumer.paused()
            if reading and now - self._heard.get(partition, now) >= SILENT_SECONDS:
                raise Transient(f"{label(partition)} stalled: its broker is well but sends nothing")

    def _complain(self, now: float, quiet: list[TopicPartition], silent: BaseException) -> None:
        last = self._pulse.last_poll
        for_long = now - last if last is not None else 0.0
        who = ", ".join(sorted(label(one) for one in quiet)[:5]) or "the brokers"
        self.complaint = f"no answer for {who} ({type(silent).__name__})"
        if for_long >= SILENT_SECONDS:
            raise Transient(f"the brokers have not answered for {for_long:.0f} s") from silent

    def _all(self) -> list[TopicPartition]:
        found = ((name, self._consumer.partitions_for_topic(name) or ()) for name in self._topics)
        return [TopicPartition(name, number) for name, numbers in found for number in numbers]

    async def _measure(self, partition: TopicPartition, end: int | None, begins: Mapping[TopicPartition, int]) -> None:
        if end is None or partition not in self._consumer.assignment():
            return
        with contextlib.suppress(IllegalStateError, TimeoutError):
            async with asyncio.timeout(0.2):  # it waits for a position that is being looked up
                position = await self._consumer.position(partition)
            self._pulse.lag[label(partition)] = max(0, end - begins.get(partition, position))
