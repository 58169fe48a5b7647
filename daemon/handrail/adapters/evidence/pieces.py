"""How a piece of evidence is made: redacted first, then cut to 8 KiB, so that a cut never leaves half a secret."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from handrail.core.redact import bounded, redact
from handrail.model.evidence import Piece, Trust

MOST_BYTES = 8 * 1024
MOST_PIECES = 40
LINE = 600


class Origin(NamedTuple):
    """Whose word a piece is: which kind of evidence, from where, when it was read, and how far it can be trusted."""

    kind: str
    source: str
    at: datetime
    trust: Trust


def piece(origin: Origin, title: str, text: str) -> Piece:
    """A piece whose beginning is kept where it is too long."""
    return _piece(origin, title, bounded(redact(text), MOST_BYTES))


def newest(origin: Origin, title: str, text: str) -> Piece:
    """A piece whose end is kept where it is too long: the newest lines of a log."""
    return _piece(origin, title, bounded(redact(text), MOST_BYTES, keep_end=True))


def lines(found: Iterable[str]) -> str:
    """One line each, redacted and then cut to 600 characters: a line break inside is none of ours."""
    return "\n".join(_line(one) for one in found)


def _line(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip(" "))]
    return redact(indent + " ".join(text.split()), LINE)


def _piece(origin: Origin, title: str, text: str) -> Piece:
    return Piece(**{**origin._asdict(), "source": _name(origin.source)}, title=_name(title), text=text)


def _name(text: str) -> str:
    return redact(" ".join(text.split()), 200)
