"""Formats that this build doesn't read, known by their keys: each has a name and what to configure instead.

Never guesses at their content: what names no Kubernetes object, or has no state that can be believed, is better routed
to Handrail by whoever raised it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from handrail.decode.text import clean

MAP_IT = "name its fields in alerts.mapping"
AT_ITS_SOURCE = "it names no Kubernetes object; let what raised the alert (Alertmanager, Grafana) write here too"
PROMETHEUS_API = (
    "an answer of Prometheus's alerts API: its activeAt is no start of firing and it lacks the external labels; "
    "let Alertmanager send its webhook"
)

FOREIGN: tuple[tuple[str, str, frozenset[str]], ...] = (
    (
        "an Alertmanager event-recorder entry",
        "it loses entries when its buffer is full; add a webhook receiver that writes here through a collector",
        frozenset({"@timestamp", "instance", "data"}),
    ),
    ("an SNS subscription request", "confirm it by hand: its address is never called", frozenset({"SubscribeURL"})),
    (
        "a CloudWatch alarm in an SNS message",
        "it names no Kubernetes object that can be believed; write a CloudEvent with labels, or alert from Prometheus",
        frozenset({"Type", "MessageId"}),
    ),
    (
        "an EventBridge event",
        f"let an input transformer write alertname, status and labels, or {MAP_IT}",
        frozenset({"detail-type", "detail"}),
    ),
    ("a Datadog webhook", f"{MAP_IT} (status: alert_transition)", frozenset({"alert_transition"})),
    ("a Datadog webhook", f"{MAP_IT} (status: alert_transition)", frozenset({"alert_cycle_key"})),
    ("a PagerDuty events v2 request", AT_ITS_SOURCE, frozenset({"event_action"})),
    ("an Opsgenie webhook", AT_ITS_SOURCE, frozenset({"action", "alert"})),
)
"""Name, advice, and the keys that tell a format; the first that has all of its keys counts."""


def foreign(data: object) -> str:
    """A name for people, with what to do, of a JSON value that no decoder of ours reads."""
    if not isinstance(data, dict):
        return f"a JSON {type(data).__name__}"
    for name, advice, keys in FOREIGN:
        if keys <= data.keys():
            return f"{name}: {advice}"
    return _by_shape(data)


def _by_shape(data: Mapping[str, object]) -> str:
    event, inner = data.get("event"), data.get("data")
    if isinstance(event, dict) and "event_type" in event:
        return f"a PagerDuty webhook (version 3): {AT_ITS_SOURCE}"
    if isinstance(inner, dict) and isinstance(inner.get("alerts"), list):
        return PROMETHEUS_API
    if "alerts" in data:
        version = clean(str(data.get("version")), 20)
        return f"an alert group of version {version!r}: version 4 of Alertmanager's and 1 of Grafana's are read"
    return _unknown(data)


def _unknown(data: Iterable[object]) -> str:
    shown = ", ".join(clean(str(key), 30) for key in list(data)[:8])
    if not shown:
        return "an empty JSON object"
    return f"a JSON object with the keys {shown}: if it is an alert, {MAP_IT}"
