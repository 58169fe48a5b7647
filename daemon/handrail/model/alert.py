"""One alert of one object at one time, whatever wire format brought it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from handrail.model.trusted import trusted
from handrail.model.value import Value


class Alert(Value):
    """Times are UTC; `starts_at` is None where the sender gave none or a zero time (alert-formats, section 7).

    `cluster` is "" where the sender did not say. `labels` are the sender's own, unmapped; all text is hostile
    and bounded by the decoder (64 labels, 4 KiB a value). `wire` names the format, for people and metrics.
    `message` names the message itself where its format does (a CloudEvent's source and id, a Kubernetes event's UID
    and count): the same words are the same message, however often it is delivered. `left_out` is how many more alerts
    of its group the sender says it has cut off (Alertmanager's `max_alerts`): they are nowhere here.
    """

    name: str
    status: Literal["firing", "resolved"]
    labels: dict[str, str]
    annotations: dict[str, str] = {}
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    seen_at: datetime
    cluster: str = ""
    severity: str = ""
    wire: str
    trace_id: str = ""
    message: str = ""
    left_out: int = 0


made = trusted(Alert)
"""For decoders, which have typed and bounded everything: an Alert that is not validated again."""


class Source(Value):
    """Where a record came from: one Kafka record, or one HTTP request (topic "http:<path>", offset 0)."""

    topic: str
    partition: int
    offset: int
    digest: str
