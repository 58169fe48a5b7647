"""The one line of a piece of evidence that tells most, short enough for a card. Pure.

Typed pieces begin with their own summary line. Words of the world have none, so the gravest line is looked for: the
last error of a log, the first warning among events. It chooses only; it never judges what is true.
"""

from __future__ import annotations

import re

from handrail.core.words import one_line
from handrail.model.evidence import EvidenceItem

MOST = 120

_GRAVE = re.compile(r"\b(?:fatal|panic|traceback|critical|exception|error|fail\w*|denied|refused|cannot|can't)\b", re.I)
_CHANGED = re.compile(r"[-+](?![-+]{2} )\s*(\S.*)")
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?\s+")


def headline(item: EvidenceItem) -> str:
    """At most 120 characters on one line. Falls back to the title where the piece holds no text."""
    lines = [line for line in item.excerpt.splitlines() if line.strip()]
    if not lines:
        return one_line(item.title, MOST)
    match item.kind:
        case "previous_logs" | "logs":
            return _named("log", item, _last_grave(lines))
        case "template_diff":
            return one_line(_change(lines), MOST)
        case "metrics":
            return one_line("; ".join(lines[1:] or lines), MOST)
        case "events":
            return one_line("event " + _STAMP.sub("", _first(lines, " Warning ")), MOST)
        case "messages":
            return one_line(_first(lines, ", container ", "pod "), MOST)
        case "alert":
            return one_line(_annotation(lines), MOST)
        case _:
            return one_line(lines[0], MOST)


def _named(name: str, item: EvidenceItem, line: str) -> str:
    run = "log of the run before" if item.kind == "previous_logs" else name
    return one_line(f"{run}: {_STAMP.sub('', line.strip())}", MOST)


def _last_grave(lines: list[str]) -> str:
    """A process says why it dies at the end."""
    return next((line for line in reversed(lines) if _GRAVE.search(line)), lines[-1])


def _first(lines: list[str], *marks: str) -> str:
    """The first line with the first mark that occurs at all, else the first line."""
    return next((line for mark in marks for line in lines if mark in line), lines[0])


def _change(lines: list[str]) -> str:
    """`changed: image: a -> b` where one line took the place of another, else the first changed line; how many more."""
    changed = [(line[0], found.group(1)) for line in lines if (found := _CHANGED.match(line))]
    if not changed:
        return lines[0]
    (sign, text), rest = changed[0], changed[1:]
    key = text.partition(": ")[0]
    if sign == "-" and rest and rest[0][0] == "+" and rest[0][1].startswith(f"{key}: "):
        told = f"changed: {text.removeprefix('- ')} -> {rest[0][1].partition(': ')[2]}"
        rest = rest[1:]
    else:
        told = f"{'added' if sign == '+' else 'removed'}: {text}"
    more = f" (and {len(rest)} more lines)" if rest else ""
    return f"{one_line(told, MOST - len(more))}{more}"


def _annotation(lines: list[str]) -> str:
    """What the sender meant to be read."""
    for name in ("summary", "message", "description"):
        for line in lines:
            if line.startswith(f"annotation {name}: "):
                return f"the alert says: {line.split(': ', 1)[1]}"
    return lines[0]
