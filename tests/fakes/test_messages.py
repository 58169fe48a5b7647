"""The fake Messages API, asked by the real anthropic client."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any, Literal

import aiohttp
import anthropic
import pytest
from anthropic import AsyncAnthropic, transform_schema
from pydantic import BaseModel, Field

from tests.fakes.messages import Answer, FakeMessages, Request

Json = dict[str, Any]
MODEL = "claude-sonnet-5-5"
ASK: Json = {"model": MODEL, "max_tokens": 1000, "messages": [{"role": "user", "content": "What is wrong?"}]}


class Choice(BaseModel):
    option: Literal["restart", "undo"]
    replicas: int = Field(ge=0, le=10)


class Plan(BaseModel):
    diagnosis: str = Field(max_length=200, pattern="^[A-Z]")
    choices: list[Choice] = Field(min_length=1, max_length=3)
    note: str | None = None


PLAN: Json = {"diagnosis": "Bad image", "choices": [{"option": "undo", "replicas": 2}], "note": None}


@pytest.fixture(autouse=True)
def _nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client takes headers and credentials from the environment even when it is given a key."""
    for name in [each for each in os.environ if each.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)


@pytest.fixture
async def model() -> AsyncIterator[FakeMessages]:
    async with FakeMessages() as fake:
        yield fake


@pytest.fixture
async def client(model: FakeMessages) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key=model.api_key, base_url=model.url, max_retries=0, timeout=5) as made:
        yield made


def with_schema(schema: Json) -> Json:
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def closed(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


async def refused(client: AsyncAnthropic, **body: Any) -> str:
    """The message of the 400 that this request gets."""
    with pytest.raises(anthropic.BadRequestError) as caught:
        await client.post("/v1/messages", cast_to=object, body={**ASK, **body})
    error = caught.value.body
    assert isinstance(error, dict)
    assert error["error"]["type"] == "invalid_request_error"
    return str(error["error"]["message"])


async def test_a_scripted_plan_comes_back_with_its_usage(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.answer(PLAN, usage=(1200, 90))
    message = await client.messages.create(**ASK, **with_schema(transform_schema(Plan)), system="You plan.")
    assert message.content[0].type == "text"
    assert Plan.model_validate_json(message.content[0].text).choices[0].option == "undo"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1200, 90)
    assert (message.stop_reason, message.model) == ("end_turn", MODEL)
    (request,) = model.requests
    assert (request.number, request.system, request.prompt) == (1, "You plan.", "What is wrong?")
    assert request.schema == transform_schema(Plan)
    assert (model.impossible, model.unscripted, model.script.unsaid) == ([], [], 0)


async def test_tokens_are_reckoned_from_the_text_when_the_script_gives_none(
    model: FakeMessages, client: AsyncAnthropic
) -> None:
    model.answer("short", times=2)
    short = await client.messages.create(**ASK)
    long = await client.messages.create(
        model=MODEL, max_tokens=10, messages=[{"role": "user", "content": "word " * 4000}]
    )
    assert short.usage.input_tokens < 100
    assert 4000 < long.usage.input_tokens < 6000


async def test_a_queue_a_condition_and_a_callable_answer_in_that_order(
    model: FakeMessages, client: AsyncAnthropic
) -> None:
    model.answer("for the reviewer", when=lambda request: "review" in request.system)
    model.answer("first")
    model.answer_with(lambda request: f"number {request.number}")

    async def said(system: str = "") -> str:
        message = await client.messages.create(**ASK, system=system)
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
    model: FakeMessages, client: AsyncAnthropic
) -> None:
    assert "no answer" in await refused(client)
    assert len(model.unscripted) == 1


