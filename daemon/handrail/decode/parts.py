"""One record's parts, each an alert or a refusal: one bad part never costs its neighbours, and there is an end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import NamedTuple

from handrail.decode.text import MAX_KEY, clean
from handrail.model.alert import Alert
from handrail.model.mapping import NO_MAPPING, AlertMapping
from handrail.model.reason import Reason, Refusal
from handrail.model.record import Decoded, Passed, Undecoded
from handrail.model.trusted import trusted

MAX_ALERTS = 1000
MAX_REFUSED = 100
MAX_DETAIL = 300

Part = Alert | Refusal | Passed

_decoded = trusted(Decoded)

EVENT_AGE = timedelta(minutes=15)


class Origin(NamedTuple):
    """What all alerts of one record share: `at` is the broker's time, `wire` the format's name.

    `cluster` stands in where an alert names none; Kubernetes events older than `event_age` are passed over;
    `message` is `Alert.message`.
    """

    at: datetime
    wire: str
    mapping: AlertMapping = NO_MAPPING
    event_age: timedelta = EVENT_AGE
    cluster: str = ""
    message: str = ""

    def within(self, wire: str, cluster: str = "") -> Origin:
        """Of a format inside another's: "otlp_json+alertmanager"."""
        joined = f"{self.wire}+{wire}" if self.wire else wire
        return Origin(self.at, joined, self.mapping, self.event_age, cluster or self.cluster, self.message)


def refuse(reason: Reason, detail: str) -> Refusal:
    """A refusal with bounded words."""
    return Refusal(reason=reason, detail=clean(detail, MAX_DETAIL))


def passed(what: str) -> Passed:
    """`what` is one of our own few sentences: parts of the same are counted together."""
    return Passed(what=what)


def named(name: str) -> str:
    """An alert's name as it is kept."""
    return clean(name, MAX_KEY).strip()


def only(reason: Reason, detail: str) -> Decoded:
    """The whole record is no alert."""
    return collect((refuse(reason, detail),))


def collect(parts: Iterable[Part]) -> Decoded:
    """Counts parts from 0; past the bounds they are counted and said, not kept."""
    coming = iter(parts)
    first = tuple(islice(coming, MAX_ALERTS))
    rest = next(coming, None)
    if rest is None and {type(part) for part in first} == {Alert}:
        return _decoded(alerts=first)  # nearly always
    return _counted(chain(first, () if rest is None else (rest,), coming))


def _counted(parts: Iterable[Part]) -> Decoded:
    alerts: list[Alert] = []
    refused: list[Undecoded] = []
    over: dict[str, int] = {}
    past = silent = 0
    for index, part in enumerate(parts):
        if type(part) is Alert:  # as often as alerts come: a model's isinstance is slow
            if len(alerts) < MAX_ALERTS:
                alerts.append(part)
            else:
                past += 1
        elif isinstance(part, Passed):
            over[part.what] = over.get(part.what, 0) + part.count
        elif isinstance(part, Refusal) and len(refused) < MAX_REFUSED:
            refused.append(Undecoded(reason=part.reason, detail=part.detail, index=index))
        else:
            silent += 1
    if past:
        refused.append(
            Undecoded(reason=Reason.TOO_LARGE, detail=f"{past} alerts past the first {MAX_ALERTS}", times=past)
        )
    if silent:
        refused.append(Undecoded(reason=refused[0].reason, detail=f"{silent} more parts were refused", times=silent))
    if not alerts and not refused and not over:
        refused.append(Undecoded(reason=Reason.NO_ALERT, detail="holds nothing at all", index=0))
    shown = tuple(Passed(what=what, count=count) for what, count in over.items())
    return _decoded(alerts=tuple(alerts), refused=tuple(refused), passed=shown)
