"""One record's parts, each an alert or a refusal: one bad part never costs its neighbours, and there is an end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from handrail.decode.text import MAX_KEY, clean
from handrail.model.alert import Alert
from handrail.model.reason import Reason, Refusal
from handrail.model.record import Decoded, Undecoded

MAX_ALERTS = 1000
MAX_REFUSED = 100
MAX_DETAIL = 300

Part = Alert | Refusal


class Origin(NamedTuple):
    """What all alerts of one record share: `at` is the broker's time, `wire` the format's name."""

    at: datetime
    wire: str


def refuse(reason: Reason, detail: str) -> Refusal:
    """A refusal with bounded words."""
    return Refusal(reason=reason, detail=clean(detail, MAX_DETAIL))


def named(name: str) -> str:
    """An alert's name as it is kept."""
    return clean(name, MAX_KEY).strip()


def only(reason: Reason, detail: str) -> Decoded:
    """The whole record is no alert."""
    return collect((refuse(reason, detail),))


def collect(parts: Iterable[Part]) -> Decoded:
    """Counts parts from 0; past the bounds they are counted and said, not kept."""
    alerts: list[Alert] = []
    refused: list[Undecoded] = []
    past = silent = 0
    for index, part in enumerate(parts):
        if isinstance(part, Alert) and len(alerts) < MAX_ALERTS:
            alerts.append(part)
        elif isinstance(part, Alert):
            past += 1
        elif len(refused) < MAX_REFUSED:
            refused.append(Undecoded(reason=part.reason, detail=part.detail, index=index))
        else:
            silent += 1
    if past:
        refused.append(Undecoded(reason=Reason.TOO_LARGE, detail=f"{past} alerts past the first {MAX_ALERTS}", index=0))
    if silent:
        refused.append(Undecoded(reason=refused[0].reason, detail=f"{silent} more parts were refused", index=0))
    return Decoded(alerts=tuple(alerts), refused=tuple(refused))
