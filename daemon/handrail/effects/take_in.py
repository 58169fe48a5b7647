"""Taking records in: decode, say what is wrong, identify, and make it durable. Needs no call to the cluster."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import structlog

from handrail.core.awaiting import Awaiting
from handrail.core.correlate import arrival, findings_of, woken
from handrail.core.windows import judge_of
from handrail.decode import decode
from handrail.decode.otlp_logs import entries_of
from handrail.effects.tools import Tools
from handrail.model.alert import Source
from handrail.model.arrival import Batch
from handrail.model.config import TopicConfig
from handrail.model.doors import DOORS
from handrail.model.reason import Reason
from handrail.model.record import Decoded, Received, Record, Undecoded
from handrail.model.trusted import trusted

log = structlog.get_logger("intake")

BREATH = 16
"""Records and alerts after which others have their turn: a poll of a storm takes half a second, and the questions to
people, the leases and the doors must not wait for it."""

_batch, _received, _seal = trusted(Batch), trusted(Received), trusted(Source)


async def take_in(tools: Tools, records: Sequence[Record]) -> Sequence[tuple[Record, Undecoded]]:
    """Returns the parts that are no alerts, for the dead-letter topic. Raises Transient: then nothing was taken."""
    return [(one.record, one.refused) for one in await receive(tools, records) if one.refused is not None]


async def receive(tools: Tools, records: Sequence[Record]) -> tuple[Received, ...]:
    """What became of each, once all of them are durable. Raises Transient: then nothing was taken."""
    topics = {**DOORS, **{topic.name: topic for topic in tools.config.kafka.topics}}
    now = tools.now()
    awake, cluster = woken(tools.detectors), tools.config.cluster.name
    awaited = Awaiting(tools.config)
    batches: list[Batch] = []
    received: list[Received] = []
    since_breath = 0
    for record in records:
        if since_breath >= BREATH:
            await asyncio.sleep(0)
            since_breath = 0
        decoded = _decoded(tools, record, topics.get(record.topic, TopicConfig(name=record.topic)))
        since_breath += 1 + len(decoded.alerts)
        found = ((alert, findings_of(alert, awake, now)) for alert in decoded.alerts)
        arrivals = tuple(arrival(alert, cluster, findings) for alert, findings in found)
        sighted = awaited.among(decoded.alerts)
        batches.append(_batch(source=_source(record), at=now, arrivals=arrivals, sighted=sighted))
        refused = _together(decoded.refused) if decoded.refused else None
        received.append(_received(record=record, alerts=len(arrivals), refused=refused))
    policy = tools.policy.last_good()
    max_age = timedelta(minutes=policy.alert_age_minutes)
    judge = judge_of(tools.detectors)
    took = await tools.store.take(batches, max_age=max_age, judge=judge, storm=policy.storm)
    _say(tools, Counter(one.reason for batch in took for one in batch if one.reason is not None))
    _say(tools, Counter(one.refused.reason for one in received if one.refused is not None))
    return tuple(received)


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


def _decoded(tools: Tools, record: Record, topic: TopicConfig) -> Decoded:
    return decode(
        record,
        signal=topic.signal,
        encoding=topic.encoding,
        mapping=tools.config.mapping_of(topic),
        event_age=timedelta(minutes=tools.config.alerts.event_age_minutes),
    )


def _together(refused: tuple[Undecoded, ...]) -> Undecoded:
    """One dead letter for each record, however many of its parts are no alerts: the letter holds the whole record."""
    first = refused[0]
    if len(refused) == 1:
        return first
    reasons = ", ".join(sorted({str(part.reason) for part in refused}))
    detail = f"{len(refused)} parts are no alerts ({reasons}); the first: {first.detail}"
    return first.model_copy(update={"detail": detail, "times": sum(part.times for part in refused)})


def _source(record: Record) -> Source:
    seal = hashlib.sha256(record.value or b"").hexdigest()
    return _seal(topic=record.topic, partition=record.partition, offset=record.offset, digest=seal)
