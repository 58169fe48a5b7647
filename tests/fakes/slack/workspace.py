"""The workspace behind the fake: users, user groups, channels and their messages with every earlier version.

Knows nothing of HTTP or of limits; messages get here once they have been accepted.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.slack.blocks import texts

Json = dict[str, Any]

TEAM = "T0HANDRAIL"
DOMAIN = "handrail-test"
APP = "A0HANDRAIL"
BOT = "B0HANDRAIL"
BOT_USER = "U0HANDRAIL"


@dataclass(frozen=True)
class User:
    id: str
    name: str
    real_name: str
    is_bot: bool = False
    deleted: bool = False

    def shown(self) -> Json:
        profile = {"real_name": self.real_name, "display_name": self.name, "email": f"{self.name}@example.com"}
        return {
            "id": self.id,
            "team_id": TEAM,
            "name": self.name,
            "real_name": self.real_name,
            "profile": profile,
            "is_bot": self.is_bot,
            "deleted": self.deleted,
            "tz": "Etc/UTC",
        }


@dataclass
class Group:
    id: str
    handle: str
    users: list[str]
    disabled: bool = False


@dataclass
class Channel:
    id: str
    name: str
    member: bool = True  # whether the bot is in it
    archived: bool = False
    private: bool = False
    im: bool = False

    def shown(self) -> Json:
        return {
            "id": self.id,
            "name": self.name,
            "is_channel": not self.private and not self.im,
            "is_group": self.private,
            "is_im": self.im,
            "is_private": self.private or self.im,
            "is_archived": self.archived,
            "is_member": self.member,
            "context_team_id": TEAM,
        }


@dataclass
class Message:
    """A message as it stands; `edits` holds its earlier versions, oldest first."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: list[Json]
    thread_ts: str | None = None
    parent_user: str | None = None
    metadata: Json | None = None
    ephemeral_to: str | None = None
    deleted: bool = False
    reactions: dict[str, list[str]] = field(default_factory=dict)
    edits: list[Message] = field(default_factory=list)

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts

    def versions(self) -> list[Message]:
        return [*self.edits, self]

    def everything(self) -> str:
        """All its text, blocks included."""
        return "\n".join([self.text, *(each for _, each in texts(self.blocks))])

    def edit(self, text: str, blocks: list[Json]) -> None:
        before = copy.deepcopy(self)
        before.edits = []
        self.edits.append(before)
        self.text, self.blocks = text, blocks

    def shown(self) -> Json:
        """The message as the API and the interaction payloads show it."""
        body: Json = {"type": "message", "user": self.user, "ts": self.ts, "team": TEAM, "text": self.text}
        if self.user == BOT_USER:
            body |= {"bot_id": BOT, "app_id": APP}
        if self.blocks:
            body["blocks"] = copy.deepcopy(self.blocks)
        if self.thread_ts is not None:
            body["thread_ts"] = self.thread_ts
        if self.is_reply:
            body["parent_user_id"] = self.parent_user
        if self.metadata is not None:
            body["metadata"] = self.metadata
        if self.edits:
            body["edited"] = {"user": self.user, "ts": self.ts}
        if self.reactions:
            body["reactions"] = [{"name": n, "users": u, "count": len(u)} for n, u in self.reactions.items()]
        return body


def some_users() -> list[User]:
    return [
        User(BOT_USER, "handrail", "Handrail", is_bot=True),
        User("U0ONCALL", "ona", "Ona Call"),
        User("U0SECOND", "sam", "Sam Second"),
        User("U0STRANGER", "stig", "Stig Stranger"),
    ]


class Workspace:
    """`clock` gives the seconds that timestamps are made of; timestamps are unique and rise."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = 0
        self._count = itertools.count(1)
        self.users = {user.id: user for user in some_users()}
        self.groups = {"S0ONCALL": Group("S0ONCALL", "sre-oncall", ["U0ONCALL", "U0SECOND"])}
        self.channels = {
            "C0INCIDENTS": Channel("C0INCIDENTS", "incidents"),
            "C0OTHER": Channel("C0OTHER", "other", member=False),
        }
        self.all: list[Message] = []

    def stamp(self) -> str:
        self._last = max(self._last + 1, int(self._clock() * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def number(self) -> int:
        return next(self._count)

    def channel(self, named: str) -> Channel | None:
        """By id, `#name` or name; a user's id is the direct conversation with that user."""
        if named in self.channels:
            return self.channels[named]
        if named in self.users:
            direct = Channel(f"D{named[1:]}", "", im=True)
            return self.channels.setdefault(direct.id, direct)
        return next((c for c in self.channels.values() if c.name and c.name == named.removeprefix("#")), None)

    def message(self, channel: str, ts: str) -> Message | None:
        return next((m for m in self.posted(channel) if m.ts == ts), None)

    def posted(self, channel: str | None = None) -> Iterator[Message]:
        """Messages that everyone in the channel sees, in order of posting."""
        for each in self.all:
            if each.ephemeral_to is None and not each.deleted and channel in (None, each.channel):
                yield each

    def add(self, message: Message) -> Message:
        """Posts it; a first reply makes its parent the root of a thread, as in Slack."""
        root = self.message(message.channel, message.thread_ts) if message.thread_ts else None
        if root is not None:
            root.thread_ts = root.ts
            message.parent_user = root.user
        self.all.append(message)
        return message

    def thread(self, channel: str, ts: str) -> list[Message]:
        """The parent and its replies; empty when there is no such message."""
        wanted = self.message(channel, ts)
        if wanted is None:
            return []
        root = wanted.thread_ts or wanted.ts
        return [m for m in self.posted(channel) if m.ts == root or m.thread_ts == root]
