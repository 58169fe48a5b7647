"""What is said in Slack: the card posted once and then changed in place, thread lines, and words for one person only.

Never decides anything. Tokens are read at each use, since they rotate. Raises Transient (with when to come back) and
Permanent (with what to do); never waits or tries again by itself: its caller knows what else there is to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from handrail.adapters.slack.blocks import message
from handrail.adapters.slack.errors import Refused, slack_errors
from handrail.adapters.slack.markup import commands, prose, with_mentions
from handrail.model.card import Card
from handrail.model.config import SlackConfig
from handrail.model.errors import HandrailError, Permanent
from handrail.model.value import Value

log = structlog.get_logger("slack")

CALL_SECONDS = 10
HOOKS = ("https://hooks.slack.com/", "https://hooks.slack-gov.com/")
LINE = 1_500

AS_IT_IS = "none"
"""Slack's `parse`: addresses in a text are no links. A line of a thread has no blocks that would say so."""

_UNREACHABLE = frozenset(
    {
        "message_not_found",
        "cant_update_message",
        "edit_window_closed",
        "channel_not_found",
        "not_in_channel",
        "is_archived",
    }
)
"""The old message can't be changed any more (deleted, another channel is configured now): post anew."""

_BAD_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})
_CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{6,}")


class Posted(Value):
    """Where a message is: the channel's id and the message's timestamp, which is its name."""

    channel: str
    ts: str


class SlackDesk:
    def __init__(self, config: SlackConfig, bot_token: Callable[[], str], app_token: Callable[[], str]) -> None:
        self._config = config
        self._bot_token = bot_token
        self._app_token = app_token

    def client(self) -> AsyncWebClient:
        """With the bot token as it is now. Raises BadConfig where there is none.

        slack-sdk would send again after a broken connection, and post twice what had arrived: not without us knowing.
        """
        return AsyncWebClient(
            token=self._bot_token(), base_url=self._config.base_url, timeout=CALL_SECONDS, retry_handlers=[]
        )

    async def show(self, card: Card, where: Posted | None) -> Posted:
        """The card as it is now, in place where it was posted before; where it is then."""
        text, blocks = message(card)
        try:
            return await self._show(text, blocks, where)
        except Refused as refused:
            if refused.code not in _BAD_BLOCKS:
                raise
            log.error("a card was too much for slack: posting its text", incident=card.incident, why=str(refused))
        bare = f"{text}\n{commands(card.next_action, 400)}"
        return await self._show(bare, [], where)

    async def _show(self, text: str, blocks: list[dict[str, Any]], where: Posted | None) -> Posted:
        if where is not None:
            try:
                return await self._update(text, blocks, where)
            except Refused as refused:
                if refused.code not in _UNREACHABLE:
                    raise
                log.info("the card is posted anew", why=refused.code)
        with slack_errors("chat.postMessage"):
            answer = await self.client().chat_postMessage(
                channel=self._config.channel,
                text=text,
                blocks=blocks or None,
                parse=AS_IT_IS,
                unfurl_links=False,
                unfurl_media=False,
            )
            return Posted(channel=answer["channel"], ts=answer["ts"])

    async def _update(self, text: str, blocks: list[dict[str, Any]], where: Posted) -> Posted:
        """An empty list takes the old blocks away, and with them the buttons."""
        with slack_errors("chat.update"):
            await self.client().chat_update(
                channel=where.channel, ts=where.ts, text=text, blocks=blocks, parse=AS_IT_IS
            )
        return where

    async def say(self, where: Posted, line: str) -> None:
        """One line in the card's thread. Members named at its beginning are mentioned, so that they hear of it."""
        with slack_errors("chat.postMessage"):
            await self.client().chat_postMessage(
                channel=where.channel,
                thread_ts=where.ts,
                text=with_mentions(prose(line, LINE)),
                parse=AS_IT_IS,
                unfurl_links=False,
                unfurl_media=False,
            )

    async def notice(self, text: str, where: Posted | None) -> None:
        """Our own sentence as plain text, in the thread of a card where there is one. Commands in it stay commands."""
        with slack_errors("chat.postMessage"):
            await self.client().chat_postMessage(
                channel=where.channel if where else self._config.channel,
                thread_ts=where.ts if where else None,
                text=commands(text, LINE),
                parse=AS_IT_IS,
                unfurl_links=False,
                unfurl_media=False,
            )

    async def whisper(self, channel: str, user: str, text: str) -> None:
        """Only that person sees it."""
        with slack_errors("chat.postEphemeral"):
            await self.client().chat_postEphemeral(
                channel=channel, user=user, text=commands(text, LINE), parse=AS_IT_IS
            )

    async def respond(self, address: str, text: str) -> None:
        """To a slash command, where only that person sees it, in whatever channel they are. Raises Permanent for an
        address that is none of Slack's."""
        if not address.startswith(self._answers_at()):
            raise Permanent("the address for the answer is none of Slack's; nothing was sent")
        lines = "\n".join(commands(line, LINE) for line in text.splitlines())
        with slack_errors("response_url"):
            answer = await AsyncWebhookClient(address, timeout=CALL_SECONDS, retry_handlers=[]).send(
                text=lines, response_type="ephemeral"
            )
        if answer.status_code != 200:
            raise Permanent(f"Slack refused an answer to a command: status {answer.status_code}")

    def _answers_at(self) -> tuple[str, ...]:
        """Slack's own, or that of the server that stands for it in the configuration."""
        base = urlsplit(self._config.base_url)
        return HOOKS if base.hostname in (None, "slack.com") else (*HOOKS, f"{base.scheme}://{base.netloc}/")

    async def check(self) -> list[str]:
        """What would keep Slack from working, one sentence a problem with what to do; docs/slack.md explains each."""
        problems = [await self._try("slack.bot_token", self._check_bot)]
        if not problems[0]:
            problems.append(await self._try("slack.channel", self._check_channel))
        problems.append(await self._try("slack.app_token", self._check_app))
        return [problem for problem in problems if problem]

    async def _try(self, key: str, check: Callable[[], Any]) -> str:
        try:
            problem: str = await check()
        except HandrailError as error:
            problem = str(error)
        return f"{key}: {problem}" if problem else ""

    async def _check_bot(self) -> str:
        with slack_errors("auth.test"):
            answer = await self.client().auth_test()
        granted = str(answer.headers.get("x-oauth-scopes") or "")
        missing = sorted({"chat:write", "channels:read"} - set(granted.split(","))) if granted else []
        return f"scopes are missing: {', '.join(missing)}; add them to the app and install it again" if missing else ""

    async def _check_channel(self) -> str:
        channel = self._config.channel
        if not _CHANNEL_ID.fullmatch(channel):
            return f"{channel!r} is no channel id; copy it (C…) from the bottom of the channel's details in Slack"
        with slack_errors("conversations.info"):
            found = (await self.client().conversations_info(channel=channel))["channel"]
        if found.get("is_archived"):
            return f"{channel} is archived; name another channel"
        if not found.get("is_member") and not found.get("is_im"):
            return f"the app is not in {channel}; type `/invite @handrail` there"
        return ""

    async def _check_app(self) -> str:
        with slack_errors("apps.connections.open"):
            await self.client().apps_connections_open(app_token=self._app_token())
        return ""
