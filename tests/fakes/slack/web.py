"""The HTTP side of the Web API: tokens, scopes, ordered faults, the record of calls, and response_url.

A call is answered as Slack does: HTTP 200 with `ok: false` for refusals, HTTP 429 with Retry-After for rate limits.
A call whose fault is `applied` takes effect although its answer is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.fakes.faults import Fault, Kind, abort
from tests.fakes.slack.arguments import Arguments, Refused, read
from tests.fakes.slack.composing import content
from tests.fakes.slack.markup import Warned
from tests.fakes.slack.methods import METHODS
from tests.fakes.slack.state import Call, Hook, State
from tests.fakes.slack.workspace import BOT_USER, Message

Json = dict[str, Any]

OPEN_SOCKET = "apps.connections.open"


class WebApi:
    """`open_socket` gives a fresh single-use WebSocket URL; `held` waits out a hang and says whether to go on."""

    def __init__(self, state: State, open_socket: Callable[[], str], closing: asyncio.Event) -> None:
        self._state = state
        self._open_socket = open_socket
        self._closing = closing

    def routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_post("/actions/{hook}", self._respond)

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        fault = self._state.faults.take(method)
        try:
            args = await read(request)
        except Refused as refused:
            return self._answer(self._arrived(method, Arguments({})), refused.body())
        call = self._arrived(method, args)
        if fault is None:
            return self._carry_out(request, call, args)
        return await self._faulty(request, call, args, fault)

    async def _faulty(self, request: web.Request, call: Call, args: Arguments, fault: Fault) -> web.StreamResponse:
        done = self._carry_out(request, call, args) if fault.applied else None
        if fault.kind is Kind.HANG:
            if not await fault.hold(self._closing):
                return web.Response(status=503)
            return done or self._carry_out(request, call, args)
        if fault.kind is Kind.RESET:
            abort(request)
            return web.Response(status=500)
        if done is None:
            call.status, call.answer = fault.status, fault.body if isinstance(fault.body, dict) else None
            self._state.bell.ring()
        return fault.answer()

    def _carry_out(self, request: web.Request, call: Call, args: Arguments) -> web.Response:
        try:
            self._authorise(request, call.method, args)
            body = {"ok": True, **self._call(call.method, args)}
        except Refused as refused:
            body = refused.body()
        for name in args.unknown() if body["ok"] else []:
            self._state.warnings.append(Warned("unknown_argument", call.method, name))
        return self._answer(call, body)

    def _call(self, method: str, args: Arguments) -> Json:
        if method == OPEN_SOCKET:
            return {"url": self._open_socket()}
        return METHODS[method][1](self._state, args)

    def _authorise(self, request: web.Request, method: str, args: Arguments) -> None:
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ") or args.text("token") or ""
        args.ignore("token")
        if not sent:
            raise Refused("not_authed")
        if method != OPEN_SOCKET and method not in METHODS:
            raise Refused("unknown_method", extra={"req_method": method})
        wanted, other = self._state.bot_token, self._state.app_token
        if method == OPEN_SOCKET:
            wanted, other = other, wanted
        if sent == other:
            raise Refused("not_allowed_token_type")
        if sent != wanted:
            raise Refused("invalid_auth")
        scope = METHODS[method][0] if method in METHODS else None
        if scope is not None and scope not in self._state.scopes:
            provided = ",".join(sorted(self._state.scopes))
            raise Refused("missing_scope", extra={"needed": scope, "provided": provided})

    def _arrived(self, method: str, args: Arguments) -> Call:
        kept = {name: value for name, value in args.values.items() if name != "token"}
        call = Call(len(self._state.calls) + 1, method, kept)
        self._state.calls.append(call)
        self._state.bell.ring()
        return call

    def _answer(self, call: Call, body: Json) -> web.Response:
        call.status, call.answer = 200, body
        self._state.bell.ring()
        return web.json_response(body)

    async def _respond(self, request: web.Request) -> web.Response:
        hook = self._state.hooks.get(request.match_info["hook"])
        if hook is None or hook.left < 1:
            return web.Response(status=404, text="used_url" if hook else "expired_url")
        try:
            args = await read(request)
            hook.left -= 1
            self._follow(hook, args)
        except Refused as refused:
            return web.Response(status=400, text=refused.error)
        finally:
            self._state.bell.ring()
        return web.Response(text="ok")

    def _follow(self, hook: Hook, args: Arguments) -> None:
        """A response_url edits or deletes the message it came from, or posts beside it (to one person by default)."""
        kind = args.text("response_type") or "ephemeral"
        replace, delete = args.flag("replace_original"), args.flag("delete_original")
        if hook.message is not None and delete:
            hook.message.deleted = True
            return
        text, blocks = content(self._state, args, "response_url")
        if hook.message is not None and replace:
            hook.message.edit(text, blocks or [])
            return
        self.post_reply(hook, text, blocks or [], in_channel=kind == "in_channel")

    def post_reply(self, hook: Hook, text: str, blocks: list[Json], in_channel: bool) -> None:
        to = None if in_channel else hook.user
        stamp = self._state.workspace.stamp()
        self._state.workspace.add(Message(hook.channel, stamp, BOT_USER, text, blocks, ephemeral_to=to))
