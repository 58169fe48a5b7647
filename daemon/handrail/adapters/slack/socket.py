"""What people click and type, through Socket Mode: acknowledged first, handed on once, answered to that one person.

Never decides whether it counts. Never ends because Slack is away: each connection is one client of slack-sdk, and
a new one takes its place when it is gone for a while. slack-sdk itself would retry a refused WebSocket address for
ever, so the address is taken away from it. A click on a dead connection is lost, as Slack never sends it again: people
can decide through the command line too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from handrail.adapters.slack.commands import COMMAND, Command, heard
from handrail.adapters.slack.desk import SlackDesk
from handrail.adapters.slack.errors import slack_errors
from handrail.model.errors import HandrailError, Permanent, Transient
from handrail.model.value import Value

log = structlog.get_logger("slack")

VERBS = frozenset({"approve", "reject", "take", "stop"})
REMEMBERED = 2_000
CLOSE_SECONDS = 1.0


class Click(Value):
    """`user` is the member's id; `channel` and `ts` name the message whose button it was."""

    user: str
    verb: str
    request_id: str
    incident: str
    channel: str
    ts: str


class Pace(Value):
    """Seconds: between pings and looks, without a connection until a new client is made, and between clients."""

    look: float = 5.0
    gone: float = 15.0
    first_wait: float = 1.0
    most_wait: float = 60.0


async def _no_commands(_command: Command) -> str:
    return f"nothing listens to {COMMAND} here; use the command line"


class ClickStream:
    """`on_click` and `on_command` return the sentence for the person who used them; what they raise is told to that
    person too."""

    def __init__(
        self,
        desk: SlackDesk,
        app_token: Callable[[], str],
        on_click: Callable[[Click], Awaitable[str]],
        pace: Pace | None = None,
        *,
        on_command: Callable[[Command], Awaitable[str]] = _no_commands,
    ) -> None:
        self._desk = desk
        self._app_token = app_token
        self._on_click = on_click
        self._on_command = on_command
        self._pace = pace or Pace()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._answers: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until cancelled; ends within two seconds then, whatever is away."""
        wait = self._pace.first_wait
        try:
            while True:
                was_up = await self._one_client()
                wait = self._pace.first_wait if was_up else min(self._pace.most_wait, wait * 2)
                await asyncio.sleep(wait)
        finally:
            for answer in self._answers:
                answer.cancel()
            await asyncio.gather(*self._answers, return_exceptions=True)

    async def _one_client(self) -> bool:
        """From opening until it has been gone for a while; whether it was ever connected."""
        client: SocketModeClient | None = None
        try:
            web = self._desk.client()
            with slack_errors("apps.connections.open"):
                url = (await web.apps_connections_open(app_token=self._app_token()))["url"]
            client = SocketModeClient(self._app_token(), web_client=web, ping_interval=self._pace.look)
            client.wss_uri = url
            client.socket_mode_request_listeners.append(self._heard)
            return await self._watch(client)
        except Transient as away:
            log.warning("no clicks can be heard: slack is away", why=str(away))
            await asyncio.sleep(min(away.retry_after, self._pace.most_wait))
        except Permanent as refused:
            log.error("no clicks can be heard; `handrail approve` works without slack", why=str(refused))
            await asyncio.sleep(self._pace.most_wait)
        finally:
            if client is not None:
                await _close(client)
        return False

    async def _watch(self, client: SocketModeClient) -> bool:
        """slack-sdk reconnects by itself where it can; this gives it fresh addresses, and gives up on it in the end."""
        connecting = asyncio.ensure_future(client.connect())  # type: ignore[no-untyped-call]
        clock = asyncio.get_running_loop().time
        up, last_seen = False, clock()
        try:
            while clock() - last_seen < self._pace.gone:
                await asyncio.sleep(self._pace.look / 5)
                if await client.is_connected():
                    up, last_seen = True, clock()
                elif clock() - last_seen > self._pace.look / 2:
                    client.wss_uri = None
            log.warning("the connection for clicks is gone: opening a new one")
            return up
        finally:
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)

    async def _heard(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Runs as a task of slack-sdk for each envelope: acknowledge (three seconds), then start the work."""
        try:
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        except (OSError, RuntimeError, AttributeError) as lost:
            # the person meant it all the same, and an answer counts only once
            log.warning("a click could not be acknowledged", why=f"{type(lost).__name__}: {lost}")
        if self._is_new(request.envelope_id):
            command = heard(request.type, request.payload)
            if command is not None:
                self._start(command)
            for click, key in _clicks(request):
                if self._is_new(key):
                    self._start(click)

    def _is_new(self, key: str) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def _start(self, asked: Click | Command) -> None:
        task = asyncio.ensure_future(self._answer(asked))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    def _carry_out(self, asked: Click | Command) -> Awaitable[str]:
        return self._on_click(asked) if isinstance(asked, Click) else self._on_command(asked)

    async def _answer(self, asked: Click | Command) -> None:
        """One that breaks must not end the others, nor leave its person without a word: its task is looked at."""
        deciding = asyncio.ensure_future(self._carry_out(asked))
        try:
            await asyncio.wait({deciding})
        finally:
            deciding.cancel()
        error = deciding.exception()
        if error is not None:
            log.error("what a person asked for was not carried out", asked=_named(asked), exc_info=error)
            said = f"That did not work, nothing was decided: {_short(error)}. Try again, or use the command line."
        else:
            said = deciding.result()
        try:
            if isinstance(asked, Click):
                await self._desk.whisper(asked.channel, asked.user, said)
            else:
                await self._desk.respond(asked.respond, said)
        except HandrailError as untold:
            log.warning("a person could not be answered", asked=_named(asked), why=str(untold))


def _named(asked: Click | Command) -> str:
    return f"{asked.verb} {asked.incident}" if isinstance(asked, Click) else f"{COMMAND} {asked.text[:60]}"


def _short(error: BaseException) -> str:
    return f"{error}"[:300] if isinstance(error, HandrailError) else type(error).__name__


def _clicks(request: SocketModeRequest) -> list[tuple[Click, str]]:
    """The buttons of ours that were used, each with what names this very click; anything else is nothing."""
    payload: Any = request.payload
    if request.type != "interactive" or payload.get("type") != "block_actions":
        return []
    found: list[tuple[Click, str]] = []
    for action in payload.get("actions") or ():
        click = _click(payload, action)
        if click is None:
            log.info("a click that is none of ours", action=str(action.get("action_id"))[:60])
        else:
            key = f"{click.channel}/{click.ts}/{click.user}/{click.verb}/{action.get('action_ts')}"
            found.append((click, key))
    return found


def _click(payload: dict[str, Any], action: dict[str, Any]) -> Click | None:
    container = payload.get("container") or {}
    verb = action.get("action_id")
    if verb not in VERBS:
        return None
    try:
        value = json.loads(action.get("value") or "")
        return Click(
            user=payload["user"]["id"],
            verb=verb,
            request_id=value["r"],
            incident=value["i"],
            channel=container["channel_id"],
            ts=container["message_ts"],
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


async def _close(client: SocketModeClient) -> None:
    """slack-sdk's own close waits for Slack's goodbye, which does not come from a dead link."""
    client.closed = True
    client.auto_reconnect_enabled = False
    for task in (client.message_processor, client.current_session_monitor, client.message_receiver):
        if task is not None:
            task.cancel()
    with contextlib.suppress(TimeoutError, OSError, RuntimeError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.disconnect()  # type: ignore[no-untyped-call]
    await client.aiohttp_client_session.close()
