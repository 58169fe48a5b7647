"""When an episode is over that nobody takes back: its alert is not repeated any more. Pure.

Some senders never say resolved (`send_resolved: false`, a program that tells once), so an episode ends by itself
(alertmanager#1063). That is data and no proof, as a resolved alert is: the live object decides what follows. Nor is it
silence where nobody listened.
"""

from __future__ import annotations

from datetime import datetime

from handrail.core import storm
from handrail.core.conditions import TOLD
from handrail.model import events as ev
from handrail.model.incident import Incident


def lapsed(incident: Incident, now: datetime, listens_since: datetime | None = None) -> ev.Lapsed | None:
    """None while it may still be repeated, where it said resolved itself, and where a person began the incident. What
    came before this process listened may still be unread."""
    asked_for = incident.taking_back or (incident.follows is not None and incident.follows.how != "alert")
    since = _last_heard(incident)
    resolved = incident.resolved_seen_at is not None and incident.resolved_seen_at >= since
    deaf_until = max(since, _quiet_until(incident), listens_since or since)
    if asked_for or resolved or storm.is_page(incident) or now - deaf_until <= TOLD:
        return None
    return ev.Lapsed(since=since)


def _last_heard(incident: Incident) -> datetime:
    """Of it or of what was attached to it; never from before it was opened, since a record may be old."""
    return max(incident.opened_at, *(alert.seen_at for alert in incident.alerts if alert.status == "firing"))


def _quiet_until(incident: Incident) -> datetime:
    """What is silenced is not repeated either."""
    return incident.silenced.until if incident.silenced else incident.opened_at
