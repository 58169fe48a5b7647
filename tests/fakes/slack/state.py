"""All that the fake Slack remembers, in one place, so that its parts share it without knowing each other."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.faults import Faults
from tests.fakes.loopback import Bell
from tests.fakes.slack.markup import Warned
from tests.fakes.slack.workspace import Message, Workspace

Json = dict[str, Any]

BOT_SCOPES = frozenset(
    {
        "chat:write",
        "commands",
        "channels:read",
        "groups:read",
        "channels:history",
        "groups:history",
        "users:read",
        "usergroups:read",
        "reactions:write",
    }
)
TRIGGER_SECONDS = 3.0


@dataclass
class Call:
    """One Web API call, noted when it arrives; `status` is 0 until it is answered, and for good when it is cut off.

    A call whose answer was lost after it took effect shows the answer that was lost.
    """

    number: int
    method: str
    args: Json
    status: int = 0
    answer: Json | None = None

    @property
    def ok(self) -> bool:
        return bool(self.answer and self.answer.get("ok"))


@dataclass
class Trigger:
    """Lets the app open one view, within three seconds of the person's action."""

    user: str
    expires: float
    used: bool = False


@dataclass
class View:
    """A view that the app has opened for a person."""

    id: str
    user: str
    body: Json
    submitted: bool = False


@dataclass
class Hook:
    """What a response_url answers to; Slack takes five posts within thirty minutes."""

    channel: str
    user: str
    message: Message | None
    left: int = 5


@dataclass
class State:
    bot_token: str
    app_token: str
    scopes: frozenset[str] = BOT_SCOPES
    bell: Bell = field(default_factory=Bell)
    workspace: Workspace = field(default_factory=lambda: Workspace(time.time))
    faults: Faults = field(default_factory=Faults)
    calls: list[Call] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    triggers: dict[str, Trigger] = field(default_factory=dict)
    views: list[View] = field(default_factory=list)
    hooks: dict[str, Hook] = field(default_factory=dict)

    def trigger(self, user: str) -> str:
        made = f"{self.workspace.number()}.0.{self.workspace.number():x}"
        self.triggers[made] = Trigger(user, time.monotonic() + TRIGGER_SECONDS)
        return made
