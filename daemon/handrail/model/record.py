"""A record of a topic (or one HTTP request's body) before and after decoding."""

from __future__ import annotations

from datetime import datetime

from handrail.model.alert import Alert
from handrail.model.reason import Reason
from handrail.model.value import Value


class Record(Value):
    """`at` is the broker's timestamp, UTC. `value` None is a tombstone."""

    topic: str
    partition: int
    offset: int
    key: bytes | None = None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    at: datetime


class Undecoded(Value):
    """One part of a record that is no alert, with the reason; its neighbours go on. `index` counts parts from 0;
    `times` is how many parts it stands for."""

    reason: Reason
    detail: str
    index: int = 0
    times: int = 1


class Passed(Value):
    """Parts that are no alerts and never meant to be one (a span that went well): no fault, so no dead letter."""

    what: str
    count: int = 1


class Decoded(Value):
    """What a record held. All may be filled: one bad alert never costs its neighbours."""

    alerts: tuple[Alert, ...] = ()
    refused: tuple[Undecoded, ...] = ()
    passed: tuple[Passed, ...] = ()


class Received(Value):
    """What became of one record once it is durable: how many alerts it held, and what was refused in it.

    `entries` is how many log records it held, where that was counted.
    """

    record: Record
    alerts: int = 0
    refused: Undecoded | None = None
    entries: int | None = None
