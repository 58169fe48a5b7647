"""The alert that always fires does not come any more: alerts themselves may not (`alerts.watchdog`).

Confirmed by nothing but the silence; it stops every write until it comes again (`MONITORING_GONE`), since an incident
that no alert can contradict is acted on blindly. Traps: Alertmanager repeats an alert at its route's
`repeat_interval`, so the time allowed must be longer; after a start it has its whole time again; a resolved Watchdog
is no sighting. Hands over when it was seen last.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail_detectors._made import Facts, Made, Said, Settings, finding
from handrail_detectors._silence import silent_for

NAME = "watchdog_gone"


class Params(Settings):
    """Nothing to set: its name and how long is said in `alerts.watchdog`."""


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    for awaited in window.awaited:
        minutes = silent_for(awaited, now)
        if minutes is not None and awaited.shows_alerting:
            facts: Facts = {"signal": awaited.name, "silent_minutes": minutes}
            summary = f"{awaited.name}, which always fires, has not come for {minutes} minutes: alerts may be lost"
            said = Said(
                Cause.MONITORING_GONE, Handling.DIAGNOSE, summary, facts, corroborated=False, severity="critical"
            )
            yield finding(NAME, None, said)


detector = Made(
    name=NAME,
    watches=frozenset({Watches.TICK}),
    Params=Params,
    find=find,
    confirmed_by="nothing but the silence",
    example="Watchdog, which always fires, has not come for 16 minutes: alerts may be lost",
)
