"""The real client library against a strict fake of the API."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator

import pytest

from handrail.adapters.claude import Claude, ModelFailed, ModelReply, ModelRequest, parse, request
from handrail.model.config import ModelConfig
from handrail.model.errors import BadConfig
from handrail.model.plan import PlanProposal
from handrail.model.reason import Reason, Refusal
from tests.fakes.messages import FakeMessages
from tests.planners.briefs import MENU, answer, brief
from tests.planners.conftest import Blocked

NAME = "claude-sonnet-5-5"


@pytest.fixture
async def api() -> AsyncIterator[FakeMessages]:
    async with FakeMessages() as fake:
        yield fake


def claude(api: FakeMessages, seconds: float = 5, key: str | None = None) -> Claude:
    config = ModelConfig(name=NAME, base_url=api.url, request_seconds=seconds)
    return Claude(config, lambda: api.api_key if key is None else key)


def asked() -> ModelRequest:
    made = request(brief(), MENU, ModelConfig(name=NAME))
    assert isinstance(made, ModelRequest)
    return made


async def failed(api: FakeMessages, seconds: float = 5) -> ModelFailed:
    result = await claude(api, seconds).call(asked())
    assert isinstance(result, ModelFailed)
    return result


async def test_the_api_takes_the_request_and_its_answer_becomes_a_plan(api: FakeMessages) -> None:
    api.answer(answer(), usage=(1234, 56))
    reply = await claude(api).call(asked())
    assert isinstance(reply, ModelReply)
    assert (reply.input_tokens, reply.output_tokens, reply.stop_reason) == (1234, 56, "end_turn")
    assert json.loads(reply.raw)["type"] == "message"
    assert isinstance(parse(reply.raw, brief(), MENU), PlanProposal)
    assert not api.impossible, "the schema allows what the answer says"


async def test_what_is_sent_is_the_body_that_was_hashed_and_the_estimate_is_on_the_safe_side(api: FakeMessages) -> None:
    api.answer(answer())
    reply = await claude(api).call(asked())
    assert isinstance(reply, ModelReply)
    assert api.requests[0].body == asked().body
    assert reply.input_tokens <= asked().input_tokens


async def test_the_trace_of_the_incident_is_not_sent_to_the_api(api: FakeMessages) -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    with trace.TracerProvider().get_tracer("test").start_as_current_span("incident"):
        api.answer(answer())
        await claude(api).call(asked())
    assert not {"traceparent", "tracestate", "baggage"} & {name.lower() for name in api.requests[0].headers}


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("refusal", Reason.MODEL_REFUSED),
        ("max_tokens", Reason.MODEL_TRUNCATED),
        ("model_context_window_exceeded", Reason.MODEL_BUDGET),
        ("tool_use", Reason.MODEL_INVALID),
        ("pause_turn", Reason.MODEL_INVALID),
    ],
)
async def test_an_answer_that_did_not_end_is_kept_whole_and_refused_when_read(
    api: FakeMessages, stop: str, reason: Reason
) -> None:
    api.answer(answer(), stop)
    reply = await claude(api).call(asked())
    assert isinstance(reply, ModelReply)
    assert reply.stop_reason == stop
    refusal = parse(reply.raw, brief(), MENU)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is reason


async def test_a_body_that_is_no_message_is_kept_and_refused_when_read(api: FakeMessages) -> None:
    api.garble()
    reply = await claude(api).call(asked())
    assert isinstance(reply, ModelReply)
    assert (reply.input_tokens, reply.stop_reason) == (0, "")
    refusal = parse(reply.raw, brief(), MENU)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.MODEL_INVALID


@pytest.mark.parametrize(
    ("status", "reason", "again", "spent"),
    [
        (400, Reason.MODEL_BAD_REQUEST, False, False),
        (401, Reason.MODEL_AWAY, False, False),
        (402, Reason.MODEL_AWAY, False, False),
        (403, Reason.MODEL_AWAY, False, False),
        (404, Reason.MODEL_BAD_REQUEST, False, False),
        (413, Reason.MODEL_BAD_REQUEST, False, False),
        (429, Reason.MODEL_AWAY, True, False),
        (500, Reason.MODEL_AWAY, True, True),
        (503, Reason.MODEL_AWAY, True, True),
        (529, Reason.MODEL_AWAY, True, False),
    ],
)
async def test_every_error_is_one_call_and_one_reason(
    api: FakeMessages, status: int, reason: Reason, again: bool, spent: bool
) -> None:
    api.fail(status, times=5)
    result = await failed(api)
    assert (result.reason, result.retry_after is not None, result.spent) == (reason, again, spent)
    assert str(status) in result.detail
    assert len(api.requests) == 1, "the library repeats nothing by itself"


@pytest.mark.parametrize(("wish", "wait"), [(7, 7), (0, 1), (86_400, 120), (None, 10)])
async def test_the_servers_wish_to_wait_is_honoured_within_bounds(
    api: FakeMessages, wish: float | None, wait: float
) -> None:
    api.rate_limit(wish)
    assert (await failed(api)).retry_after == wait


async def test_a_lost_connection_counts_as_spent(api: FakeMessages) -> None:
    api.reset()
    result = await failed(api)
    assert (result.reason, result.spent) == (Reason.MODEL_AWAY, True)


async def test_silence_ends_at_the_time_limit_and_counts_as_spent(api: FakeMessages) -> None:
    held = api.hang()
    result = await failed(api, seconds=0.2)
    held.release()
    assert (result.reason, result.spent) == (Reason.MODEL_AWAY, True)
    assert result.retry_after is not None


async def test_a_refused_connection_spends_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    result = await Claude(ModelConfig(name=NAME, base_url=url), lambda: "sk-test").call(asked())
    assert isinstance(result, ModelFailed)
    assert (result.reason, result.spent) == (Reason.MODEL_AWAY, False)


@pytest.mark.parametrize("key", ["", "sk-\nx", "schlüssel"])
async def test_without_a_usable_key_nothing_is_sent(api: FakeMessages, key: str) -> None:
    result = await claude(api, key=key).call(asked())
    assert isinstance(result, ModelFailed)
    assert (result.reason, result.spent, api.requests) == (Reason.MODEL_AWAY, False, [])


async def test_a_secret_that_is_missing_is_a_failure_and_no_crash(api: FakeMessages) -> None:
    def missing() -> str:
        raise BadConfig("planner.model.key: file is missing; put the secret there")

    result = await Claude(ModelConfig(name=NAME, base_url=api.url), missing).call(asked())
    assert isinstance(result, ModelFailed)
    assert "planner.model.key" in result.detail


async def test_a_rotated_key_is_used_from_the_next_call_on(api: FakeMessages) -> None:
    keys = iter(["sk-old", api.api_key])
    api.answer(answer(), times=2)
    model = Claude(ModelConfig(name=NAME, base_url=api.url), lambda: next(keys))
    first, second = await model.call(asked()), await model.call(asked())
    assert isinstance(first, ModelFailed)
    assert isinstance(second, ModelReply)


async def test_an_error_that_repeats_the_key_does_not_show_it(api: FakeMessages) -> None:
    api.fail(400, f"bad header: {api.api_key} " + "x" * 2000)
    result = await failed(api)
    assert api.api_key not in result.detail
    assert len(result.detail) <= 400


async def test_the_address_is_never_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, api: FakeMessages
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://elsewhere.example")
    api.answer(answer())
    assert isinstance(await claude(api).call(asked()), ModelReply)


async def test_no_test_here_can_reach_the_real_api() -> None:
    with pytest.raises(Blocked, match=r"api\.anthropic\.com"):
        socket.getaddrinfo("api.anthropic.com", 443)
    result = await Claude(ModelConfig(name=NAME), lambda: "sk-test").call(asked())
    assert isinstance(result, ModelFailed)
    assert "live call" in result.detail
