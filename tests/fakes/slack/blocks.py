"""Block Kit as Slack enforces it: the known blocks and elements, their fields, limits and unique ids.

Strict about: unknown types and fields, missing fields, every published length and count, `action_id` unique within its
block, `block_id` unique within the message, and the unpublished limit on the whole message's text (answered with
`msg_blocks_too_long`; seen by users at 13,297 characters, each further block costing some: 125 here).

Does not model: rich_text below its top level, tables, cards, carousels, media and other newer blocks (refused as
unsupported), selects with an external source, date pickers. Lengths are counted in code points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.fakes.slack.shape import (
    Checker,
    Complaints,
    anything,
    boolean,
    by_type,
    listing,
    number,
    one_of,
    record,
    string,
    text,
    url,
)

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MESSAGE_TEXT = 13_297
PER_BLOCK = 125

_id = string(255)
_confirm = record(
    {
        "title": text(100, "plain_text"),
        "text": text(300),
        "confirm": text(30, "plain_text"),
        "deny": text(30, "plain_text"),
    },
    {"style": one_of("primary", "danger")},
)


def _option(label: Checker) -> Checker:
    return record({"text": label, "value": string(150)}, {"description": text(75, "plain_text"), "url": url})


_plain_option = _option(text(75, "plain_text"))
_rich_option = _option(text(75))
_focus = {"focus_on_load": boolean}


def _element(kind: str, required: dict[str, Checker], optional: dict[str, Checker]) -> Checker:
    common: dict[str, Checker] = {"action_id": _id, "confirm": _confirm}
    return record({"type": one_of(kind), **required}, {**common, **optional})


def _select(kind: str, **extra: Checker) -> Checker:
    options: dict[str, Checker] = {"options": listing(_plain_option, 100)}
    return _element(kind, options, {"placeholder": text(150, "plain_text"), **_focus, **extra})


BUTTON = _element(
    "button",
    {"text": text(75, "plain_text")},
    {
        "value": string(2000),
        "url": url,
        "style": one_of("primary", "danger"),
        "accessibility_label": string(75),
    },
)
OVERFLOW = _element("overflow", {"options": listing(_plain_option, 5)}, {})
STATIC_SELECT = _select("static_select", initial_option=_plain_option)
USERS_SELECT = _element("users_select", {}, {"placeholder": text(150, "plain_text"), "initial_user": _id, **_focus})
RADIO_BUTTONS = _element(
    "radio_buttons", {"options": listing(_rich_option, 10)}, {"initial_option": _rich_option, **_focus}
)
CHECKBOXES = _element(
    "checkboxes",
    {"options": listing(_rich_option, 10)},
    {"initial_options": listing(_rich_option, 10), **_focus},
)
TEXT_INPUT = record(
    {"type": one_of("plain_text_input")},
    {
        "action_id": _id,
        "placeholder": text(150, "plain_text"),
        "initial_value": string(3000, 0),
        "multiline": boolean,
        "min_length": number(0, 3000),
        "max_length": number(1, 3000),
        "dispatch_action_config": anything,
        **_focus,
    },
)
IMAGE = record(
    {"type": one_of("image"), "image_url": url, "alt_text": string(2000)},
    {},
)

INTERACTIVE: dict[str, Checker] = {
    "button": BUTTON,
    "overflow": OVERFLOW,
    "static_select": STATIC_SELECT,
    "users_select": USERS_SELECT,
    "radio_buttons": RADIO_BUTTONS,
    "checkboxes": CHECKBOXES,
}
_inputs: dict[str, Checker] = {
    **{name: check for name, check in INTERACTIVE.items() if name not in ("button", "overflow")},
    "plain_text_input": TEXT_INPUT,
}
_context_item: dict[str, Checker] = {"image": IMAGE, "plain_text": text(3000), "mrkdwn": text(3000)}
_rich_parts = ("rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote")


def _rich_part(name: str) -> Checker:
    return record(
        {"type": one_of(name), "elements": listing(anything, 1000)},
        {"style": anything, "indent": anything, "border": anything, "offset": anything},
    )


def _block(kind: str, required: dict[str, Checker], optional: dict[str, Checker] | None = None) -> Checker:
    return record({"type": one_of(kind), **required}, {"block_id": _id, **(optional or {})})


def _section(value: Any, at: str, complaints: Complaints) -> None:
    if isinstance(value, dict) and "text" not in value and "fields" not in value:
        complaints.add("missing required field: text", at)
    optional: dict[str, Checker] = {
        "text": text(3000),
        "fields": listing(text(2000), 10),
        "accessory": by_type({**INTERACTIVE, "image": IMAGE}),
        "expand": boolean,
    }
    _block("section", {}, optional)(value, at, complaints)


BLOCKS: dict[str, Checker] = {
    "section": _section,
    "header": _block("header", {"text": text(150, "plain_text")}),
    "divider": _block("divider", {}),
    "context": _block("context", {"elements": listing(by_type(_context_item), 10)}),
    "actions": _block("actions", {"elements": listing(by_type(INTERACTIVE), 25)}),
    "image": _block("image", {"image_url": url, "alt_text": string(2000)}, {"title": text(2000, "plain_text")}),
    "input": _block(
        "input",
        {"label": text(2000, "plain_text"), "element": by_type(_inputs)},
        {"hint": text(2000, "plain_text"), "optional": boolean, "dispatch_action": boolean},
    ),
    "markdown": _block("markdown", {"text": string(12_000)}),
    "rich_text": _block("rich_text", {"elements": listing(by_type({k: _rich_part(k) for k in _rich_parts}), 1000)}),
}
_blocks = by_type(BLOCKS)

VIEW = record(
    {
        "type": one_of("modal"),
        "title": text(24, "plain_text"),
        "blocks": listing(_blocks, VIEW_BLOCKS, least=0),
    },
    {
        "submit": text(24, "plain_text"),
        "close": text(24, "plain_text"),
        "private_metadata": string(3000, 0),
        "callback_id": string(255, 0),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "external_id": string(255, 0),
        "submit_disabled": boolean,
    },
)


def actionable(block: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The block's interactive elements with their pointers inside the block."""
    if block.get("type") == "actions":
        return [(f"/elements/{n}", e) for n, e in enumerate(block.get("elements") or []) if isinstance(e, dict)]
    place = {"section": "accessory", "input": "element"}.get(str(block.get("type")), "")
    element = block.get(place)
    return [(f"/{place}", element)] if isinstance(element, dict) and element.get("type") != "image" else []


