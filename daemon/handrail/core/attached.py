"""What else fires about the same object, counted for whoever decides: how many, since when, which names. Pure.

Alerts are told apart by name and labelled target: a repeat is none of its own. Their names are text of the world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from handrail.core.changes import MOST_ALERTS
from handrail.core.words import clock, one_line, plural
from handrail.model.alert import Alert
from handrail.model.incident import Incident
from handrail.model.labels import labelled_target

MOST_NAMES = 5


def attached(incident: Incident) -> tuple[str, ...]:
    """One line; () where there is the one alert only that opened it."""
    last = {_told_apart(alert): alert for alert in incident.alerts}
    if len(last) < 2:
        return ()
    least = "at least " if len(incident.alerts) >= MOST_ALERTS else ""
    since = min(alert.starts_at or alert.seen_at for alert in incident.alerts)
    over = sum(alert.status == "resolved" for alert in last.values())
    ended = f"; {over} of them say that they are resolved" if over else ""
    return (f"{least}{plural(len(last), 'alert')} about it since {clock(since)}: {_names(last.values())}{ended}",)


def _told_apart(alert: Alert) -> tuple[str, str]:
    return alert.name, str(labelled_target(alert))


def _names(alerts: Iterable[Alert]) -> str:
    counted = Counter(alert.name for alert in alerts)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    more = [f"{len(ranked) - MOST_NAMES} other names"] if len(ranked) > MOST_NAMES else []
    return ", ".join([*(f"{one_line(name, 60)} {times}" for name, times in ranked[:MOST_NAMES]), *more])
