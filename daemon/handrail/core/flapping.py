"""Whether an alert has settled: resolved a moment ago and firing again, it may be either one of a pair's word. Pure.

It only waits. What is true is seen on the live object afterwards (alertmanager#4008, #3551, prometheus#5277).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.core.changes import is_own
from handrail.model.incident import Incident

LONGEST = 5
"""So many hold-downs at most, counted from the beginning of the look: what flaps on is looked at all the same."""


def settled_at(incident: Incident, hold_down: timedelta) -> datetime | None:
    """When it may be looked at; None where it does not flap. By our own clock: senders' clocks differ."""
    since = _changed_back(incident)
    return min(since + hold_down, incident.moved_at + LONGEST * hold_down) if since else None


def _changed_back(incident: Incident) -> datetime | None:
    own = [alert.status for alert in incident.alerts if is_own(incident, alert)]
    if own[-1] != "firing":
        return None
    if "resolved" in own:
        return incident.resolved_seen_at
    echo = incident.follows is not None and incident.follows.echo
    return incident.opened_at if echo else None
