"""The fake Messages API's answers, asked for by the real anthropic client."""

from __future__ import annotations

import aiohttp
import anthropic
import pytest
from anthropic import AsyncAnthropic, transform_schema

from tests.fakes.messages import Answer, FakeMessages, Request
from tests.fakes.samples import ASK, MODEL, PLAN, Plan, with_schema


async def test_a_scripted_plan_comes_back_with_its_usage(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.answer(PLAN, usage=(1200, 90))
    message = await claude.messages.create(**ASK, **with_schema(transform_schema(Plan)), system="You plan.")
    assert message.content[0].type == "text"
    assert Plan.model_validate_json(message.content[0].text).choices[0].option == "undo"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1200, 90)
    assert (message.stop_reason, message.model) == ("end_turn", MODEL)
    (request,) = model.requests
    assert (request.number, request.system, request.prompt) == (1, "You plan.", "What is wrong?")
    assert request.schema == transform_schema(Plan)
    assert (model.impossible, model.unscripted, model.script.unsaid) == ([], [], 0)


async def test_tokens_are_reckoned_from_the_text_when_the_script_gives_none(
    model: FakeMessages, claude: AsyncAnthropic
) -> None:
    model.answer("short", times=2)
    short = await claude.messages.create(**ASK)
    long = await claude.messages.create(
        model=MODEL, max_tokens=10, messages=[{"role": "user", "content": "word " * 4000}]
    )
    assert short.usage.input_tokens < 100
    assert 4000 < long.usage.input_tokens < 6000


async def test_a_queue_a_condition_and_a_callable_answer_in_that_order(
    model: FakeMessages, claude: AsyncAnthropic
) -> None:
    model.answer("for the reviewer", when=lambda request: "review" in request.system)
    model.answer("first")
    model.answer_with(lambda request: f"number {request.number}")

    async def said(system: str = "") -> str:
        message = await claude.messages.create(**ASK, system=system)
        assert message.content[0].type == "text"
        return message.content[0].text

    assert [await said(), await said(), await said("You review."), await said("You review.")] == [
        "first",
        "number 2",
        "for the reviewer",
        "number 4",
    ]

    async def later(request: Request) -> Answer:
        return Answer("told later")

    model.answer_with(later)
    assert await said() == "told later"


async def test_a_request_without_a_scripted_answer_is_refused_and_noted(
    model: FakeMessages, claude: AsyncAnthropic
) -> None:
    with pytest.raises(anthropic.BadRequestError, match="no answer"):
        await claude.messages.create(**ASK)
    assert len(model.unscripted) == 1


async def test_an_answer_that_the_schema_forbids_is_noted(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.answer({**PLAN, "choices": [{"option": "delete everything", "replicas": 1}]})
    await claude.messages.create(**ASK, **with_schema(transform_schema(Plan)))
    assert "request 1: $.choices[0].option" in model.impossible[0]


async def test_a_wrong_key_is_an_authentication_error(model: FakeMessages) -> None:
    async with AsyncAnthropic(api_key="sk-ant-wrong", base_url=model.url, max_retries=0) as claude:
        with pytest.raises(anthropic.AuthenticationError, match="Invalid bearer token"):
            await claude.messages.create(**ASK)
    assert model.requests == []


async def test_the_client_sends_its_key_as_a_bearer_token(model: FakeMessages, claude: AsyncAnthropic) -> None:
    model.answer("x")
    await claude.messages.create(**ASK)
    sent = {name.lower(): value for name, value in model.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {model.api_key}"
    assert "x-api-key" not in sent


async def test_the_key_and_version_headers_are_required(model: FakeMessages) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{model.url}/v1/messages", json=ASK) as answer:
            assert answer.status == 401
        async with session.post(f"{model.url}/v1/messages", json=ASK, headers={"x-api-key": model.api_key}) as answer:
            assert (answer.status, (await answer.json())["error"]["type"]) == (400, "invalid_request_error")


async def test_tokens_can_be_counted_before_asking(model: FakeMessages, claude: AsyncAnthropic) -> None:
    counted = await claude.messages.count_tokens(model=MODEL, messages=ASK["messages"])
    model.answer("x")
    assert counted.input_tokens == (await claude.messages.create(**ASK)).usage.input_tokens
    with pytest.raises(anthropic.BadRequestError, match="max_tokens: Extra inputs"):
        await claude.post("/v1/messages/count_tokens", cast_to=object, body=ASK)


async def test_models_can_be_listed_and_looked_up(model: FakeMessages, claude: AsyncAnthropic) -> None:
    assert [each.id async for each in await claude.models.list()] == list(model.models)
    assert (await claude.models.retrieve(MODEL)).max_input_tokens == 200_000
    with pytest.raises(anthropic.NotFoundError):
        await claude.models.retrieve("claude-none")
    with pytest.raises(anthropic.NotFoundError):
        await claude.get("/v1/files", cast_to=object)


async def test_a_trace_is_not_sent_along_when_the_client_is_told_not_to(model: FakeMessages) -> None:
    model.answer("x")
    async with AsyncAnthropic(
        api_key=model.api_key, base_url=model.url, open_telemetry={"propagation": False}
    ) as claude:
        await claude.messages.create(**ASK)
    assert "traceparent" not in {name.lower() for name in model.requests[0].headers}