def _unique(blocks: list[Any], at: str, complaints: Complaints) -> None:
    block_ids: set[str] = set()
    for index, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        block_id = block.get("block_id")
        if block_id in block_ids:
            complaints.add(f'`block_id` "{block_id}" already exists', f"{at}/{index}/block_id")
        if isinstance(block_id, str):
            block_ids.add(block_id)
        action_ids: set[str] = set()
        for where, element in actionable(block):
            action_id = element.get("action_id")
            if action_id in action_ids:
                complaints.add(f'`action_id` "{action_id}" already exists', f"{at}/{index}{where}/action_id")
            if isinstance(action_id, str):
                action_ids.add(action_id)


def complain_of_blocks(blocks: Any, at: str = "/blocks", most: int = MESSAGE_BLOCKS) -> list[str]:
    """What Slack would say of these blocks; empty when it takes them."""
    complaints = Complaints()
    listing(_blocks, most)(blocks, at, complaints)
    if isinstance(blocks, list):
        _unique(blocks, at, complaints)
    return complaints.lines


def complain_of_view(view: Any) -> list[str]:
    complaints = Complaints()
    VIEW(view, "/view", complaints)
    blocks = view.get("blocks") if isinstance(view, dict) else None
    if isinstance(blocks, list):
        _unique(blocks, "/view/blocks", complaints)
        if "submit" not in view and any(isinstance(b, dict) and b.get("type") == "input" for b in blocks):
            complaints.add("missing required field: submit", "/view")
    return complaints.lines


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """Every text that people would read in blocks: (mrkdwn | plain_text | markdown | other, text)."""
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "text" and isinstance(item, str):
                yield str(value.get("type", "other")), item
            elif isinstance(item, dict | list):
                yield from texts(item)


def too_long(blocks: list[Any]) -> bool:
    """Whether the whole message is over the limit that no page publishes."""
    return sum(len(each) for _, each in texts(blocks)) + PER_BLOCK * (len(blocks) - 1) > MESSAGE_TEXT
