"""The second channel: one JSON object by HTTP POST to an address of the operator's, where Slack fails or is not used.

Decides nothing, and never logs or raises the address: its path and query are a secret. What is sent:

    {"incident": "inc-…", "state": "asking", "title": "…", "target": "…", "status": "…", "next_action": "…",
     "report": "…"}        report only at the end of an incident

Any 2xx is delivered. Delivery may happen twice, when an answer was lost.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from handrail.model.errors import BadConfig, Permanent, Transient

SECONDS = 10.0
PAUSES = (0.5, 2.0)
ATTEMPTS = len(PAUSES) + 1


class Webhook:
    """`url` is read at each use. `sleep` is for tests."""

    def __init__(self, url: Callable[[], str], sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._url = url
        self._sleep = sleep

    async def send(self, payload: Mapping[str, Any]) -> None:
        """Three attempts, then Transient. A refusal (4xx but 408 and 429) is Permanent: it would be refused again."""
        url = _absolute(self._url())
        body = json.dumps(payload, ensure_ascii=False).encode(errors="replace")
        why = ""
        for pause in (*PAUSES, None):
            why = await _post(url, body)
            if not why:
                return
            if pause is not None:
                await self._sleep(pause)
        raise Transient(f"the webhook did not take it {ATTEMPTS} times: {why}", retry_after=30.0)


def _absolute(url: str) -> str:
    """aiohttp's own complaint about a bad address would quote it."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        sound = False
    if not sound:
        raise BadConfig("webhook.url: what it points to is no http(s) address; put the whole address there")
    return url


async def _post(url: str, body: bytes) -> str:
    """ "" when it was taken, else why not, without the address."""
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    headers = {"Content-Type": "application/json"}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            status = answer.status
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as away:
        return type(away).__name__
    if 200 <= status < 300:
        return ""
    if status < 500 and status not in (408, 429):
        raise Permanent(f"the webhook refused it with HTTP {status}; check webhook.url and what listens there")
    return f"HTTP {status}"
