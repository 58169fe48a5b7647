"""What intake hands to the store: an alert with everything that pure code could say about it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from handrail.model.alert import Alert, Source
from handrail.model.finding import Finding
from handrail.model.reason import Reason
from handrail.model.target import LabelledTarget
from handrail.model.value import Value


class Arrival(Value):
    """`identity` = hash(alert name, labelled target, cluster); `episode` = hash(stable labels, startsAt)."""

    alert: Alert
    target: LabelledTarget | None
    findings: tuple[Finding, ...]
    identity: str
    episode: str


class Batch(Value):
    """All arrivals of one record. An empty one still leaves its inbox row, so that it is not decoded again.

    `sighted` are the awaited signals among them, each with when it was seen.
    """

    source: Source
    at: datetime
    arrivals: tuple[Arrival, ...] = ()
    sighted: dict[str, datetime] = {}


class Fate(StrEnum):
    OPENED = "opened"
    ATTACHED = "attached"
    RECORDED = "recorded"
    SEEN_BEFORE = "seen_before"


class Took(Value):
    """What became of one arrival (or of a whole record that was seen before); `reason` where it opened nothing."""

    fate: Fate
    incident: str = ""
    reason: Reason | None = None


class LastWord(Value):
    """What was heard last of one alert of an incident, `at` by our clock, where its journal ends with another word."""

    incident: str
    identity: str
    status: Literal["firing", "resolved"]
    seen_at: datetime
    at: datetime
