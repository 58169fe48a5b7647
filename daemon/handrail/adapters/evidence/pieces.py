"""How a piece of evidence is made: redacted first, then cut to 8 KiB, so that a cut never leaves half a secret."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from handrail.core.redact import bounded, redact
from handrail.model.evidence import Piece, Trust

MOST_BYTES = 8 * 1024
MOST_PIECES = 40
LINE = 600


def piece(kind: str, source: str, at: datetime, trust: Trust, title: str, text: str) -> Piece:
    """A piece whose beginning is kept where it is too long."""
    return _piece(kind, (source, title), at, trust, bounded(redact(text), MOST_BYTES))


def newest(kind: str, source: str, at: datetime, title: str, text: str) -> Piece:
    """A piece of text whose end is kept where it is too long: the newest lines of a log."""
    return _piece(kind, (source, title), at, Trust.TEXT, bounded(redact(text), MOST_BYTES, keep_end=True))


def lines(found: Iterable[str]) -> str:
    """One line each, redacted and then cut to 600 characters: a line break inside is none of ours."""
    return "\n".join(_line(one) for one in found)


def _line(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip(" "))]
    return redact(indent + " ".join(text.split()), LINE)


def _piece(kind: str, names: tuple[str, str], at: datetime, trust: Trust, text: str) -> Piece:
    source, title = (redact(" ".join(name.split()), 200) for name in names)
    return Piece(kind=kind, source=source, at=at, trust=trust, title=title, text=text)