async def test_an_answer_that_the_schema_forbids_is_noted(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.answer({**PLAN, "choices": [{"option": "delete everything", "replicas": 1}]})
    await client.messages.create(**ASK, **with_schema(transform_schema(Plan)))
    assert "request 1: $.choices[0].option" in model.impossible[0]


async def test_a_wrong_key_is_an_authentication_error(model: FakeMessages) -> None:
    async with AsyncAnthropic(api_key="sk-ant-wrong", base_url=model.url, max_retries=0) as client:
        with pytest.raises(anthropic.AuthenticationError, match="Invalid bearer token"):
            await client.messages.create(**ASK)
    assert model.requests == []


async def test_the_client_sends_its_key_as_a_bearer_token(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.answer("x")
    await client.messages.create(**ASK)
    sent = {name.lower(): value for name, value in model.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {model.api_key}"
    assert "x-api-key" not in sent


async def test_the_key_and_version_headers_are_required(model: FakeMessages) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{model.url}/v1/messages", json=ASK) as answer:
            assert answer.status == 401
        async with session.post(f"{model.url}/v1/messages", json=ASK, headers={"x-api-key": model.api_key}) as answer:
            assert (answer.status, (await answer.json())["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"temperature": 0.1}, "`temperature` is deprecated"),
        ({"top_p": 0.1}, "`top_p` is deprecated"),
        ({"response_format": {}}, "response_format: Extra inputs are not permitted"),
        ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
        ({"max_tokens": "many"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": 64_001}, "max_tokens: 64001 > 64000"),
        ({"messages": []}, "at least one message"),
        ({"messages": "hello"}, "messages: Input should be a valid list"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 'first message must use the "user" role'),
        ({"messages": [{"role": "user", "content": "x"}] * 2}, "roles must alternate"),
        (
            {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]},
            "does not support assistant message prefill",
        ),
        ({"messages": [{"role": "system", "content": "x"}]}, 'Unexpected role "system"'),
        ({"messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
        ({"messages": [{"role": "user", "content": []}]}, "content must be non-empty"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "Input tag 'image'"),
        ({"messages": [{"role": "user", "content": "x", "name": "y"}]}, "messages.0.name: Extra inputs"),
        ({"system": 7}, "system: Input should be a valid list"),
        ({"output_config": {"effort": "huge"}}, "output_config.effort"),
        ({"output_config": {"verbosity": "low"}}, "output_config.verbosity: Extra inputs"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema: Field required"),
        ({"metadata": {"incident": "i1"}}, "metadata.incident: Extra inputs"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "must be greater than `thinking.budget_tokens`"),
        ({"stop_sequences": [" "]}, "non-whitespace"),
        ({"stream": True}, "does not stream"),
    ],
)
async def test_a_request_that_the_api_would_not_take_is_refused(client: AsyncAnthropic, body: Json, words: str) -> None:
    assert words in await refused(client, **body)


@pytest.mark.parametrize("name", ["model", "max_tokens", "messages"])
async def test_what_is_required_is_asked_for(client: AsyncAnthropic, name: str) -> None:
    body = {key: value for key, value in ASK.items() if key != name}
    with pytest.raises(anthropic.BadRequestError, match=f"{name}: Field required"):
        await client.post("/v1/messages", cast_to=object, body=body)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object", "properties": {}}, "'additionalProperties' must be explicitly set to false"),
        (closed(a={"type": "object"}), "'additionalProperties' must be explicitly set to false"),
        (closed(a={"type": "string", "maxLength": 9}), "For 'string' type, property 'maxLength' is not supported"),
        (closed(a={"type": "string", "pattern": "^a"}), "property 'pattern' is not supported"),
        (
            closed(a={"type": "number", "maximum": 9, "minimum": 0}),
            "For 'number' type, properties maximum, minimum are not supported",
        ),
        (closed(a={"type": "array", "items": {"type": "string"}, "maxItems": 3}), "'maxItems' is not supported"),
        (closed(a={"type": "array", "items": {"type": "string"}, "minItems": 2}), "'minItems' values other than 0"),
        (closed(a={"oneOf": [{"type": "string"}]}), "Schema type is required"),
        (closed(a={"enum": [{"b": 1}]}), "enum values must be"),
        (closed(a={"$ref": "#/$defs/None"}), "Invalid reference"),
        (closed(a={"type": "string", "format": "hex"}), "format 'hex' is not supported"),
        (
            {"$defs": {"N": closed(n={"$ref": "#/$defs/N"})}, **closed(a={"$ref": "#/$defs/N"})},
            "Recursive schemas are not supported",
        ),
        (
            {
                "type": "object",
                "properties": {f"p{n}": {"type": "string"} for n in range(25)},
                "additionalProperties": False,
            },
            "too many optional parameters (25)",
        ),
        (
            closed(**{f"p{n}": {"anyOf": [{"type": "string"}, {"type": "null"}]} for n in range(17)}),
            "too many parameters with union types (17",
        ),
    ],
)
async def test_an_output_schema_outside_the_subset_is_refused(client: AsyncAnthropic, schema: Json, words: str) -> None:
    assert words in await refused(client, **with_schema(schema))


async def test_a_plain_pydantic_schema_is_refused_and_its_transform_is_taken(
    model: FakeMessages, client: AsyncAnthropic
) -> None:
    await refused(client, **with_schema(Plan.model_json_schema()))
    model.answer(PLAN)
    await client.messages.create(**ASK, **with_schema(transform_schema(Plan)))


async def test_an_unknown_model_is_not_found(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="claude-none"):
        await client.messages.create(**{**ASK, "model": "claude-none"})


async def test_a_prompt_over_the_window_and_a_body_over_the_limit_are_refused() -> None:
    async with (
        FakeMessages(window=100, max_bytes=2000) as model,
        AsyncAnthropic(api_key=model.api_key, base_url=model.url, max_retries=0) as client,
    ):
        assert "prompt is too long" in await refused(client, messages=[{"role": "user", "content": "x" * 1000}])
        with pytest.raises(anthropic.APIStatusError) as caught:
            await client.messages.create(**{**ASK, "messages": [{"role": "user", "content": "x" * 3000}]})
        assert caught.value.status_code == 413


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
    model: FakeMessages, client: AsyncAnthropic, status: int, kind: str, error: type[anthropic.APIStatusError]
) -> None:
    model.fail(status)
    with pytest.raises(error) as caught:
        await client.messages.create(**ASK)
    assert caught.value.status_code == status
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == kind
    assert model.statuses == [status]


async def test_an_error_can_carry_its_stable_code(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.fail(429, code="contract_spend_limit_reached")
    with pytest.raises(anthropic.RateLimitError) as caught:
        await client.messages.create(**ASK)
    assert caught.value.error_code == "contract_spend_limit_reached"


async def test_the_client_as_it_comes_asks_three_times_and_heeds_retry_after(model: FakeMessages) -> None:
    model.rate_limit(retry_after=0.01, times=2)
    model.answer("at last")
    async with AsyncAnthropic(api_key=model.api_key, base_url=model.url) as client:
        await client.messages.create(**ASK)
    assert model.statuses == [429, 429, 200]
    assert [r.headers["x-stainless-retry-count"] for r in model.requests] == ["0", "1", "2"]


async def test_a_truncated_answer_is_json_cut_short(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.truncate(PLAN, cut=20)
    message = await client.messages.create(**ASK)
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 1000)
    assert message.content[0].type == "text"
    with pytest.raises(json.JSONDecodeError):
        json.loads(message.content[0].text)


async def test_a_refusal_has_no_content_and_says_why(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.refuse("cyber")
    message = await client.messages.create(**ASK)
    assert (message.stop_reason, message.content) == ("refusal", [])
    assert message.stop_details is not None
    assert message.stop_details.category == "cyber"


async def test_the_other_odd_answers_arrive_as_they_are(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.overflow("so far")
    model.answer(None)
    model.answer("{not json")
    stops = [await client.messages.create(**ASK) for _ in range(3)]
    assert [m.stop_reason for m in stops] == ["model_context_window_exceeded", "end_turn", "end_turn"]
    assert stops[1].content == []
    with pytest.raises(ValueError, match="no stop reason"):
        model.answer("x", "tired")


async def test_a_cut_connection_is_a_connection_error(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.reset()
    with pytest.raises(anthropic.APIConnectionError):
        await client.messages.create(**ASK)
    assert len(model.requests) == 1


async def test_a_body_that_is_no_json_comes_back_as_text_or_as_an_error(
    model: FakeMessages, client: AsyncAnthropic
) -> None:
    model.garble()
    assert not isinstance(await client.messages.create(**ASK), anthropic.types.Message)
    model.garble(status=502)
    with pytest.raises(anthropic.InternalServerError):
        await client.messages.create(**ASK)


async def test_silence_ends_in_a_time_out_and_does_not_use_up_the_next_answer(
    model: FakeMessages, client: AsyncAnthropic
) -> None:
    fault = model.hang()
    model.answer("next")
    with pytest.raises(anthropic.APITimeoutError):
        await client.messages.create(**ASK, timeout=0.2)
    fault.release()
    message = await client.messages.create(**ASK)
    assert message.content[0].type == "text"
    assert message.content[0].text == "next"


async def test_silence_can_end_by_itself(model: FakeMessages, client: AsyncAnthropic) -> None:
    model.hang(seconds=0.05)
    model.answer("after a while")
    asked = asyncio.create_task(client.messages.create(**ASK))
    await model.wait_for(lambda: model.requests)
    assert not asked.done()
    assert (await asked).stop_reason == "end_turn"


async def test_tokens_can_be_counted_before_asking(model: FakeMessages, client: AsyncAnthropic) -> None:
    counted = await client.messages.count_tokens(model=MODEL, messages=ASK["messages"])
    model.answer("x")
    assert counted.input_tokens == (await client.messages.create(**ASK)).usage.input_tokens
    with pytest.raises(anthropic.BadRequestError, match="max_tokens: Extra inputs"):
        await client.post("/v1/messages/count_tokens", cast_to=object, body=ASK)


async def test_models_can_be_listed_and_looked_up(model: FakeMessages, client: AsyncAnthropic) -> None:
    assert [each.id async for each in await client.models.list()] == list(model.models)
    assert (await client.models.retrieve(MODEL)).max_input_tokens == 200_000
    with pytest.raises(anthropic.NotFoundError):
        await client.models.retrieve("claude-none")
    with pytest.raises(anthropic.NotFoundError):
        await client.get("/v1/files", cast_to=object)


async def test_a_trace_is_not_sent_along_when_the_client_is_told_not_to(model: FakeMessages) -> None:
    model.answer("x")
    async with AsyncAnthropic(
        api_key=model.api_key, base_url=model.url, open_telemetry={"propagation": False}
    ) as client:
        await client.messages.create(**ASK)
    assert "traceparent" not in {name.lower() for name in model.requests[0].headers}
