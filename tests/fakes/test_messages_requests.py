"""Which requests the fake Messages API refuses, asked by the real anthropic client."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic, transform_schema

from tests.fakes.messages import FakeMessages
from tests.fakes.samples import ASK, PLAN, Json, Plan, with_schema


def closed(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


async def refused(claude: AsyncAnthropic, **body: Any) -> str:
    """The message of the 400 that this request gets."""
    with pytest.raises(anthropic.BadRequestError) as caught:
        await claude.post("/v1/messages", cast_to=object, body={**ASK, **body})
    error = caught.value.body
    assert isinstance(error, dict)
    assert error["error"]["type"] == "invalid_request_error"
    return str(error["error"]["message"])


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
async def test_a_request_that_the_api_would_not_take_is_refused(claude: AsyncAnthropic, body: Json, words: str) -> None:
    assert words in await refused(claude, **body)


@pytest.mark.parametrize("name", ["model", "max_tokens", "messages"])
async def test_what_is_required_is_asked_for(claude: AsyncAnthropic, name: str) -> None:
    body = {key: value for key, value in ASK.items() if key != name}
    with pytest.raises(anthropic.BadRequestError, match=f"{name}: Field required"):
        await claude.post("/v1/messages", cast_to=object, body=body)


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
async def test_an_output_schema_outside_the_subset_is_refused(claude: AsyncAnthropic, schema: Json, words: str) -> None:
    assert words in await refused(claude, **with_schema(schema))


async def test_a_plain_pydantic_schema_is_refused_and_its_transform_is_taken(
    model: FakeMessages, claude: AsyncAnthropic
) -> None:
    await refused(claude, **with_schema(Plan.model_json_schema()))
    model.answer(PLAN)
    await claude.messages.create(**ASK, **with_schema(transform_schema(Plan)))


async def test_an_unknown_model_is_not_found(claude: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="claude-none"):
        await claude.messages.create(**{**ASK, "model": "claude-none"})


async def test_a_prompt_over_the_window_and_a_body_over_the_limit_are_refused() -> None:
    async with (
        FakeMessages(window=100, max_bytes=2000) as model,
        AsyncAnthropic(api_key=model.api_key, base_url=model.url, max_retries=0) as claude,
    ):
        assert "prompt is too long" in await refused(claude, messages=[{"role": "user", "content": "x" * 1000}])
        with pytest.raises(anthropic.APIStatusError) as caught:
            await claude.messages.create(**{**ASK, "messages": [{"role": "user", "content": "x" * 3000}]})
        assert caught.value.status_code == 413
