"""A request that is sent to two clusters, and how a list of them is sent to one.

Decides: how answers are polled for and what later requests may know of earlier ones. Never judges an answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.sim import normal

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

_PATIENCE_S = 120.0
_POLL_S = 0.05


@dataclass(frozen=True)
class Reply:
    """What a cluster answered; a body that is no JSON is text."""

    status: int
    body: Any


@dataclass
class Seen:
    """The earlier answers by the names of their requests, and the token that all requests carry."""

    token: str
    replies: dict[str, Reply] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.replies[name].body

    def uid(self, name: str) -> str:
        return str(self[name]["metadata"]["uid"])

    def version(self, name: str) -> str:
        return str(self[name]["metadata"]["resourceVersion"])


@dataclass(frozen=True)
class Ask:
    """One request. `path` and `body` may be made of what was seen before; `until` polls a GET."""

    name: str
    method: str
    path: str | Callable[[Seen], str]
    body: Any = None
    content_type: str = JSON
    query: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    until: Callable[[Any], bool] | None = None
    shows: Callable[[Any], Any] = normal.whole


Send = Callable[[Ask, str, Any], Awaitable[Reply]]


async def run(asks: Iterable[Ask], send: Send, token: str) -> dict[str, Reply]:
    """Send these requests in order and return the answers by name."""
    seen = Seen(token)
    for ask in asks:
        seen.replies[ask.name] = await _answer(ask, send, seen)
    return seen.replies


async def _answer(ask: Ask, send: Send, seen: Seen) -> Reply:
    try:
        path = ask.path(seen) if callable(ask.path) else ask.path
        body = ask.body(seen) if callable(ask.body) else ask.body
    except (LookupError, TypeError) as error:
        return Reply(0, f"could not be asked after what was answered before: {error!r}")
    end = asyncio.get_running_loop().time() + _PATIENCE_S
    while True:
        reply = await send(ask, path, body)
        if ask.until is None or (reply.status == ask.status and ask.until(reply.body)):
            return reply
        if asyncio.get_running_loop().time() > end:
            return Reply(reply.status, {"never came true": reply.body})
        await asyncio.sleep(_POLL_S)


def versions(replies: Mapping[str, Reply]) -> dict[str, str]:
    """How the version of each answered object stands to the one it had when it was last seen."""
    last: dict[str, int] = {}
    found = {}
    for name, reply in replies.items():
        metadata = reply.body.get("metadata", {}) if isinstance(reply.body, dict) else {}
        if "uid" not in metadata:
            continue
        found[name] = _relation(last.get(metadata["uid"]), metadata.get("resourceVersion"))
        if "resourceVersion" in metadata:
            last[metadata["uid"]] = int(metadata["resourceVersion"])
    return found


def _relation(before: int | None, version: str | None) -> str:
    if version is None:
        return "none"
    if before is None:
        return "first"
    return "same" if int(version) == before else "newer" if int(version) > before else "older"


def read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
