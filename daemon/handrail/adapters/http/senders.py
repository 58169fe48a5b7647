"""Who may send alerts: whoever has one of the configured tokens. Tells no difference between a wrong and a near one."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence

import structlog

from handrail.model.errors import BadConfig, Transient

log = structlog.get_logger("http")

LEAST = 16
"""Characters of a token: a shorter one is guessed."""


class Senders:
    """`tokens` give each token as it is now: a Secret reads its file again when that has changed."""

    def __init__(self, tokens: Sequence[Callable[[], str]]) -> None:
        self._tokens = tuple(tokens)

    def know(self, header: str) -> bool:
        """Of an Authorization header. All tokens are compared, each in constant time. Raises Transient where none can
        be read: then nobody can be told from a stranger."""
        scheme, _, offered = header.partition(" ")
        found = False
        for token in self._now():
            found |= hmac.compare_digest(token.encode(), offered.strip().encode(errors="surrogateescape"))
        return found and scheme.lower() == "bearer"

    def _now(self) -> list[str]:
        """One that can't be read, or is too short to be one, opens nothing; the others do."""
        read: list[str] = []
        why = "none is configured"
        for token in self._tokens:
            try:
                read.append(long_enough(token()))
            except BadConfig as unreadable:
                why = str(unreadable)
                log.error("a token for alerts can't be used", why=why)
        if not read:
            raise Transient(f"no token for alerts can be read: {why}")
        return read


def long_enough(token: str) -> str:
    """Raises BadConfig for one that is too short."""
    if len(token) < LEAST:
        raise BadConfig(f"intake.http.tokens: a token has {len(token)} characters; {LEAST} are the least")
    return token
