"""Text of the world in Markdown, as the words that it is: no link, picture, heading, table, code or HTML. Pure.

Read as it is, it stays legible: only what a renderer would act upon gets a backslash (CommonMark 2.4).
"""

from __future__ import annotations

import re

_LIVE = re.compile(r"[\\`*\[<|]|~(?=~)|(?<=~)~|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""`_` within a word is a letter, and the rest of the punctuation is live at the beginning of a line alone. An address
is a link by itself where people paste reports (GitHub Flavored Markdown 6.9)."""

_FIRST = ("-", "+", "#", "=", "~", ">")
_NUMBER = re.compile(r"\d{1,9}(?=[.)](?:\s|$))")
_ITEM = re.compile(r"((?: {4})?- )(.*)", re.DOTALL)


def words(text: str) -> str:
    """On one line, and nothing but words wherever it stands in a line."""
    flat = " ".join(text.split())
    number = _NUMBER.match(flat)
    safe = _LIVE.sub(r"\\\g<0>", flat)
    if number is not None:
        return f"{number.group()}\\{safe[number.end() :]}"
    return f"\\{safe}" if flat.startswith(_FIRST) and not safe.startswith("\\") else safe


def item(line: str) -> str:
    """A line of a list, of one or two levels, whose text is `words`; any other line (code, a blank one) as it is. A
    dash alone would make a heading of the line above it."""
    found = _ITEM.fullmatch(line)
    return f"{found.group(1)}{words(found.group(2)) or '(no text)'}" if found else line
