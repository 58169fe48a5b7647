"""Prometheus as a source of numbers: one range query, bounded in bytes and time. Never follows a redirect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from handrail.adapters import bounded
from handrail.adapters.settings import Secret
from handrail.model.config import PrometheusConfig
from handrail.model.errors import BadConfig, Permanent

MOST_BYTES = 1024 * 1024
MOST_SERIES = 20


@dataclass(frozen=True, slots=True)
class Series:
    """`points` are (seconds since the epoch, value), oldest first; a value may be NaN."""

    labels: dict[str, str]
    points: tuple[tuple[float, float], ...]


class Prometheus:
    """`token` gives the bearer token as it is now; by default the one that the configuration names.

    Raises BadConfig for a URL that is none.
    """

    def __init__(self, config: PrometheusConfig, token: Callable[[], str] | None = None) -> None:
        if not config.url.startswith(("http://", "https://")):
            raise BadConfig("prometheus.url: must begin with http:// or https://")
        self._url = config.url.rstrip("/") + "/api/v1/query_range"
        self._server = bounded.Server("Prometheus", "prometheus.url", config.seconds, MOST_BYTES)
        self._token = token or (Secret(config.token, "prometheus.token") if config.token else None)

    async def range(self, query: str, start: datetime, end: datetime, step: int) -> tuple[Series, ...]:
        """At most 20 series, in the order of their labels; `step` in seconds. Raises Transient, Permanent."""
        asked = {"query": query, "start": _seconds(start), "end": _seconds(end), "step": str(step)}
        return _series(await bounded.get(self._server, self._url, asked, self._token() if self._token else ""))


def _seconds(at: datetime) -> str:
    return f"{at.timestamp():.3f}"


def _series(raw: bytes) -> tuple[Series, ...]:
    try:
        data = json.loads(raw)["data"]
        if data["resultType"] != "matrix":
            raise ValueError(data["resultType"])
        found = [_one(entry) for entry in data["result"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Permanent("Prometheus answers with something that is no matrix") from error
    return tuple(sorted(found, key=lambda one: sorted(one.labels.items())))[:MOST_SERIES]


def _one(entry: dict[str, Any]) -> Series:
    labels = {str(name): str(text) for name, text in entry["metric"].items()}
    return Series(labels, tuple((float(at), float(value)) for at, value in entry["values"]))
