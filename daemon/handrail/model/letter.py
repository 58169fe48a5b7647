"""A dead letter: a record that was no alert, as it lies in the dead-letter topic, and what its headers say of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from handrail.model.value import Value


class Place(NamedTuple):
    """Of a record in Kafka."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class Letter(Value):
    """`at` is when the brokers first had the record, `buried_at` when it became a letter; both UTC. `came_from` is
    where the record lay, None where the headers do not say. `headers` are the record's own.

    `bytes_left_out` says how large a value was that no longer fitted. `replayed_at` is each time that the letter was
    sent back; `returned` names the letter that the record had been before, "" for most.
    """

    place: Place
    at: datetime
    buried_at: datetime
    came_from: Place | None
    reason: str
    detail: str
    part: int = 0
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    bytes_left_out: int = 0
    returned: str = ""
    replayed_at: tuple[datetime, ...] = ()
