"""A signal that should keep coming does not come any more (`alerts.expected`): the heartbeat of a job or a sender.

Confirmed by nothing: that something is missing is no proof of why. Traps: after a start everything has its whole time
again, since what came meanwhile is still being read; a signal that was never seen counts from then on; a resolved
alert is no sighting. Hands over its name and when it was seen last; a person has to look, there is no object to act
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from handrail.model.detector import Awaited, Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail_detectors._made import Facts, Made, Said, Settings, finding
from handrail_detectors._silence import silent_for

NAME = "expected_signal"


class Params(Settings):
    """Nothing to set: what is expected, and how long, is said in `alerts.expected`."""


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    for awaited in window.awaited:
        minutes = silent_for(awaited, now)
        if minutes is not None and not awaited.shows_alerting:
            yield finding(NAME, None, _said(awaited, minutes))


def _said(awaited: Awaited, minutes: int) -> Said:
    facts: Facts = {"signal": awaited.name, "silent_minutes": minutes, "ever_seen": awaited.last_seen is not None}
    summary = f"{awaited.name} has not come for {minutes} minutes, and should at least every {_limit(awaited)} minutes"
    return Said(Cause.SIGNAL_GONE, Handling.DIAGNOSE, summary, facts, corroborated=False)


def _limit(awaited: Awaited) -> int:
    return int(awaited.within.total_seconds() // 60)


detector = Made(
    name=NAME,
    watches=frozenset({Watches.TICK}),
    Params=Params,
    find=find,
    confirmed_by="nothing: that something is missing is no proof of why",
    example="NightlyBackupDone has not come for 20 minutes, and should at least every 15 minutes",
)
