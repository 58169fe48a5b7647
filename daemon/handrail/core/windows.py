"""What detectors say of windows: of the events of one thing, and of a signal that has to keep coming. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from handrail.model.detector import Awaited, Detector, Watches, Window
from handrail.model.finding import Finding
from handrail.model.occurrence import Occurrence, distinct


def judge_of(detectors: Iterable[Detector]) -> Callable[[tuple[Occurrence, ...], datetime], tuple[Finding, ...]]:
    """What those that events wake say of the events of one thing, each within its own reach."""
    awake = tuple(detector for detector in detectors if Watches.EVENTS in detector.watches)

    def judge(events: tuple[Occurrence, ...], now: datetime) -> tuple[Finding, ...]:
        known = distinct(events)
        found: list[Finding] = []
        for each in awake:
            window = Window(events=tuple(one for one in known if now - one.seen_at <= each.reach))
            found += each.detect(window, now, each.Params())
        return tuple(found)

    return judge


def overdue(awaited: Awaited, detectors: Iterable[Detector], now: datetime) -> tuple[Finding, ...]:
    """What those that the clock wakes say of one awaited signal."""
    window = Window(awaited=(awaited,))
    awake = (detector for detector in detectors if Watches.TICK in detector.watches)
    return tuple(found for each in awake for found in each.detect(window, now, each.Params()))
