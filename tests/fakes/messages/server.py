"""FakeMessages: the Anthropic Messages API on loopback, for the real `anthropic` client.

    async with FakeMessages() as model:
        client = AsyncAnthropic(api_key=model.api_key, base_url=model.url)
        model.answer({"diagnosis": "..."})
        ...
        assert len(model.requests) == 1

Strict about headers, fields, turns, sizes and output schemas: see `request.py` and `schema.py`. It thinks nothing: it
says what its script says, and a request for which the script has nothing is refused and noted in `unscripted`. An
answer given as JSON that the request's schema could not have produced is noted in `impossible`.
Does not do: streaming, batches, files, tools of the server, rate limits of its own accord.
"""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Callable
from typing import Any

import jsonschema
from aiohttp import web

from tests.fakes.faults import Fault, Kind, abort
from tests.fakes.loopback import Loopback
from tests.fakes.messages.control import desk
from tests.fakes.messages.errors import WORDS, Refused, bad, error_body
from tests.fakes.messages.request import check, check_limits, count_tokens, too_large
from tests.fakes.messages.script import Answer, Request, Script, Teller, When, answer

Json = dict[str, Any]

VERSIONS = ("2023-06-01", "2026-10-21")
MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5", "claude-haiku-4-5")


class FakeMessages(Loopback):
    """`window` and `max_output` are tokens, of every model."""

    def __init__(
        self,
        port: int = 0,
        *,
        api_key: str = "sk-ant-test",
        models: tuple[str, ...] = MODELS,
        window: int = 200_000,
        max_output: int = 64_000,
        max_bytes: int = 32 * 2**20,
    ) -> None:
        super().__init__(port)
        self.api_key, self.models = api_key, models
        self.window, self.max_output, self.max_bytes = window, max_output, max_bytes
        self.script = Script()
        self.requests: list[Request] = []
        self.statuses: list[int] = []  # of the answers, in the order in which they were given; 0 for none
        self.counted: list[Json] = []  # bodies of count_tokens
        self.unscripted: list[Request] = []
        self.impossible: list[str] = []

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages", self._guarded(self._create))
        app.router.add_post("/v1/messages/count_tokens", self._guarded(self._count))
        app.router.add_get("/v1/models", self._guarded(self._list))
        app.router.add_get("/v1/models/{model}", self._guarded(self._model))
        desk(self).routes(app)
        app.router.add_route("*", "/{rest:.*}", self._guarded(self._nothing))

    def address(self) -> Json:
        return {"url": self.url, "control": f"{self.url}/_control/", "api_key": self.api_key}

    # The script

    def answer(
        self,
        said: Any = "",
        stop_reason: str = "end_turn",
        usage: tuple[int, int] | list[int] | None = None,
        *,
        cut: int | None = None,
        times: int = 1,
        when: When | None = None,
    ) -> None:
        """Queues an answer: text as it is, None as empty content, anything else as JSON."""
        self.script.add(answer(said, stop_reason, usage, cut=cut), times, when)

    def answer_with(self, teller: Teller | None) -> None:
        """The callable that answers whatever the queue does not: it gives JSON, text, an Answer or a Fault."""
        self.script.teller = teller

    def truncate(self, said: Any, cut: int, times: int = 1) -> None:
        """JSON that ends in the middle because `max_tokens` was reached."""
        self.answer(said, "max_tokens", cut=cut, times=times)

    def refuse(self, category: str | None = "cyber", times: int = 1) -> None:
        """The refusal stop reason, without content."""
        details = {"type": "refusal", "category": category, "explanation": None}
        self.script.add(Answer(None, "refusal", stop_details=details), times)

    def overflow(self, said: Any = "", times: int = 1) -> None:
        self.answer(said, "model_context_window_exceeded", times=times)

    def fail(
        self,
        status: int,
        message: str = "",
        *,
        code: str | None = None,
        retry_after: float | None = None,
        times: int = 1,
        when: When | None = None,
    ) -> None:
        """Any error of the API, with its stable `error_code` if it has one, and when to come back (seconds)."""
        headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
        body = error_body(status, message or WORDS.get(status, "refused by the test"), "req_fault", code)
        self.script.add(Fault(Kind.ANSWER, status=status, headers=headers, body=body), times, when)

    def rate_limit(self, retry_after: float | None = None, times: int = 1) -> None:
        self.fail(429, retry_after=retry_after, times=times)

    def overload(self, times: int = 1) -> None:
        self.fail(529, times=times)

    def garble(self, body: str = "<html>not the API</html>", status: int = 200, times: int = 1) -> None:
        """A body that is no JSON, as from a proxy in between."""
        self.script.add(Fault(Kind.ANSWER, status=status, body=body), times)

    def reset(self, times: int = 1) -> None:
        """Cuts the connection instead of answering."""
        self.script.add(Fault(Kind.RESET), times)

    def hang(self, seconds: float | None = None, times: int = 1) -> Fault:
        """Silence for so many seconds, or until `.release()`; then the next line of the script answers."""
        fault = Fault(Kind.HANG, seconds=seconds)
        self.script.add(fault, times)
        return fault

    # The API

    def _guarded(self, handle: Callable[[web.Request, str], Any]) -> Callable[[web.Request], Any]:
        async def handler(request: web.Request) -> web.StreamResponse:
            request_id = f"req_{uuid.uuid4().hex[:24]}"
            try:
                self._authorise(request)
                response: web.StreamResponse = await handle(request, request_id)
            except Refused as refused:
                body = refused.body(request_id)
                response = web.json_response(body, status=refused.status, headers=refused.headers)
                self._answered(request, refused.status)
            if not response.prepared:
                response.headers["request-id"] = request_id
            return response

        return handler

    def _authorise(self, request: web.Request) -> None:
        """The key comes as a bearer token (anthropic >= 2) or in x-api-key (older clients, curl)."""
        bearer = request.headers.get("authorization")
        key = request.headers.get("x-api-key") or (bearer and bearer.removeprefix("Bearer "))
        if not key:
            raise Refused(401, "x-api-key header is required")
        if key != self.api_key:
            raise Refused(401, "invalid x-api-key" if bearer is None else "Invalid bearer token")
        version = request.headers.get("anthropic-version")
        if version is None:
            raise bad("anthropic-version: header is required")
        if version not in VERSIONS:
            raise bad(f'anthropic-version: "{version}" is not a valid version')

    def _answered(self, request: web.Request, status: int) -> None:
        if request.path == "/v1/messages":
            self.statuses.append(status)
            self.bell.ring()

    async def _body(self, request: web.Request) -> tuple[bytes, Any]:
        raw = await request.read()
        too_large(len(raw), self.max_bytes)
        if request.content_type != "application/json":
            raise bad("content-type: Input should be application/json")
        try:
            return raw, json.loads(raw)
        except ValueError as error:
            raise bad(f"The request body is not valid JSON: {error}") from None

    def _known(self, model: str) -> str:
        if model not in self.models:
            raise Refused(404, f"model: {model}")
        return model

    async def _create(self, request: web.Request, request_id: str) -> web.StreamResponse:
        raw, body = await self._body(request)
        seen = Request(len(self.requests) + 1, dict(request.headers), body if isinstance(body, dict) else {}, raw)
        self.requests.append(seen)
        self.bell.ring()
        check(body)
        self._known(body["model"])
        check_limits(body, self.max_output, self.window)
        return await self._reply(request, seen)

    async def _reply(self, request: web.Request, seen: Request) -> web.StreamResponse:
        reply = await self._line(seen)
        if isinstance(reply, Answer):
            self._answered(request, 200)
            return web.json_response(self._message(seen, reply))
        if reply.kind is Kind.HANG:
            if not await reply.hold(self.closing) or request.transport is None:
                return web.Response(status=503)  # nobody is there to be answered: the script goes on with the next one
            return await self._reply(request, seen)
        if reply.kind is Kind.RESET:
            abort(request)
            self._answered(request, 0)
            return web.Response(status=500)
        self._answered(request, reply.status)
        return reply.answer()

    async def _line(self, seen: Request) -> Answer | Fault:
        reply = self.script.next(seen)
        if reply is None and self.script.teller is not None:
            told = self.script.teller(seen)
            told = await told if inspect.isawaitable(told) else told
            reply = told if isinstance(told, Answer | Fault) else answer(told)
        if reply is None:
            self.unscripted.append(seen)
            raise bad("this fake's script has no answer for this request")
        if isinstance(reply, Answer) and reply.said is not None and seen.schema is not None:
            for error in jsonschema.Draft202012Validator(seen.schema).iter_errors(reply.said):
                self.impossible.append(f"request {seen.number}: {error.json_path}: {error.message}")
        return reply

    def _message(self, seen: Request, reply: Answer) -> Json:
        blocks = [] if reply.content is None else [{"type": "text", "text": reply.content, "citations": None}]
        written = len(reply.content or "") // 4 + 1
        if reply.stop_reason == "max_tokens":
            written = seen.body["max_tokens"]
        read, written = reply.usage or (count_tokens(seen.body), written)
        return {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": seen.body["model"],
            "content": blocks,
            "stop_reason": reply.stop_reason,
            "stop_sequence": None,
            "stop_details": reply.stop_details,
            "usage": {
                "input_tokens": read,
                "output_tokens": written,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "service_tier": "standard",
            },
        }

    async def _count(self, request: web.Request, request_id: str) -> web.StreamResponse:
        _, body = await self._body(request)
        check(body, creating=False)
        self._known(body["model"])
        self.counted.append(body)
        return web.json_response({"input_tokens": count_tokens(body)})

    def _info(self, model: str) -> Json:
        return {
            "type": "model",
            "id": model,
            "display_name": model.replace("-", " ").title(),
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.window,
            "max_tokens": self.max_output,
        }

    async def _list(self, request: web.Request, request_id: str) -> web.StreamResponse:
        data = [self._info(model) for model in self.models]
        first, last = (self.models[0], self.models[-1]) if self.models else (None, None)
        return web.json_response({"data": data, "has_more": False, "first_id": first, "last_id": last})

    async def _model(self, request: web.Request, request_id: str) -> web.StreamResponse:
        return web.json_response(self._info(self._known(request.match_info["model"])))

    async def _nothing(self, request: web.Request, request_id: str) -> web.StreamResponse:
        raise Refused(404, "Not Found")
