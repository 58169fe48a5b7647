"""Whether a freeze stands now, until when, and how that is said. Pure: the policy's windows and a time are arguments.

A window by the clock on the wall is never shorter than it reads: where summer time skips or repeats an hour, it begins
at the earlier moment and ends at the later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from handrail.core.words import one_line
from handrail.model.freeze import Day, Freeze, Weekly
from handrail.model.incident import Incident
from handrail.model.policy import Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.write import Write

EVERYWHERE = frozenset({"", "*"})
"""What belongs to no namespace belongs to the whole cluster: each freeze of anything holds it."""

CHAINED = 60
"""Windows that follow each other without a gap are one freeze; so many are followed to its end."""

AHEAD = 9
"""Days that are looked through for the next window of a weekly freeze: a week, and a day on either side."""

MINUTE = timedelta(minutes=1)


class Standing(NamedTuple):
    """`until` is when nothing of the policy stands any more that holds the same, at the earliest."""

    freeze: Freeze
    until: datetime


class Window(NamedTuple):
    begins: datetime
    ends: datetime

    def holds(self, at: datetime) -> bool:
        return self.begins <= at < self.ends


def refused(policy: Policy, about: Iterable[str], now: datetime) -> Refusal | None:
    """The no for a write about these namespaces, "" being the cluster."""
    found = standing(policy.freezes, about, now)
    return None if found is None else Refusal(reason=Reason.FROZEN, detail=said(found))


def about(incident: Incident, write: Write | None = None) -> frozenset[str]:
    """The namespaces that an incident's saga would touch, as a stop of a namespace counts them."""
    steps = incident.saga.steps if incident.saga else ()
    known = [step.target.namespace for step in steps]
    known += [one.write.object.namespace for one in (incident.rehearsal.writes if incident.rehearsal else ())]
    known += [incident.target.namespace] if incident.target else []
    known += [write.object.namespace] if write is not None else []
    return frozenset(known)


def standing(freezes: Iterable[Freeze], about: Iterable[str], now: datetime) -> Standing | None:
    """The first of the policy that stands now and holds any of these namespaces."""
    names = frozenset(about)
    holding = [one for one in freezes if _holds(one, names)]
    first = next((one for one in holding if _end_of(one, now)), None)
    return None if first is None else Standing(first, _until(holding, now))


def all_standing(freezes: Iterable[Freeze], now: datetime) -> tuple[Standing, ...]:
    """Each that stands now, whatever it holds, with its own end."""
    return tuple(Standing(one, _until([one], now)) for one in freezes if _end_of(one, now))


def next_window(freeze: Freeze, now: datetime) -> Window | None:
    """The first one that begins after now; None where there is none to come."""
    return min((one for one in _windows(freeze, now, AHEAD) if one.begins > now), default=None)


def said(found: Standing) -> str:
    """Name, end and, last, the reason."""
    name, why = one_line(found.freeze.name, 60), one_line(found.freeze.reason, 300).rstrip(".")
    return f"the freeze {name!r} stands until {when(found.until)}: {why}"


def when(at: datetime) -> str:
    """With its date, since a freeze is longer than a shift; never earlier than it is."""
    return f"{at.astimezone(UTC) + MINUTE - timedelta.resolution:%Y-%m-%d %H:%M} UTC"


def _holds(freeze: Freeze, about: frozenset[str]) -> bool:
    named = frozenset(freeze.namespaces)
    return not named or "*" in named or not about.isdisjoint(named | EVERYWHERE)


def _until(holding: list[Freeze], now: datetime) -> datetime:
    until = now
    for _ in range(CHAINED):
        ends = [end for one in holding if (end := _end_of(one, until))]
        if not ends:
            break
        until = max(ends)
    return until


def _end_of(freeze: Freeze, now: datetime) -> datetime | None:
    return max((one.ends for one in _windows(freeze, now) if one.holds(now)), default=None)


def _windows(freeze: Freeze, now: datetime, days: int = 2) -> Iterator[Window]:
    """Those that may stand now, and those of so many days to come."""
    if freeze.begins is not None and freeze.ends is not None:
        yield Window(freeze.begins, freeze.ends)
    if freeze.weekly is not None:
        zone = ZoneInfo(freeze.weekly.zone)
        today = now.astimezone(zone).date()
        for offset in range(-2, days):
            yield from _on(freeze.weekly, zone, today + timedelta(days=offset))


def _on(weekly: Weekly, zone: ZoneInfo, day: date) -> Iterator[Window]:
    if tuple(Day)[day.weekday()] not in weekly.days:
        return
    over_night = weekly.ends <= weekly.begins
    last = day + timedelta(days=1) if over_night else day
    yield Window(min(_moments(day, weekly.begins, zone)), max(_moments(last, weekly.ends, zone)))


def _moments(day: date, at: time, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Both readings of a clock that is put back, or that never shows this time; else the same moment twice."""
    read = datetime.combine(day, at, tzinfo=zone)
    return read.replace(fold=0).astimezone(UTC), read.replace(fold=1).astimezone(UTC)
