"""What Slack would accept but show badly: noted as warnings that a test can require to be absent.

Notes code fences and code spans left open (the rest of the message is then shown as code, or as prose), broadcast
mentions, which wake a whole channel, and addresses that Slack would make a link of. Judges no other markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack.blocks import texts

FENCE = "```"
_BROADCAST = re.compile(r"<!(channel|here|everyone)\b")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")


@dataclass(frozen=True)
class Warned:
    """`kind` is open_fence, open_code, broadcast, link, truncated, unknown_argument or reply_to_reply."""

    kind: str
    method: str
    detail: str


def _open_marks(text: str) -> Iterator[tuple[str, str]]:
    pieces = text.split(FENCE)
    if len(pieces) % 2 == 0:
        yield "open_fence", pieces[-1][:80]
    for prose in pieces[::2]:
        for line in prose.splitlines():
            if line.count("`") % 2:
                yield "open_code", line[:80]


def marks(method: str, text: str, blocks: list[Any]) -> Iterator[Warned]:
    """The warnings that this message deserves."""
    read = [("mrkdwn", text), *texts(blocks)]
    for kind, each in read:
        if kind == "plain_text":
            continue
        for name, detail in _open_marks(each):
            yield Warned(name, method, detail)
        if _BROADCAST.search(each):
            yield Warned("broadcast", method, each[:80])


def links(method: str, text: str, as_it_is: bool, blocks: list[Any]) -> Iterator[Warned]:
    """Addresses become links in a text without `parse: none`, and in marked text of blocks that is not `verbatim`
    (docs.slack.dev, chat.postMessage, text object)."""
    loose = [] if as_it_is else [text]
    loose += [each["text"] for each in _marked(blocks) if each.get("verbatim") is not True]
    for each in loose:
        if found := _ADDRESS.search(each):
            yield Warned("link", method, found.group()[:80])


def _marked(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for one in part:
            yield from _marked(one)
    elif isinstance(part, dict):
        if part.get("type") == "mrkdwn":
            yield part
        for one in part.values():
            yield from _marked(one)
