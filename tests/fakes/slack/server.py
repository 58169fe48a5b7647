"""FakeSlack: a Slack workspace on loopback, for the real slack-sdk clients.

    async with FakeSlack() as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
        ...
        assert await slack.click(ts, "approve", user="U0ONCALL")

Strict about tokens, scopes, arguments, Block Kit and Socket Mode: see the docstrings of this package's modules.
Does not do: rate limits of its own accord (order them with `rate_limit`), files, attachments, unfurling, OAuth, HTTP
request signing, enterprise grids. Posting to somebody's user id opens a direct conversation, as in Slack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.fakes.faults import Fault, Kind
from tests.fakes.loopback import Loopback
from tests.fakes.slack import payloads
from tests.fakes.slack.control import desk
from tests.fakes.slack.markup import Warned
from tests.fakes.slack.sockets import Delivery, Sockets
from tests.fakes.slack.state import BOT_SCOPES, Call, State, View
from tests.fakes.slack.web import WebApi
from tests.fakes.slack.workspace import BOT_USER, Channel, Group, Message, User

Json = dict[str, Any]


class FakeSlack(Loopback):
    """`ack_within` is Slack's three seconds; a test of lost clicks may shorten it."""

    def __init__(
        self,
        port: int = 0,
        *,
        bot_token: str = "xoxb-test",
        app_token: str = "xapp-test",
        scopes: frozenset[str] = BOT_SCOPES,
        ack_within: float = 3.0,
    ) -> None:
        super().__init__(port)
        self.bot_token, self.app_token = bot_token, app_token
        self.state = State(bot_token, app_token, scopes, self.bell)
        self.sockets = Sockets(lambda: self.url, self.bell, ack_within)

    def routes(self, app: web.Application) -> None:
        WebApi(self.state, self.sockets.address, self.closing).routes(app)
        self.sockets.routes(app)
        desk(self).routes(app)

    @property
    def base_url(self) -> str:
        """For AsyncWebClient."""
        return f"{self.url}/api/"

    def address(self) -> Json:
        return {
            "url": self.url,
            "base_url": self.base_url,
            "control": f"{self.url}/_control/",
            "bot_token": self.bot_token,
            "app_token": self.app_token,
        }

    # What happened

    @property
    def calls(self) -> list[Call]:
        return self.state.calls

    def called(self, method: str) -> list[Call]:
        return [call for call in self.state.calls if call.method == method]

    @property
    def warnings(self) -> list[Warned]:
        """What Slack accepted and shows badly; most tests want it empty."""
        return self.state.warnings

    @property
    def deliveries(self) -> list[Delivery]:
        return self.sockets.deliveries

    @property
    def unacked(self) -> list[Delivery]:
        return [delivery for delivery in self.sockets.deliveries if not delivery]

    def messages(self, channel: str | None = None) -> list[Message]:
        """As they stand now, in order of posting; earlier versions are in `.edits`."""
        where = self.state.workspace.channel(channel) if channel else None
        return list(self.state.workspace.posted(where.id if where else channel))

    def thread(self, ts: str) -> list[Message]:
        """The parent and its replies, from the ts of any of them."""
        found = next((m for m in self.state.workspace.posted() if m.ts == ts), None)
        return self.state.workspace.thread(found.channel, ts) if found else []

    def find(self, text: str, channel: str | None = None) -> Message | None:
        """The newest message that shows this text, in its text or its blocks."""
        return next((m for m in reversed(self.messages(channel)) if text in m.everything()), None)

    def ephemerals(self, user: str) -> list[Message]:
        return [m for m in self.state.workspace.all if m.ephemeral_to == user and not m.deleted]

    @property
    def views(self) -> list[View]:
        return self.state.views

    # What people do

    def say(self, channel: str, user: str, text: str, thread_ts: str | None = None) -> Message:
        """A person (or another bot) posts; nobody is told: `event` sends the event, if the app should hear of it."""
        where = self.state.workspace.channel(channel)
        if where is None:
            raise LookupError(f"no channel {channel}")
        stamp = self.state.workspace.stamp()
        posted = self.state.workspace.add(Message(where.id, stamp, user, text, [], thread_ts))
        self.bell.ring()
        return posted

    async def click(
        self,
        message_ts: str,
        action_id: str,
        user: str = "U0ONCALL",
        *,
        choose: str | None = None,
        version: int = -1,
    ) -> Delivery:
        """Somebody uses an element; true when acknowledged. `version` 0 is the message as first posted: a stale screen.

        `choose` is the value of the option picked in a select, overflow, radio or checkbox.
        """
        message = next((m for m in self.state.workspace.all if m.ts == message_ts), None)
        if message is None:
            raise LookupError(f"no message {message_ts}")
        seen = message.versions()[version]
        payload = payloads.block_actions(self.state, self.url, seen, action_id, user, choose)
        return await self.sockets.deliver("interactive", payload)

    async def slash(
        self, command: str, text: str = "", user: str = "U0ONCALL", channel: str = "C0INCIDENTS"
    ) -> Delivery:
        """A slash command; a text in the acknowledgement is shown to the person, as Slack does."""
        payload = payloads.slash(self.state, self.url, command, text, user, channel)
        delivery = await self.sockets.deliver("slash_commands", payload)
        reply = delivery.reply or {}
        if delivery and (reply.get("text") or reply.get("blocks")):
            to = None if reply.get("response_type") == "in_channel" else user
            shown = Message(
                payload["channel_id"],
                self.state.workspace.stamp(),
                BOT_USER,
                reply.get("text", ""),
                reply.get("blocks", []),
                ephemeral_to=to,
            )
            self.state.workspace.all.append(shown)
        self.bell.ring()
        return delivery

    async def submit(self, view_id: str, values: Json) -> Delivery:
        """Somebody submits a view that the app opened; `values` is block_id -> action_id -> element state."""
        view = next((v for v in self.state.views if v.id == view_id), None)
        if view is None:
            raise LookupError(f"no view {view_id}")
        view.submitted = True
        return await self.sockets.deliver("interactive", payloads.view_submission(self.state, view, values))

    async def event(self, inner: Json) -> Delivery:
        """An Events API event; sent again when it is not acknowledged."""
        return await self.sockets.deliver("events_api", payloads.event(self.state, inner))

    # Who and what is there

    def add_user(self, user_id: str, name: str, real_name: str = "", **flags: bool) -> None:
        self.state.workspace.users[user_id] = User(user_id, name, real_name or name, **flags)

    def set_group(self, group_id: str, users: list[str], handle: str = "", disabled: bool = False) -> None:
        self.state.workspace.groups[group_id] = Group(group_id, handle or group_id.lower(), users, disabled)

    def add_channel(self, channel_id: str, name: str, **flags: bool) -> None:
        self.state.workspace.channels[channel_id] = Channel(channel_id, name, **flags)

    # Faults

    def rate_limit(self, method: str, retry_after: int = 1, times: int = 1) -> Fault:
        """HTTP 429 with Retry-After (seconds); `*` is every method."""
        body = {"ok": False, "error": "ratelimited"}
        fault = Fault(Kind.ANSWER, times, 429, {"Retry-After": str(retry_after)}, body)
        return self.state.faults.order(method, fault)

    def fail(
        self,
        method: str,
        error: str = "internal_error",
        http_status: int = 200,
        times: int = 1,
        *,
        applied: bool = False,
        body: str | Mapping[str, Any] | None = None,
    ) -> Fault:
        """Refuses with a Slack error, an HTTP status, or any body (text is sent as HTML)."""
        answer = {"ok": False, "error": error} if body is None else body
        return self.state.faults.order(method, Fault(Kind.ANSWER, times, http_status, {}, answer, applied=applied))

    def hang(self, method: str, times: int = 1, *, seconds: float | None = None, applied: bool = False) -> Fault:
        """Silence until `.release()`, or for so many seconds; `applied` makes only the answer late."""
        return self.state.faults.order(method, Fault(Kind.HANG, times, seconds=seconds, applied=applied))

    def reset(self, method: str, times: int = 1, *, applied: bool = False) -> Fault:
        """Cuts the connection instead of answering."""
        return self.state.faults.order(method, Fault(Kind.RESET, times, applied=applied))

    def clear_faults(self) -> None:
        self.state.faults.clear()
        self.sockets.refusals = self.sockets.ghosts = 0

    # Sockets

    async def wait_connected(self, connections: int = 1, timeout: float = 5.0) -> None:
        await self.wait_for(lambda: len(self.sockets.live) >= connections, timeout, f"{connections} socket connections")

    def drop_sockets(self) -> int:
        return self.sockets.drop()

    def refuse_sockets(self, times: int = 1) -> None:
        """The next handshakes are refused, though their addresses are fresh."""
        self.sockets.refusals = times

    def set_ghosts(self, ghosts: int) -> None:
        """So many dead connections take every envelope first; 0 ends it."""
        self.sockets.ghosts = ghosts

    def haunt(self) -> None:
        """The connections of this moment stay up and get nothing any more."""
        for connection in self.sockets.live:
            connection.ghost = True

    def deafen(self) -> None:
        """The connections of this moment answer nothing any more, not even pings."""
        for connection in self.sockets.live:
            connection.deaf = True

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        await self.sockets.disconnect(reason)
