"""The arguments of a Web API call, from query, form or JSON, read as strictly as Slack reads them.

In a JSON body a value of the wrong type is refused (`invalid_arguments`); Slack posts a reply with a float `thread_ts`
nowhere visible, which no test should have to discover. Form and query values are strings.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]


@dataclass
class Refused(Exception):
    """Slack's `ok: false`; `messages` are the lines of response_metadata."""

    error: str
    messages: list[str] = field(default_factory=list)
    extra: Json = field(default_factory=dict)

    def body(self) -> Json:
        body: Json = {"ok": False, "error": self.error, **self.extra}
        if self.messages:
            body["errors"] = list(self.messages)
            body["response_metadata"] = {"messages": [f"[ERROR] {line}" for line in self.messages]}
        return body


def missing(name: str) -> Refused:
    return Refused("invalid_arguments", [f"missing required field: {name}"])


class Arguments:
    """`names()` are those that the caller sent; the readers note which of them the method knows."""

    def __init__(self, values: Json) -> None:
        self.values = values
        self._known: set[str] = set()

    def unknown(self) -> list[str]:
        """Names that no reader has asked for; Slack ignores them silently."""
        return sorted(set(self.values) - self._known)

    def ignore(self, *names: str) -> None:
        """Known to the method, without effect in this fake."""
        self._known.update(names)

    def not_modelled(self, *names: str) -> None:
        self._known.update(names)
        for name in names:
            if name in self.values:
                raise Refused("invalid_arguments", [f"this fake does not model {name} [json-pointer:/{name}]"])

    def _take(self, name: str) -> Any:
        self._known.add(name)
        return self.values.get(name)

    def text(self, name: str) -> str | None:
        value = self._take(name)
        if value is not None and not isinstance(value, str):
            raise Refused("invalid_arguments", [f"must provide a string [json-pointer:/{name}]"])
        return value

    def needed(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise missing(name)
        return value

    def flag(self, name: str) -> bool:
        value = self._take(name)
        if value not in (None, True, False, "0", "1", "true", "false"):
            raise Refused("invalid_arguments", [f"must be a boolean [json-pointer:/{name}]"])
        return value in (True, "1", "true")

    def number(self, name: str, default: int) -> int:
        value = self._take(name)
        try:
            return default if value is None else int(value)
        except (TypeError, ValueError):
            raise Refused("invalid_arguments", [f"must be an integer [json-pointer:/{name}]"]) from None

    def json(self, name: str, broken: str) -> Any:
        """A structure, or the JSON text of one; `broken` is the error of text that is no JSON."""
        value = self._take(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise Refused(broken) from None


async def read(request: web.Request) -> Arguments:
    values: Json = dict(request.query)
    kind = request.content_type
    if request.method == "POST" and request.can_read_body:
        if kind == "application/json":
            try:
                body = await request.json()
            except ValueError:
                raise Refused("invalid_json") from None
            if not isinstance(body, dict):
                raise Refused("json_not_object")
            values |= body
        elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
            values |= {name: str(value) for name, value in (await request.post()).items()}
        else:
            raise Refused("invalid_post_type")
    return Arguments(values)
