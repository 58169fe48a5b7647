"""Prometheus as a source of numbers: one range query, bounded in bytes and time. Never follows a redirect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp

from handrail.adapters.settings import Secret
from handrail.core.redact import redact
from handrail.model.config import PrometheusConfig
from handrail.model.errors import BadConfig, Permanent, Transient

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
        self._timeout = aiohttp.ClientTimeout(total=config.seconds)
        self._token = token or (Secret(config.token, "prometheus.token") if config.token else None)

    async def range(self, query: str, start: datetime, end: datetime, step: int) -> tuple[Series, ...]:
        """At most 20 series, in the order of their labels; `step` in seconds. Raises Transient, Permanent."""
        asked = {"query": query, "start": _seconds(start), "end": _seconds(end), "step": str(step)}
        headers = {"Authorization": f"Bearer {self._token()}"} if self._token else {}
        status, raw = await self._get(asked, headers)
        if status in (429, 502, 503, 504):
            raise Transient(f"Prometheus answers {status}")
        if status != 200:
            raise Permanent(f"Prometheus answers {status}: {redact(raw.decode(errors='replace'), 300)}")
        return _series(raw)

    async def _get(self, asked: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            async with (
                aiohttp.ClientSession(timeout=self._timeout, trust_env=True) as session,
                session.get(self._url, params=asked, headers=headers, allow_redirects=False) as response,
            ):
                raw = bytearray()
                async for chunk in response.content.iter_chunked(64 * 1024):
                    raw += chunk
                    if len(raw) > MOST_BYTES:
                        raise Permanent(f"Prometheus answers with more than {MOST_BYTES} bytes")
                return response.status, bytes(raw)
        except aiohttp.InvalidURL as error:
            raise Permanent("prometheus.url is no URL") from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            said = redact(str(error) or "no answer in time", 300)
            raise Transient(f"Prometheus is away: {type(error).__name__}: {said}") from error


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
