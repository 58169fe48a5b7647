"""What the model is going to say: a queue of answers and faults, taken in order, and a callable when it is empty.

It is the test's script, so nothing here is clever: an answer is text (or JSON, sent as text) with a stop reason.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.faults import Fault

Json = dict[str, Any]

STOPS = (
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
)


@dataclass(frozen=True)
class Request:
    """One POST /v1/messages as it arrived. `number` counts from 1; `body` is empty when it was no object."""

    number: int
    headers: Mapping[str, str]
    body: Json
    raw: bytes

    @property
    def system(self) -> str:
        return _words(self.body.get("system", ""))

    @property
    def prompt(self) -> str:
        """All that the user's turns say."""
        turns = [m for m in self.body.get("messages", []) if isinstance(m, dict) and m.get("role") == "user"]
        return "\n".join(_words(turn.get("content", "")) for turn in turns)

    @property
    def schema(self) -> Json | None:
        config = self.body.get("output_config") or {}
        found = (config.get("format") or {}).get("schema")
        return found if isinstance(found, dict) else None


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


@dataclass(frozen=True)
class Answer:
    """`content` None gives an empty list of blocks. `usage` is (input, output) tokens, reckoned when None."""

    content: str | None
    stop_reason: str = "end_turn"
    usage: tuple[int, int] | None = None
    stop_details: Json | None = None
    said: Any = None  # the JSON value that `content` was made from, if it was

    def __post_init__(self) -> None:
        if self.stop_reason not in STOPS:
            raise ValueError(f"no stop reason {self.stop_reason!r}; there are {STOPS}")


def answer(
    said: Any = "",
    stop_reason: str = "end_turn",
    usage: tuple[int, int] | list[int] | None = None,
    *,
    cut: int | None = None,
) -> Answer:
    """Text as it is, None as no content at all, anything else as JSON; `cut` keeps so many characters."""
    content = said if isinstance(said, str) or said is None else json.dumps(said)
    if cut is not None and content is not None:
        content, said = content[:cut], None
    tokens = None if usage is None else (usage[0], usage[1])
    return Answer(content, stop_reason, tokens, said=None if isinstance(said, str) else said)


Reply = Answer | Fault | Json | str
Teller = Callable[[Request], Reply | Awaitable[Reply]]
When = Callable[[Request], bool]


@dataclass
class Line:
    reply: Answer | Fault
    left: int
    when: When | None = None


@dataclass
class Script:
    """`teller` answers what the queue does not."""

    lines: list[Line] = field(default_factory=list)
    teller: Teller | None = None

    def add(self, reply: Answer | Fault, times: int = 1, when: When | None = None) -> None:
        self.lines.append(Line(reply, times, when))

    def next(self, request: Request) -> Answer | Fault | None:
        """The first line that is for this request; it is used up."""
        for line in self.lines:
            if line.left > 0 and (line.when is None or line.when(request)):
                line.left -= 1
                return line.reply
        return None

    @property
    def unsaid(self) -> int:
        """Lines that no request has taken."""
        return sum(line.left for line in self.lines)
