"""The faults that can be ordered from the fake Messages API, met by the real anthropic client."""

from __future__ import annotations

import asyncio
import json

import anthropic
import pytest
from anthropic import AsyncAnthropic

from tests.fakes.messages import FakeMessages
from tests.fakes.samples import ASK, PLAN


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "invalid_request_error", anthropic.BadRequestError),
        (401, "authentication_error", anthropic.AuthenticationError),
        (403, "permission_error", anthropic.PermissionDeniedError),
        (413, "request_too_large", anthropic.APIStatusError),
        (429, "rate_limit_error", anthropic.RateLimitError),
        (500, "api_error", anthropic.InternalServerError),
        (529, "overloaded_error", anthropic.APIStatusError),
    ],
)
async def test_every_error_can_be_ordered(
    model: FakeMessages, claude: AsyncAnthropic, status: int, kind: str, error: type[anthropic.APIStatusError]
) -> None:
    model.fail(status)
    with pytest.raises(error) as caught:
        await claude.messages.create(**ASK)
    assert caught.value.status_code == status
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == kind
    assert model.statuses == [status]


async def test_an_error_can_carry_its_stable_code(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.fail(429, code="contract_spend_limit_reached")
    with pytest.raises(anthropic.RateLimitError) as caught:
        await claude.messages.create(**ASK)
    assert caught.value.error_code == "contract_spend_limit_reached"


async def test_the_client_as_it_comes_asks_three_times_and_heeds_retry_after(model: FakeMessages) -> None:
    model.rate_limit(retry_after=0.01, times=2)
    model.answer("at last")
    async with AsyncAnthropic(api_key=model.api_key, base_url=model.url) as claude:
        await claude.messages.create(**ASK)
    assert model.statuses == [429, 429, 200]
    assert [r.headers["x-stainless-retry-count"] for r in model.requests] == ["0", "1", "2"]


async def test_a_truncated_answer_is_json_cut_short(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.truncate(PLAN, cut=20)
    message = await claude.messages.create(**ASK)
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 1000)
    assert message.content[0].type == "text"
    with pytest.raises(json.JSONDecodeError):
        json.loads(message.content[0].text)


async def test_a_refusal_has_no_content_and_says_why(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.refuse("cyber")
    message = await claude.messages.create(**ASK)
    assert (message.stop_reason, message.content) == ("refusal", [])
    assert message.stop_details is not None
    assert message.stop_details.category == "cyber"


async def test_the_other_odd_answers_arrive_as_they_are(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.overflow("so far")
    model.answer(None)
    model.answer("{not json")
    stops = [await claude.messages.create(**ASK) for _ in range(3)]
    assert [m.stop_reason for m in stops] == ["model_context_window_exceeded", "end_turn", "end_turn"]
    assert stops[1].content == []
    with pytest.raises(ValueError, match="no stop reason"):
        model.answer("x", "tired")


async def test_a_cut_connection_is_a_connection_error(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.reset()
    with pytest.raises(anthropic.APIConnectionError):
        await claude.messages.create(**ASK)
    assert len(model.requests) == 1


async def test_a_body_that_is_no_json_comes_back_as_text_or_as_an_error(
    model: FakeMessages, claude: AsyncAnthropic
) -> None:
    model.garble()
    assert not isinstance(await claude.messages.create(**ASK), anthropic.types.Message)
    model.garble(status=502)
    with pytest.raises(anthropic.InternalServerError):
        await claude.messages.create(**ASK)


async def test_silence_ends_in_a_time_out_and_does_not_use_up_the_next_answer(
    model: FakeMessages, claude: AsyncAnthropic
) -> None:
    fault = model.hang()
    model.answer("next")
    with pytest.raises(anthropic.APITimeoutError):
        await claude.messages.create(**ASK, timeout=0.2)
    fault.release()
    message = await claude.messages.create(**ASK)
    assert message.content[0].type == "text"
    assert message.content[0].text == "next"


async def test_silence_can_end_by_itself(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.hang(seconds=0.05)
    model.answer("after a while")
    asked = asyncio.create_task(claude.messages.create(**ASK))
    await model.wait_for(lambda: model.requests)
    assert not asked.done()
    assert (await asked).stop_reason == "end_turn"
