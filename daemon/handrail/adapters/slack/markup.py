"""Text of the world as Slack markup that can do nothing: no mention, no link, no open code, no extra line. Pure.

Lengths are in UTF-16 units of the escaped text, which is never less than what Slack counts. Only a name that we put at
the beginning of our own sentence becomes a mention.
"""

from __future__ import annotations

import re

from handrail.core.redact import neutral

CUT = "…"
FENCE = "```"
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "ˋ"}
_BROADCAST = re.compile(r"@(?=channel|here|everyone|group)", re.IGNORECASE)
_OURS = re.compile(
    r"\A(?:Asked |approved by |rejected by )?slack:[UW][A-Z0-9]{2,20}(?:, slack:[UW][A-Z0-9]{2,20}){0,30}"
)
_MEMBER = re.compile(r"slack:([UW][A-Z0-9]{2,20})")


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def prose(text: str, most: int) -> str:
    """One line of mrkdwn of at most `most` units, all marks of Slack taken out."""
    flat = " ".join(neutral(text[: most * 4]).split())
    return _escaped(_BROADCAST.sub("＠", flat), most)


def with_mentions(line: str) -> str:
    """Escaped prose in which the members at the very beginning are mentioned; a name further on is only a word."""
    return _OURS.sub(lambda ours: _MEMBER.sub(r"<@\1>", ours.group()), line)


def commands(text: str, most: int) -> str:
    """Our own sentence with commands in backticks; if they are not in pairs it is treated like any other text."""
    pieces = text.split("`")
    # Two backticks side by side open a fence, not a command.
    if len(pieces) % 2 == 0 or "``" in text or units(text) > most:
        return prose(text, most)
    return "`".join(prose(piece, most) if n % 2 else _keep_edges(piece, most) for n, piece in enumerate(pieces))


def _keep_edges(piece: str, most: int) -> str:
    """Prose between two commands: the spaces around it count."""
    inner = prose(piece, most)
    lead, trail = " " * piece[:1].isspace(), " " * piece[-1:].isspace()
    return f"{lead}{inner}{trail}" if inner else lead or trail


def plain(text: str, most: int) -> str:
    """For plain_text objects, which know no marks: one visible line, cut."""
    flat = " ".join(neutral(text[: most * 4]).split())
    return flat if units(flat) <= most else _cut(flat, most)


def fences(text: str, room: int, each: int = 2900) -> tuple[list[str], int]:
    """Closed code blocks of at most `each` units, together at most `room`, and how many lines found no place.

    Whole lines are kept together; one that is longer than a block is folded over several.
    """
    blocks: list[str] = []
    current: list[str] = []
    used = size = 0
    frame = 2 * len(FENCE) + 2
    lines = _BROADCAST.sub("＠", neutral(text)).split("\n") if text.strip() else []
    for index, line in enumerate(lines):
        pieces = _folded(line, min(each, room) - frame)
        for piece in pieces:
            cost = units(piece) + 1
            full = size + cost + frame > each
            if used + (size + frame if full and current else 0) + (0 if full else size) + cost + frame > room:
                return _closed(blocks, current), len(lines) - index
            if full and current:
                blocks.append(_fenced(current))
                used += size + frame
                current, size = [], 0
            current.append(piece)
            size += cost
    return _closed(blocks, current), 0


def _closed(blocks: list[str], current: list[str]) -> list[str]:
    return [*blocks, _fenced(current)] if current else blocks


def _fenced(lines: list[str]) -> str:
    return "\n".join([FENCE, *lines, FENCE])


def _folded(line: str, most: int) -> list[str]:
    """The escaped line in pieces of at most `most` units."""
    pieces: list[str] = []
    current, size = [], 0  # type: list[str], int
    for sign in line:
        escaped = _ESCAPES.get(sign, sign)
        if current and size + units(escaped) > most:
            pieces.append("".join(current))
            current, size = [], 0
        current.append(escaped)
        size += units(escaped)
    return [*pieces, "".join(current)]


def _escaped(flat: str, most: int) -> str:
    """Escaped first and cut then, but never within an escape."""
    whole = "".join(_ESCAPES.get(sign, sign) for sign in flat)
    if units(whole) <= most:
        return whole
    kept: list[str] = []
    size = units(CUT)
    for sign in flat:
        escaped = _ESCAPES.get(sign, sign)
        size += units(escaped)
        if size > most:
            break
        kept.append(escaped)
    return "".join(kept).rstrip() + CUT


def _cut(flat: str, most: int) -> str:
    kept = flat
    while units(kept) > most - units(CUT):
        kept = kept[: len(kept) - max(1, (units(kept) - most) // 2)]
    return kept.rstrip() + CUT
