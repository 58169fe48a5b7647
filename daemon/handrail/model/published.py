"""An event of a journal as it is published for others: the contract of the topic `kafka.events_topic`.

Every message says that it is ours, so that it can never be taken for an alert (keep #5111: own output set off a run).
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from handrail.model.events import Event
from handrail.model.value import Value

FORMAT = 1
"""Rises only when a reader of the messages would break: a removed or changed field. New fields and kinds do not."""

OWN = "handrail"

SEALED = "handrail.reason"
"""A header that every dead letter bears, and nothing else."""

ORIGIN = "handrail.origin"
"""A header that every published event bears, and nothing else."""

REPLAYED = "handrail.replayed"
"""A header of a record that was a dead letter (topic/partition/offset of the letter), and of the note that it was."""

FIRST_AT = "handrail.at"
"""A header: when the brokers first had a record, in milliseconds since 1970. Replayed, it is as old as that still."""


class Published(Value):
    """`seq` counts from 1 in an incident, without gaps; `version` is that of the kind. `at` is UTC.

    `event` is null where it is larger than a message may be: `bytes_left_out` says how large, and
    `handrail incidents show` has it.
    """

    origin: Literal["handrail"] = "handrail"
    format: Literal[1] = 1
    cluster: str
    incident: str
    seq: int
    at: datetime
    actor: str
    kind: str
    version: int
    event: Event | None
    bytes_left_out: int = 0
