"""A call to a language model as values: what is sent, what came back, or why nothing usable did."""

from __future__ import annotations

from handrail.model.reason import Reason
from handrail.model.value import Raw, Value


class ModelRequest(Value):
    """`hash` is the digest of `body`, the key of the ledger; `input_tokens` a careful (high) estimate."""

    hash: str
    model: str
    body: Raw
    input_tokens: int


class ModelReply(Value):
    """`raw` is the whole answer as JSON text, not yet parsed. Token counts are the API's own."""

    raw: str
    input_tokens: int
    output_tokens: int


class ModelFailed(Value):
    """`spent` where the API may have charged for it; `retry_after` in seconds where trying again may help."""

    reason: Reason
    detail: str
    spent: bool = False
    retry_after: float | None = None
