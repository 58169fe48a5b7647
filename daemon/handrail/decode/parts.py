"""One record's parts, each an alert or a refusal: one bad part never costs its neighbours, and there is an end."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import NamedTuple

from handrail.decode.text import MAX_KEY, clean
from handrail.model.alert import Alert
from handrail.model.mapping import NO_MAPPING, AlertMapping
from handrail.model.reason import Reason, Refusal
from handrail.model.record import Decoded, Passed, Undecoded
from handrail.model.trusted import trusted

MAX_ALERTS = 5000
"""Of one record, which is taken whole or not at all: more than Alertmanager gets into the 4 MiB that are read, and no
more than are durable before their sender gives up waiting."""

MAX_REFUSED = 100
MAX_DETAIL = 300

TURN = 64
"""Parts after which others have their turn, where a record is read in turns."""

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


def collect(parts: Iterable[Part]) -> Decoded:
    """Counts parts from 0. Refusals past the bound are counted and said, not kept; alerts past theirs refuse the whole
    record, so that none of it is ever neither taken nor refused."""
    coming = iter(parts)
    first = tuple(islice(coming, MAX_ALERTS))
    rest = next(coming, None)
    if rest is None and {type(part) for part in first} == {Alert}:
        return _decoded(alerts=first)  # nearly always
    return run_out(in_turns(chain(first, () if rest is None else (rest,), coming)))


def run_out(turns: Generator[None, None, Decoded]) -> Decoded:
    """All turns at once."""
    while True:
        try:
            next(turns)
        except StopIteration as done:
            found: Decoded = done.value
            return found


def in_turns(parts: Iterable[Part]) -> Generator[None, None, Decoded]:
    """As `collect`, but gives way after every TURN parts."""
    found = _Found()
    for index, part in enumerate(parts):
        if index % TURN == TURN - 1:
            yield
        found.add(index, part)
        if len(found.alerts) > MAX_ALERTS:
            detail = f"more than {MAX_ALERTS} alerts at once: nothing of it was taken; have them sent in smaller groups"
            return _decoded(refused=(Undecoded(reason=Reason.TOO_LARGE, detail=detail, times=index + 1),))
    return found.decoded()


class _Found:
    """The parts of one record so far."""

    def __init__(self) -> None:
        self.alerts: list[Alert] = []
        self._refused: list[Undecoded] = []
        self._over: dict[str, int] = {}
        self._silent = 0

    def add(self, index: int, part: Part) -> None:
        if type(part) is Alert:  # as often as alerts come: a model's isinstance is slow
            self.alerts.append(part)
        elif isinstance(part, Passed):
            self._over[part.what] = self._over.get(part.what, 0) + part.count
        elif isinstance(part, Refusal) and len(self._refused) < MAX_REFUSED:
            self._refused.append(Undecoded(reason=part.reason, detail=part.detail, index=index))
        else:
            self._silent += 1

    def decoded(self) -> Decoded:
        refused, silent = self._refused, self._silent
        if silent:
            detail = f"{silent} more parts were refused"
            refused.append(Undecoded(reason=refused[0].reason, detail=detail, times=silent))
        if not self.alerts and not refused and not self._over:
            refused.append(Undecoded(reason=Reason.NO_ALERT, detail="holds nothing at all", index=0))
        shown = tuple(Passed(what=what, count=count) for what, count in self._over.items())
        return _decoded(alerts=tuple(self.alerts), refused=tuple(refused), passed=shown)
