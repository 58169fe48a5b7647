"""Checks a Messages request as the API of a current model does: fields, values, turns, sizes.

Strict about: unknown fields at the top and in what it knows below, sampling parameters (gone), the turns (first and
last the user's, alternating; the real API merges two of one role, here that is refused as a likely mistake), empty
texts, `max_tokens` against the model, and the output schema. Does not take: streaming, images, documents, server tools
and `system` turns inside `messages`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.messages.errors import Refused, bad
from tests.fakes.messages.schema import check_schema

Json = dict[str, Any]
Check = Callable[[Any, str], None]

EXTRA = "Extra inputs are not permitted"
EFFORTS = ("low", "medium", "high", "xhigh", "max")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def _is(kind: type, word: str) -> Check:
    def check(value: Any, at: str) -> None:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise bad(f"{at}: Input should be a valid {word}")

    return check


text, whole, listing, mapping = (
    _is(str, "string"),
    _is(int, "integer"),
    _is(list, "list"),
    _is(dict, "dictionary"),
)


def one_of(*allowed: str) -> Check:
    def check(value: Any, at: str) -> None:
        if value not in allowed:
            raise bad(f"{at}: Input should be {' or '.join(repr(each) for each in allowed)}")

    return check


def nullable(inner: Check) -> Check:
    def check(value: Any, at: str) -> None:
        if value is not None:
            inner(value, at)

    return check


def record(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    def check(value: Any, at: str) -> None:
        mapping(value, at)
        for name in required:
            if name not in value:
                raise bad(f"{at}.{name}: Field required")
        for name, item in value.items():
            inner = required.get(name) or optional.get(name)
            if inner is None:
                raise bad(f"{at}.{name}: {EXTRA}")
            inner(item, f"{at}.{name}")

    return check


def anything(value: Any, at: str) -> None:
    """Accepted unread."""


_cache = nullable(record({"type": one_of("ephemeral")}, {"ttl": one_of("5m", "1h")}))


def _text_of(value: Any, at: str) -> None:
    text(value, at)
    if not value.strip():
        raise bad("messages: text content blocks must contain non-whitespace text")


BLOCKS: Mapping[str, Check] = {
    "text": record({"type": text, "text": _text_of}, {"cache_control": _cache, "citations": anything}),
    "tool_use": record({"type": text, "id": text, "name": text, "input": mapping}, {"cache_control": _cache}),
    "tool_result": record(
        {"type": text, "tool_use_id": text}, {"content": anything, "is_error": anything, "cache_control": _cache}
    ),
    "thinking": record({"type": text, "thinking": text, "signature": text}, {}),
}


def _content(value: Any, at: str) -> None:
    if isinstance(value, str):
        _text_of(value, at)
        return
    listing(value, at)
    if not value:
        raise bad(f"{at}: content must be non-empty")
    for index, block in enumerate(value):
        mapping(block, f"{at}.{index}")
        if block.get("type") not in BLOCKS:
            raise bad(f"{at}.{index}: Input tag '{block.get('type')}' does not match any of {sorted(BLOCKS)}")
        BLOCKS[block["type"]](block, f"{at}.{index}")


def _messages(value: Any, at: str) -> None:
    listing(value, at)
    if not value:
        raise bad("messages: at least one message is required")
    before = None
    for index, turn in enumerate(value):
        if isinstance(turn, dict) and turn.get("role") == "system":
            raise bad('messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter.')
        record({"role": one_of("user", "assistant"), "content": _content}, {})(turn, f"{at}.{index}")
        if turn["role"] == before:
            raise bad(f'messages: roles must alternate between "user" and "assistant", but found two "{before}" turns')
        before = turn["role"]
    if value[0]["role"] != "user":
        raise bad('messages: first message must use the "user" role')
    if before == "assistant":
        raise bad(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _system(value: Any, at: str) -> None:
    if isinstance(value, str):
        return
    listing(value, at)
    for index, block in enumerate(value):
        BLOCKS["text"](block, f"{at}.{index}")


def _format(value: Any, at: str) -> None:
    record({"type": one_of("json_schema"), "schema": mapping}, {})(value, at)
    check_schema(value["schema"])


def _thinking(value: Any, at: str) -> None:
    mapping(value, at)
    if value.get("type") == "enabled":
        record({"type": text, "budget_tokens": whole}, {"display": anything})(value, at)
        if value["budget_tokens"] < 1024:
            raise bad(f"{at}.enabled.budget_tokens: Input should be greater than or equal to 1024")
        return
    record({"type": one_of("adaptive", "disabled", "enabled")}, {"display": anything})(value, at)


def _tools(value: Any, at: str) -> None:
    listing(value, at)
    tool = record(
        {"name": text, "input_schema": mapping},
        {"description": text, "type": one_of("custom"), "strict": anything, "cache_control": _cache},
    )
    for index, each in enumerate(value):
        tool(each, f"{at}.{index}")
        if not _TOOL_NAME.fullmatch(each["name"]):
            raise bad(f"{at}.{index}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")


def _positive(value: Any, at: str) -> None:
    whole(value, at)
    if value < 1:
        raise bad(f"{at}: Input should be greater than or equal to 1")


def _stops(value: Any, at: str) -> None:
    listing(value, at)
    for index, each in enumerate(value):
        text(each, f"{at}.{index}")
        if not each.strip():
            raise bad("stop_sequences: each stop sequence must contain non-whitespace")


_output = record({}, {"effort": nullable(one_of(*EFFORTS)), "format": nullable(_format)})
_shared: Mapping[str, Check] = {
    "system": _system,
    "tools": _tools,
    "tool_choice": mapping,
    "thinking": _thinking,
    "output_config": _output,
    "cache_control": _cache,
    "speed": nullable(one_of("standard", "fast")),
}
_creating: Mapping[str, Check] = {
    **_shared,
    "metadata": record({}, {"user_id": nullable(text)}),
    "stop_sequences": _stops,
    "service_tier": one_of("auto", "standard_only"),
    "inference_geo": nullable(text),
    "container": nullable(anything),
    "diagnostics": nullable(mapping),
    "stream": anything,
}
_GONE = ("temperature", "top_p", "top_k")


def check(body: Any, creating: bool = True) -> Json:
    """The body, when the API would take it; otherwise raises Refused (400)."""
    if not isinstance(body, dict):
        raise bad("Input should be a valid dictionary")
    required: dict[str, Check] = {"model": text, "messages": _messages}
    if creating:
        required["max_tokens"] = _positive
    optional = _creating if creating else _shared
    for name in required:
        if name not in body:
            raise bad(f"{name}: Field required")
    for name in _GONE:
        if name in body:
            raise bad(f"`{name}` is deprecated for this model.")
    for name, value in body.items():
        inner = required.get(name) or optional.get(name)
        if inner is None:
            raise bad(f"{name}: {EXTRA}")
        inner(value, name)
    if body.get("stream"):
        raise bad("stream: this fake does not stream")
    return body


def check_limits(body: Json, max_output: int, window: int) -> None:
    """`max_tokens` and the prompt against what the model takes (tokens)."""
    if body.get("max_tokens", 1) > max_output:
        raise bad(
            f"max_tokens: {body['max_tokens']} > {max_output}, which is the maximum allowed number of output tokens"
            f" for {body['model']}"
        )
    thinking = body.get("thinking") or {}
    if thinking.get("budget_tokens", 0) >= body.get("max_tokens", 1):
        raise bad("`max_tokens` must be greater than `thinking.budget_tokens`.")
    tokens = count_tokens(body)
    if tokens > window:
        raise bad(f"prompt is too long: {tokens} tokens > {window} maximum")


def count_tokens(body: Json) -> int:
    """About four characters a token, over all that the model would read."""
    read = [body.get("system", ""), body.get("messages", []), body.get("tools", []), body.get("output_config", {})]
    return 3 + sum(len(json.dumps(each, ensure_ascii=False)) for each in read) // 4


def too_large(size: int, most: int) -> None:
    if size > most:
        raise Refused(413, f"Request exceeds the maximum size ({size} > {most} bytes)")
