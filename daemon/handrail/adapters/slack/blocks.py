"""A card as a Slack message: its text and its blocks, within every limit of Block Kit. Pure.

Slack refuses a whole message for one text that is too long, so every part has a fixed share, and the diffs, which
people decide from, get all that is left of the whole message's room. What is hidden is said, with where to see it.
Buttons carry an opaque request id and the incident's id, never a plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from handrail.adapters.slack.markup import commands, fences, plain, prose, units, with_mentions
from handrail.core.words import clock
from handrail.model.card import Card

Json = dict[str, Any]

HEADER = 150
SECTION = 3_000
MESSAGE = 12_600
"""Slack's unpublished limit on all text of a message lies between 13,200 and 13,300 characters."""
PER_BLOCK = 125
VALUE = 2_000
TEXT = 600


def message(card: Card) -> tuple[str, list[Json]]:
    """The notification's text, and 3 to about 20 blocks."""
    above = [
        _header(card),
        *_section("", [prose(card.status, 800)]),
        *_section("", [prose(f"{card.target} in {card.cluster}" if card.cluster else card.target, 300)]),
        *_section("Diagnosis", _bullets(card.diagnosis, 1_200)),
        *_section("Evidence", _bullets(card.evidence, 1_400)),
        *_section("Could not ask", _bullets(card.away, 400)),
        *_section("Would do" if card.request else "Plan", _bullets(card.actions, 1_200)),
    ]
    below = [*_section("", _facts(card)), *_section("", [commands(card.next_action, 400)]), *_buttons(card)]
    room = MESSAGE - sum(_cost(block) for block in (*above, *below))
    text = prose(f"{plain(card.title, 150)}: {plain(card.target, 200)}. {card.status}", TEXT)
    return text, [*above, *_diffs(card, room), *below]


STOP: Json = {
    "title": {"type": "plain_text", "text": "Stop everything?", "emoji": False},
    "text": {
        "type": "plain_text",
        "text": "Nothing is written any more, for any incident, until somebody types /handrail start.",
        "emoji": False,
    },
    "confirm": {"type": "plain_text", "text": "Stop everything", "emoji": False},
    "deny": {"type": "plain_text", "text": "Not now", "emoji": False},
    "style": "danger",
}


def _header(card: Card) -> Json:
    title = plain(card.title, HEADER - 15) or plain(card.incident, HEADER - 15) or "incident"
    return {"type": "header", "text": {"type": "plain_text", "text": f"{title} [{card.state}]", "emoji": False}}


def _section(title: str, lines: Iterable[str]) -> list[Json]:
    """A section of mrkdwn, or none where there is nothing to say. `verbatim` keeps Slack from making links."""
    kept = [line for line in lines if line]
    if not kept:
        return []
    text = "\n".join([f"*{title}*", *kept] if title else kept)
    return [{"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}]


def _bullets(items: tuple[str, ...], room: int) -> list[str]:
    """As many items as there is room for, none much longer than its share, and how many were left out."""
    lines: list[str] = []
    left = room - 40
    for index, item in enumerate(items):
        line = f"• {prose(item, min(320, room // 2))}"
        left -= units(line) + 1
        if left < 0:
            return [*lines, f"• and {len(items) - index} more"]
        lines.append(line)
    return lines


def _facts(card: Card) -> list[str]:
    facts = [
        ("Blast radius", prose(card.blast, 350)),
        ("May decide", with_mentions(prose(card.approvers, 500))),
        ("Until", clock(card.expires) if card.expires else ""),
        ("Decided", with_mentions(prose(card.decided, 200))),
    ]
    return [f"*{name}:* {fact}" for name, fact in facts if fact]


def _diffs(card: Card, room: int) -> list[Json]:
    """The diff first; its undo is sure of two fifths of the room where both can't be shown whole."""
    undo_needs = units(card.undo_diff) * 6 // 5 + 200
    change = _diff("What changes", card.diff, room - min(undo_needs, room * 2 // 5), card.incident)
    left = room - sum(_cost(block) for block in change)
    return [*change, *_diff("Taken back by", card.undo_diff, left, card.incident)]


def _diff(title: str, diff: str, room: int, incident: str) -> list[Json]:
    """Code blocks of a section each; a fence is never cut."""
    hint = f"`handrail incidents show {prose(incident, 60)}` shows them"
    frame = units(title) + units(hint) + 40
    each = SECTION - frame
    most = max(1, room // (each + PER_BLOCK) + 1)
    blocks, hidden = fences(diff, room - most * (frame + PER_BLOCK), each)
    if not blocks and not hidden:
        return []
    texts = blocks or [""]
    texts[0] = f"*{title}*\n{texts[0]}".rstrip()
    if hidden:
        texts[-1] += f"\n{hidden} more lines: {hint}"
    return [block for text in texts for block in _section("", [text])]


def _buttons(card: Card) -> list[Json]:
    value = json.dumps({"r": card.request, "i": card.incident}, separators=(",", ":"))
    if not card.request or len(value) > VALUE:
        return []
    what = plain("; ".join(card.actions), 250) or "What the card shows."
    confirm = {
        "title": _plain("Do exactly this?"),
        "text": _plain(what),
        "confirm": _plain("Approve"),
        "deny": _plain("Not now"),
        "style": "primary",
    }
    elements = [
        {**_button("approve", "Approve", value), "style": "primary", "confirm": confirm},
        {**_button("reject", "Reject", value), "style": "danger"},
        _button("take", "Take over", value),
        {**_button("stop", "Stop everything", value), "style": "danger", "confirm": STOP},
    ]
    return [{"type": "actions", "block_id": "decide", "elements": elements}]


def _button(verb: str, label: str, value: str) -> Json:
    return {"type": "button", "action_id": verb, "text": _plain(label), "value": value}


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}


def _cost(block: Json) -> int:
    """What a block takes of the message's room: all its texts and a bit for itself."""
    return PER_BLOCK + sum(units(text) for text in _texts(block))


def _texts(part: Any) -> Iterable[str]:
    if isinstance(part, list):
        for item in part:
            yield from _texts(item)
    elif isinstance(part, dict):
        for name, item in part.items():
            if name == "text" and isinstance(item, str):
                yield item
            else:
                yield from _texts(item)
