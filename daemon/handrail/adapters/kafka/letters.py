"""Records as they come and as they are buried. The original bytes stay whole; the reason travels in headers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import MessageSizeTooLargeError

from handrail.core.letters import LATEST_MS, OURS, first_at
from handrail.model.published import FIRST_AT, REPLAYED, SEALED
from handrail.model.record import Record, Undecoded
from handrail.model.trusted import trusted

log = structlog.get_logger("kafka")

DeadLetter = tuple[Record, Undecoded]

_record = trusted(Record)


@dataclass
class Batch:
    """Records that are not durable yet, and the offsets to commit once they are. `begins` is where each part began."""

    records: list[Record] = field(default_factory=list)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    begins: dict[TopicPartition, int] = field(default_factory=dict)
    _seen: set[tuple[str, int, int, datetime]] = field(default_factory=set)

    def add(self, got: Mapping[TopicPartition, Sequence[Any]]) -> None:
        """After a rebalance the same records may come again: once is enough."""
        for partition, messages in got.items():
            for message in messages:
                self._add(record_of(message))
            if messages:
                self.ends[partition] = messages[-1].offset + 1
                self.begins[partition] = min(messages[0].offset, self.begins.get(partition, messages[0].offset))

    def _add(self, record: Record) -> None:
        key = (record.topic, record.partition, record.offset, record.at)
        if key not in self._seen:
            self._seen.add(key)
            self.records.append(record)


def record_of(message: Any) -> Record:
    """One that was a dead letter is as old as it was before."""
    record = _record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        headers=tuple((name, bytes(text or b"")) for name, text in message.headers or ()),
        at=datetime.fromtimestamp(min(max(0, message.timestamp), LATEST_MS) / 1000, UTC),
    )
    return record if not message.headers else _as_old_as_it_is(record)


def _as_old_as_it_is(record: Record) -> Record:
    at = first_at(record)
    return record if at == record.at else record.model_copy(update={"at": at})


async def bury(producer: Any, topic: str, letters: Sequence[DeadLetter]) -> None:
    """All of them, or it raises the first error once every one has been tried. Raises KafkaError."""
    tried = await asyncio.gather(*(_bury(producer, topic, *letter) for letter in letters), return_exceptions=True)
    for result in tried:
        if isinstance(result, BaseException):
            raise result


async def _bury(producer: Any, topic: str, record: Record, why: Undecoded) -> None:
    headers = _headers(record, why)
    try:
        await producer.send_and_wait(topic, value=_value(record), key=record.key, headers=headers)
    except MessageSizeTooLargeError:
        # As large as the broker allows already: with our headers it no longer fits. Where it lies is said instead.
        size = ("handrail.bytes_left_out", str(len(record.value or b"")).encode())
        await producer.send_and_wait(topic, value=b"", headers=[*_ours(record, why), size])
    log.info("dead letter", topic=record.topic, offset=record.offset, reason=str(why.reason), detail=why.detail[:200])


def _value(record: Record) -> bytes | None:
    """A tombstone without a key can't be sent as one."""
    return b"" if record.value is None and record.key is None else record.value


def _headers(record: Record, why: Undecoded) -> list[tuple[str, bytes]]:
    """Ours come last; those of an earlier burial are dropped, but not that it was a dead letter before."""
    kept = [(name, text) for name, text in record.headers if not name.startswith(OURS) or name == REPLAYED]
    return [*kept, *_ours(record, why)]


def _ours(record: Record, why: Undecoded) -> list[tuple[str, bytes]]:
    """Hostile text may hold lone surrogates."""
    return [
        (SEALED, str(why.reason).encode()),
        ("handrail.detail", why.detail[:500].encode(errors="backslashreplace")),
        ("handrail.topic", record.topic.encode()),
        ("handrail.partition", str(record.partition).encode()),
        ("handrail.offset", str(record.offset).encode()),
        ("handrail.part", str(why.index).encode()),
        (FIRST_AT, str(int(record.at.timestamp() * 1000)).encode()),
    ]
