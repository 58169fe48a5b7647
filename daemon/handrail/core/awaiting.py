"""Signals that have to keep coming: which alerts are sightings of them, and the alert that their silence is. Pure.

A resolved alert is no sighting, nor is one of another cluster. Silence becomes an alert like any other, so that it goes
the way of all: one incident an episode, and one that begins with the last sighting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from handrail.model.alert import Alert, Source
from handrail.model.config import AlertsConfig, Config, ExpectedSignal
from handrail.model.detector import Awaited
from handrail.model.finding import Finding
from handrail.model.value import digest

TOPIC = "tick:"
"""Sources of what the clock alone has found begin with it; nothing was consumed, so there is no place to be seen at."""

GONE = "Gone: "
"""How the alert of a silence is named."""


class Awaiting:
    """The awaited signals of a configuration, for looking alerts up by name."""

    def __init__(self, config: Config) -> None:
        self._cluster = config.cluster
        self._by_name: dict[str, list[ExpectedSignal]] = {}
        for signal in config.alerts.awaited:
            self._by_name.setdefault(signal.name, []).append(signal)

    def among(self, alerts: Iterable[Alert]) -> dict[str, datetime]:
        """The key of each that is among them, with when it was seen last. Nothing is awaited nearly always."""
        if not self._by_name:
            return {}
        found: dict[str, datetime] = {}
        for alert in alerts:
            for signal in self._by_name.get(alert.name, ()):
                if self._is_one(alert, signal):
                    found[signal.key] = max(alert.seen_at, found.get(signal.key, alert.seen_at))
        return found

    def _is_one(self, alert: Alert, signal: ExpectedSignal) -> bool:
        ours = alert.cluster == self._cluster.name if alert.cluster else self._cluster.accept_unlabelled
        return ours and alert.status == "firing" and signal.labels.items() <= alert.labels.items()


def awaited(alerts: AlertsConfig, seen: Mapping[str, datetime], since: datetime) -> tuple[Awaited, ...]:
    """Each with its last sighting; `since` is when this process began to wait."""
    return tuple(
        Awaited(
            name=signal.name,
            labels=signal.labels,
            within=timedelta(minutes=signal.minutes),
            since=since,
            last_seen=seen.get(signal.key),
            shows_alerting=alerts.watchdog is not None and index == 0,
        )
        for index, signal in enumerate(alerts.awaited)
    )


def silence(signal: Awaited, found: tuple[Finding, ...], cluster: str, now: datetime) -> Alert:
    """The alert that says so, or would. It began with the last sighting: each silence is an episode of its own."""
    name = f"{GONE}{signal.name}"
    return Alert(
        name=name,
        status="firing",
        labels={**signal.labels, "alertname": name, "signal": signal.name},
        annotations={"summary": found[0].summary} if found else {},
        starts_at=signal.last_seen or signal.since,
        seen_at=now,
        cluster=cluster,
        severity=found[0].severity if found else "",
        wire="tick",
    )


def source(detector: str, alert: Alert) -> Source:
    """Of what a detector found by the clock."""
    return Source(topic=f"{TOPIC}{detector}", partition=0, offset=0, digest=digest(alert))
