"""Taking records in: decode, say what is wrong, identify, and make it durable. Needs no call to the cluster."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from handrail.core.awaiting import Awaiting
from handrail.core.correlate import arrival, findings_of, woken
from handrail.core.windows import judge_of
from handrail.core.words import plural
from handrail.decode import How, decode, decode_in_turns
from handrail.decode.otlp_logs import entries_of
from handrail.effects.tools import Tools
from handrail.model.alert import Alert, Source
from handrail.model.arrival import Arrival, Batch
from handrail.model.config import TopicConfig
from handrail.model.doors import DOORS
from handrail.model.reason import Reason
from handrail.model.record import Decoded, Received, Record, Undecoded
from handrail.model.trusted import trusted

log = structlog.get_logger("intake")

BREATH = 16
"""Records and alerts after which others have their turn: a poll of a storm takes half a second, and the questions to
people, the leases and the doors must not wait for it."""

TURNS = 8
"""Of the loop at each breath: what a question waits for comes one after the other, each a turn later than the last."""

LARGE = 64 * 1024
"""Bytes of a record that is decoded in turns."""

AT_ONCE = 5000
"""Alerts of one transaction, but that a record is never divided: so much memory, and so long a wait for others."""

_batch, _received, _seal = trusted(Batch), trusted(Received), trusted(Source)


async def take_in(tools: Tools, records: Sequence[Record]) -> Sequence[tuple[Record, Undecoded]]:
    """Returns the parts that are no alerts, for the dead-letter topic. Raises Transient: then nothing counts as taken,
    and whoever brings the records brings all of them again."""
    return [(one.record, one.refused) for one in await receive(tools, records) if one.refused is not None]


async def receive(tools: Tools, records: Sequence[Record]) -> tuple[Received, ...]:
    """What became of each, once all of them are durable. Raises Transient as `take_in` does: what was durable by then
    is known when it comes again."""
    reading = _Reading(tools)
    piece: list[Batch] = []
    received: list[Received] = []
    held = 0
    for record in records:
        batch, one = await reading.read(record)
        received.append(one)
        if piece and held + len(batch.arrivals) > AT_ONCE:
            await _keep(tools, piece)
            piece, held = [], 0
        piece.append(batch)
        held += len(batch.arrivals)
    await _keep(tools, piece)
    _say(tools, Counter(one.refused.reason for one in received if one.refused is not None))
    return tuple(received)


class _Reading:
    """Of one poll, with what is the same for all of it."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._topics = {**DOORS, **{topic.name: topic for topic in tools.config.kafka.topics}}
        self._now: datetime = tools.now()
        self._awake = woken(tools.detectors)
        self._awaited = Awaiting(tools.config)
        self._since_breath = 0

    async def read(self, record: Record) -> tuple[Batch, Received]:
        await self._breathe(1)
        topic = self._topics.get(record.topic) or TopicConfig(name=record.topic)
        decoded = await _decoded(self._tools, record, topic)
        arrivals: list[Arrival] = []
        for few in range(0, len(decoded.alerts), BREATH):
            alerts = decoded.alerts[few : few + BREATH]
            await self._breathe(len(alerts))
            arrivals += [self._arrival(alert) for alert in alerts]
        sighted = self._awaited.among(decoded.alerts)
        batch = _batch(source=_source(record), at=self._now, arrivals=tuple(arrivals), sighted=sighted)
        refused = _together(decoded) if decoded.refused else None
        return batch, _received(record=record, alerts=len(arrivals), refused=refused)

    def _arrival(self, alert: Alert) -> Arrival:
        return arrival(alert, self._tools.config.cluster.name, findings_of(alert, self._awake, self._now))

    async def _breathe(self, count: int) -> None:
        self._since_breath += count
        if self._since_breath > BREATH:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            self._since_breath = count


async def _keep(tools: Tools, batches: Sequence[Batch]) -> None:
    if not batches:
        return
    policy = tools.policy.last_good()
    max_age = timedelta(minutes=policy.alert_age_minutes)
    judge = judge_of(tools.detectors)
    took = await tools.store.take(batches, max_age=max_age, judge=judge, storm=policy.storm)
    _say(tools, Counter(one.reason for batch in took for one in batch if one.reason is not None))


async def receive_posted(tools: Tools, records: Sequence[Record]) -> tuple[Received, ...]:
    """HTTP requests. An OTLP sender is told how many of its log records were of no use, and a batch without any is no
    fault (OTLP specification, "Partial success")."""
    entries = [_entries(record) for record in records]
    worth = [record for record, count in zip(records, entries, strict=True) if count != 0]
    received = iter(await receive(tools, worth) if worth else ())
    return tuple(
        Received(record=record, entries=0) if count == 0 else next(received).model_copy(update={"entries": count})
        for record, count in zip(records, entries, strict=True)
    )


def _entries(record: Record) -> int | None:
    door = DOORS.get(record.topic)
    return entries_of(record.value or b"", door.encoding) if door and door.signal == "logs" else None


def _say(tools: Tools, noes: Counter[Reason]) -> None:
    """Alerts that open nothing and letters that are dead: in numbers, since a storm of them may come."""
    for reason, times in noes.items():
        tools.signs.refused(reason, "intake", times)
        log.info("opens nothing", reason=str(reason), times=times)


async def _decoded(tools: Tools, record: Record, topic: TopicConfig) -> Decoded:
    age = timedelta(minutes=tools.config.alerts.event_age_minutes)
    how = How(topic.signal, topic.encoding, tools.config.mapping_of(topic), age)
    if len(record.value or b"") <= LARGE:
        return decode(record, **how._asdict())
    turns = decode_in_turns(record, how)
    while True:
        try:
            next(turns)
        except StopIteration as done:
            found: Decoded = done.value
            return found
        await asyncio.sleep(0)


def _together(decoded: Decoded) -> Undecoded:
    """One dead letter for each record, however many of its parts are no alerts: the letter holds the whole record, so
    it says which part of it was taken."""
    refused = decoded.refused
    taken = f"; taken of it: {plural(len(decoded.alerts), 'alert')}" if decoded.alerts else ""
    first = refused[0]
    if len(refused) == 1:
        return first.model_copy(update={"detail": f"{first.detail}{taken}"}) if taken else first
    times = sum(part.times for part in refused)
    reasons = ", ".join(sorted({str(part.reason) for part in refused}))
    detail = f"{times} parts are no alerts ({reasons}); the first: {first.detail}{taken}"
    return first.model_copy(update={"detail": detail, "times": times})


def _source(record: Record) -> Source:
    seal = hashlib.sha256(record.value or b"").hexdigest()
    return _seal(topic=record.topic, partition=record.partition, offset=record.offset, digest=seal)
