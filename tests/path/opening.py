"""How every story of the main path begins, up to the card that asks; and how a card and its thread are read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack import FakeSlack
from tests.path.stage import BAD, CHANNEL, ONCALL, Daemon, Shop, send_alert, until
from tests.servers.collector import OtelCollector


@dataclass(frozen=True)
class Opening:
    """A daemon, the workload that it watches over, the people in Slack, and the way that alerts take."""

    daemon: Daemon
    shop: Shop
    slack: FakeSlack
    collector: Callable[..., OtelCollector]

    def policy(self) -> dict[str, Any]:
        steps = {"rollout_undo": "ask", "rollout_restart": "ask"}
        return {
            "version": 1,
            "rules": [{"namespaces": [self.shop.namespace], "steps": steps}],
            "approvers": {"slack_users": [ONCALL]},
            "operators": {"slack_users": [ONCALL]},
        }

    async def until_asked(self, crashing_seconds: float) -> Any:
        """The card, its pods having crashed for so long before anybody was alerted."""
        await self.until_alerted(crashing_seconds)
        return await card_of(self.slack)

    async def until_alerted(self, crashing_seconds: float) -> None:
        collector = await asyncio.to_thread(self.collector, topics={"logs": self.shop.namespace})
        await asyncio.to_thread(self.daemon.install, self.policy())
        await self.daemon.start()
        await self.break_it(crashing_seconds)
        await asyncio.to_thread(send_alert, collector.grpc, self.shop)

    async def break_it(self, crashing_seconds: float) -> None:
        """A healthy Deployment, then a bad image, then pods that flap between Running and CrashLoopBackOff."""
        await asyncio.to_thread(self.shop.open)
        await until(self.shop.ready, 60, "three ready pods")
        await asyncio.to_thread(self.shop.roll_out, BAD)
        await until(self.shop.crashing, 60, "crash-looping pods")
        await asyncio.sleep(crashing_seconds)


def cards(slack: FakeSlack) -> list[Any]:
    """Messages of the channel that are no replies; one that has replies names itself as its thread."""
    return [message for message in slack.messages(CHANNEL) if message.thread_ts in (None, message.ts)]


def has_buttons(message: Any) -> bool:
    return '"approve"' in json.dumps(message.blocks)


async def card_of(slack: FakeSlack, seconds: float = 60) -> Any:
    """The one message in the channel, once it has buttons."""

    def asked() -> Any:
        return next((message for message in cards(slack) if has_buttons(message)), None)

    return await slack.wait_for(asked, seconds)


async def asked_anew(slack: FakeSlack, first: Any, seconds: float = 60) -> None:
    """Returns once the one card asks something else than `first`, which is what blocks it had."""

    def anew() -> bool:
        (now,) = cards(slack)
        return has_buttons(now) and now.blocks != first

    await slack.wait_for(anew, seconds)


async def thread_of(slack: FakeSlack, last: str, seconds: float = 30) -> list[str]:
    """What the one card's thread tells, in order, once it has told a line that begins so; fails on a second card."""
    (card,) = cards(slack)

    def told() -> list[str]:
        lines = [reply.text for reply in slack.thread(card.ts) if reply.ts != card.ts]
        return lines if lines and lines[-1].startswith(last) else []

    found: list[str] = await slack.wait_for(told, seconds)
    return found


def tells(lines: list[str], *beginnings: str) -> None:
    """These lines, each beginning so, in this order, and no others."""
    story = "\n".join(lines)
    assert len(lines) == len(beginnings), story
    for line, beginning in zip(lines, beginnings, strict=True):
        assert line.startswith(beginning), f"{line!r} is not {beginning!r} in\n{story}"
