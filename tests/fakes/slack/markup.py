"""What Slack would accept but show badly: noted as warnings that a test can require to be absent.

Notes code fences and code spans left open (the rest of the message is then shown as code, or as prose), and broadcast
mentions, which wake a whole channel. Judges no other markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack.blocks import texts

FENCE = "```"
_BROADCAST = re.compile(r"<!(channel|here|everyone)\b")


@dataclass(frozen=True)
class Warned:
    """`kind` is open_fence, open_code, broadcast, truncated, unknown_argument or reply_to_reply."""

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
