"""Which findings stop every write, for how long, and how that is said. Pure.

A claim is enough to stop: what one would act on may be stale, or nobody would be told how it went. Only what is
critical does; a warning about the control plane is told and stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from handrail.core.words import clock, one_line
from handrail.model.condition import Condition
from handrail.model.finding import Cause, Finding
from handrail.model.reason import Reason, Refusal

STOPPING = {
    Cause.CONTROL_PLANE_SICK: Reason.CONTROL_PLANE_SICK,
    Cause.MONITORING_GONE: Reason.MONITORING_GONE,
}

TOLD = timedelta(hours=4, minutes=15)
"""For an alert that is not resolved: Alertmanager repeats it every four hours by default, and then it counts anew.
A silence is looked at with every tick."""

SEEN = timedelta(minutes=30)
"""For what the eyes have seen of the nodes: it is looked at again with the next alert."""

LOOK_AGAIN = timedelta(minutes=10)
"""A question that a condition would refuse waits so long, twice; then a person gets the incident."""

REASONS = frozenset({*STOPPING.values(), Reason.STORM})


def raised(identity: str, findings: Iterable[Finding], now: datetime, holds: timedelta) -> Condition | None:
    """The condition that these findings raise, if any."""
    for finding in findings:
        if finding.cause in STOPPING and finding.severity == "critical":
            return Condition(
                identity=identity,
                reason=STOPPING[finding.cause],
                what=one_line(finding.summary, 300),
                since=now,
                until=now + holds,
            )
    return None


def refused(conditions: Iterable[Condition], now: datetime) -> Refusal | None:
    """The gate's no, for the one that has stood longest."""
    standing = [one for one in conditions if one.until > now]
    if not standing:
        return None
    first = min(standing, key=lambda one: (one.since, one.identity))
    more = f" (and {len(standing) - 1} more)" if len(standing) > 1 else ""
    return Refusal(reason=first.reason, detail=f"{first.what}, since {clock(first.since)}{more}")
