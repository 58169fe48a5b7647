"""One request to the API server and its answer, as values, and what a status says about the outcome. Pure.

Decides nothing about the cluster. Text of the server is bounded and free of control characters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from handrail.core.redact import neutral, redact
from handrail.model.errors import OutcomeUnknown, Transient
from handrail.model.value import Raw

SENTENCE = 1000
"""Characters of a server's error text that are kept."""
LOOKED_AT = 4 * SENTENCE
"""Of it, before what steers and hides is taken out: an answer may be as long as MOST_BYTES."""
MOST_BYTES = 32 * 1024 * 1024
"""Of one answer: a page of 250 pods is a few MiB in practice."""
LONGEST_WAIT = 60.0
BUDGET = "DisruptionBudget"
PATCH = "application/json-patch+json"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """`writes` says that it may change the cluster: a lost answer is then an unknown outcome.

    A list as `body` is a JSON patch. `most` bounds the answer in bytes; a longer text is cut, longer JSON is an error.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    writes: bool = False
    accept: str = JSON
    most: int = MOST_BYTES

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Reply:
    """`body` is {} unless the answer is a JSON object; `text` is "" unless text was asked for."""

    status: int
    body: Raw
    headers: dict[str, str]
    text: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def said(self) -> str:
        """What the server said, bounded and without control characters; it quotes what was sent, secrets too."""
        message = self.body.get("message")
        said = message if isinstance(message, str) else f"status {self.status}"
        why = next((str(one.get("message", "")) for one in self.causes if one.get("reason") == BUDGET), "")
        return neutral(f"{said[:LOOKED_AT]} {why[:LOOKED_AT]}".strip())[:SENTENCE]

    @property
    def sentence(self) -> str:
        """The same for people, without the secrets."""
        return redact(self.said)

    @property
    def causes(self) -> tuple[Raw, ...]:
        causes = self._details.get("causes")
        return tuple(cause for cause in causes if isinstance(cause, dict)) if isinstance(causes, list) else ()

    @property
    def budget(self) -> bool:
        """A PodDisruptionBudget forbids this eviction: no rate limit, and asking again would hammer the budget.

        Where the server says when to ask again it forbids nothing: the budget has not been counted since it was
        changed, or a pod that is not ready moved on the way (pkg/registry/core/pod/storage/eviction.go).
        """
        return self._of_budget and not self._details.get("retryAfterSeconds")

    @property
    def uncounted(self) -> bool:
        """The server has no word of this eviction's budget yet; nothing was applied."""
        return self._of_budget and not self.budget

    @property
    def _of_budget(self) -> bool:
        return self.status == 429 and any(cause.get("reason") == BUDGET for cause in self.causes)

    @property
    def _details(self) -> Raw:
        details = self.body.get("details")
        return details if isinstance(details, dict) else {}

    def is_missing(self, name: str) -> bool:
        """The API server itself says that this object is not there; a proxy's or an unserved path's 404 does not."""
        named = self._details.get("name") == name
        return self.status == 404 and self.body.get("reason") == "NotFound" and named


def decided(request: Request, reply: Reply) -> Reply:
    """The reply, unless its status says that the server did not decide."""
    if reply.status == 401:
        raise Transient(f"{request}: the API server does not accept our credentials: {reply.sentence}")
    if reply.status == 429 and not reply.budget:
        why = reply.sentence if reply.uncounted else "the API server is busy"
        raise Transient(f"{request}: {why}", retry_after=_wait(reply))
    if reply.status >= 500:
        if request.writes:
            raise OutcomeUnknown(f"{request}: status {reply.status}: {reply.sentence}")
        raise Transient(f"{request}: status {reply.status}: {reply.sentence}", retry_after=_wait(reply))
    return reply


def _wait(reply: Reply) -> float:
    """Seconds of Retry-After, between 1 and a minute; 5 where it says nothing or a date."""
    try:
        seconds = float(reply.headers.get("retry-after", ""))
    except ValueError:
        return 5.0
    return min(max(seconds, 1.0), LONGEST_WAIT) if math.isfinite(seconds) else 5.0
