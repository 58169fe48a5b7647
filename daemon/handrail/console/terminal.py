"""A card as text for a terminal. Pure: the caller says how wide the terminal is and whether it shows colours.

Never lets text of the world steer the terminal: escape sequences, control and direction marks are taken out before
anything is laid out. Never hides a part of a diff: long lines are folded, not cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from handrail.core.redact import neutral
from handrail.core.words import clock
from handrail.model.card import Card

NARROWEST = 20
_WORD = re.compile(r"(?:`[^`\s]+(?: [^`\s]+)*`|\S)+")
"""A command in backticks stays on one line, to be copied."""

_RESET = "\x1b[0m"
_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m", "#": "\x1b[1m"}


def render(card: Card, width: int = 80, *, colour: bool = False) -> str:
    """`width` in columns (20 at least). `colour` paints the diffs with ANSI sequences; nothing else is ever painted."""
    width = max(NARROWEST, width)
    parts = [
        _title(card, width),
        _plain(card.status, width),
        _listed("Diagnosis", card.diagnosis, width),
        _listed("Evidence", card.evidence, width),
        _listed("Could not ask", card.away, width),
        _listed("Would do" if card.request else "Plan", card.actions, width),
        _diff("What changes", card.diff, width, colour),
        _diff("Taken back by", card.undo_diff, width, colour),
        _facts(card, width),
        _plain(card.next_action, width).replace("`", ""),
    ]
    return "\n\n".join(part for part in parts if part)


def _title(card: Card, width: int) -> str:
    where = f"{card.target} in {card.cluster}" if card.cluster else card.target
    lines = [*_fold(f"{card.title} [{card.state}]", width), *_fold(f"{where} ({card.incident})", width)]
    return "\n".join([*lines, "─" * width])


def _plain(text: str, width: int) -> str:
    return "\n".join(_fold(text, width))


def _listed(title: str, items: Iterable[str], width: int) -> str:
    lines = [line for item in items for line in _fold(item, width, first="  · ", then="    ")]
    return "\n".join([title, *lines]) if lines else ""


def _facts(card: Card, width: int) -> str:
    facts = (
        ("Blast radius", card.blast),
        ("May decide", card.approvers),
        ("Until", clock(card.expires) if card.expires else ""),
        ("Decided", card.decided),
    )
    lines = [line for name, fact in facts if fact for line in _fold(f"{name}: {fact}", width, then="    ")]
    return "\n".join(lines)


def _diff(title: str, diff: str, width: int, colour: bool) -> str:
    lines = [line for each in _safe_lines(diff) for line in _diff_line(each, width, colour)]
    return "\n".join([title, *lines]) if lines else ""


def _diff_line(line: str, width: int, colour: bool) -> Iterator[str]:
    """A title is folded like any sentence; a line of the diff is cut where the terminal ends, to hide nothing."""
    paint = _COLOURS.get(line[:1], "") if colour else ""
    folded = _fold(line, width - 2, then="  ") if line.startswith("# ") else _pieces(line, width - 2)
    for piece in folded or [""]:
        yield f"  {paint}{piece}{_RESET}" if paint else f"  {piece}"


def _safe_lines(text: str) -> list[str]:
    return [line.expandtabs(2) for line in neutral(text).split("\n")] if text else []


def _fold(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    """Words on lines of at most `width` columns; a word that is longer than a line is broken."""
    lines: list[str] = []
    current = first
    fresh = True
    for word in _WORD.findall(neutral(text)):
        for piece in _pieces(word, width - len(then or first)):
            if not fresh and _columns(current) + 1 + _columns(piece) > width:
                lines.append(current)
                current, fresh = then, True
            current = f"{current}{piece}" if fresh else f"{current} {piece}"
            fresh = False
    return [*lines, current] if not fresh else lines


def _pieces(line: str, width: int) -> list[str]:
    """The line cut into pieces of at most `width` columns (of one character at least)."""
    pieces: list[str] = []
    start = used = 0
    for index, sign in enumerate(line):
        wide = _columns(sign)
        if used + wide > width and index > start:
            pieces.append(line[start:index])
            start, used = index, 0
        used += wide
    return [*pieces, line[start:]] if line[start:] else pieces


def _columns(text: str) -> int:
    """What a terminal takes for it: two columns for wide East Asian characters and emoji, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(s) else 2 if unicodedata.east_asian_width(s) in "WF" else 1 for s in text)
