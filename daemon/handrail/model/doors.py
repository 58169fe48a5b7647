"""The ways in by HTTP: each a path, read as a topic of its own would be. Presence makes none of them open."""

from __future__ import annotations

from handrail.model.config import TopicConfig

PREFIX = "http:"

ALERTMANAGER = TopicConfig(name="http:/v1/alerts/alertmanager", encoding="alertmanager")
GRAFANA = TopicConfig(name="http:/v1/alerts/grafana", encoding="grafana")
LOGS = TopicConfig(name="http:/v1/logs", signal="logs", encoding="otlp_proto")
LOGS_JSON = TopicConfig(name="http:/v1/logs+json", signal="logs", encoding="otlp_json")
"""One path, two doors: what the body is says its content type."""

DOORS = {door.name: door for door in (ALERTMANAGER, GRAFANA, LOGS, LOGS_JSON)}


def path_of(door: TopicConfig) -> str:
    """The path that it is reached by."""
    return door.name.removeprefix(PREFIX).removesuffix("+json")
