"""The call itself: one request, one raw answer or one failure, never repeated in here.

Repeating is the ledger's business, which counts every call before it is made; so the library's own retries are off.
The answer comes back as the text that the API sent, to be stored before anybody reads it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from handrail.adapters.claude.request import ModelRequest
from handrail.model.config import ModelConfig
from handrail.model.errors import Permanent
from handrail.model.reason import Reason
from handrail.model.value import Value

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic

API = "https://api.anthropic.com"
MOST_WAIT = 120.0
"""Seconds: the library honours a `Retry-After` of any length; an incident does not."""

DEFAULT_WAIT = 10.0
LARGEST = 1_000_000
"""Characters of an answer: a plan has a few thousand."""


class ModelReply(Value):
    """`raw` is the API's message as it came. The numbers are 0 and "" where it did not hold them."""

    raw: str
    input_tokens: int
    output_tokens: int
    stop_reason: str


class ModelFailed(Value):
    """`spent`: the call may have been carried out and paid for. `retry_after` in seconds; None: again is no use."""

    reason: Reason
    detail: str
    spent: bool
    retry_after: float | None = None


class Claude:
    """Makes a client for each call: calls are few, and so a rotated key is used at once and none is ever cut off."""

    def __init__(self, config: ModelConfig, read_key: Callable[[], str]) -> None:
        self._config = config
        self._read_key = read_key

    async def call(self, request: ModelRequest) -> ModelReply | ModelFailed:
        """Raises nothing but cancellation and bugs. `read_key` may raise Permanent: that is a failure, not a crash."""
        try:
            key = self._read_key()
        except Permanent as missing:
            return ModelFailed(reason=Reason.MODEL_AWAY, detail=f"no API key: {missing}", spent=False)
        if not key or not key.isascii() or not key.isprintable():
            return ModelFailed(reason=Reason.MODEL_AWAY, detail="the API key is empty or is no key", spent=False)
        answer = await self._ask(key, request)
        if isinstance(answer, ModelFailed):
            return answer.model_copy(update={"detail": _bounded(answer.detail.replace(key, "***"))})
        return answer

    async def _ask(self, key: str, request: ModelRequest) -> ModelReply | ModelFailed:
        client = await asyncio.to_thread(_client, self._config, key)
        from anthropic import APIConnectionError, APIError, APIStatusError

        try:
            async with client, asyncio.timeout(self._config.request_seconds):
                answer = await client.messages.with_raw_response.create(**request.body)
                return _reply(await answer.text())
        except APIStatusError as error:
            return _status(error)
        except TimeoutError:
            return _away(f"no answer within {self._config.request_seconds:g} seconds", spent=True)
        except APIConnectionError as error:
            return _away(f"no connection: {error.__cause__ or error}", spent=not _never_sent(error))
        except APIError as error:
            return _away(f"the call failed: {error}", spent=True)


def _client(config: ModelConfig, key: str) -> AsyncAnthropic:
    """Runs in a thread: the import alone takes seconds. The address is always named, so no environment moves it."""
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        api_key=key,
        base_url=config.base_url or API,
        max_retries=0,
        timeout=config.request_seconds,
        open_telemetry={"propagation": False},
    )


def _status(error: APIStatusError) -> ModelFailed:
    code = error.status_code
    detail = f"the model's API answered {code}: {error}"
    if code in (408, 409, 429) or code >= 500:
        # 429 and 529 are turned away at the door; any other of these may come after the work was done
        return _away(detail, spent=code not in (429, 529), retry_after=_retry_after(error))
    reason = Reason.MODEL_AWAY if code in (401, 402, 403) else Reason.MODEL_BAD_REQUEST
    return ModelFailed(reason=reason, detail=detail, spent=False)


def _bounded(text: str) -> str:
    return " ".join(text.split())[:400]


def _reply(raw: str) -> ModelReply | ModelFailed:
    """Reads no more than the bill: whatever else it holds is judged by `parse`, after it was stored."""
    if len(raw) > LARGEST:
        detail = f"the answer has {len(raw)} characters, more than {LARGEST}"
        return ModelFailed(reason=Reason.MODEL_INVALID, detail=detail, spent=True)
    message = _object(raw)
    usage = message.get("usage")
    counted = usage if isinstance(usage, dict) else {}
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return ModelReply(
        raw=raw,
        input_tokens=sum(_whole(counted.get(name)) for name in read),
        output_tokens=_whole(counted.get("output_tokens")),
        stop_reason=str(message.get("stop_reason") or "")[:40],
    )


def _object(raw: str) -> dict[str, Any]:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _whole(number: object) -> int:
    return number if isinstance(number, int) and number > 0 else 0


def _away(detail: str, *, spent: bool, retry_after: float = DEFAULT_WAIT) -> ModelFailed:
    return ModelFailed(reason=Reason.MODEL_AWAY, detail=detail, spent=spent, retry_after=retry_after)


def _never_sent(error: BaseException) -> bool:
    """Refused or unresolved before a byte of the request went out."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def _retry_after(error: APIStatusError) -> float:
    """The server's wish in seconds, between one second and two minutes; dates and nonsense give the default."""
    try:
        wish = float(error.response.headers.get("retry-after", DEFAULT_WAIT))
    except ValueError:
        return DEFAULT_WAIT
    return min(max(wish, 1.0), MOST_WAIT) if wish == wish else DEFAULT_WAIT
