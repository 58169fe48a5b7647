"""Small checkers of JSON shapes that word their complaints as Slack does, with a JSON pointer.

A checker takes a value and adds what is wrong with it to a `Complaints`. It does not know Block Kit: `blocks.py` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

Checker = Callable[[Any, str, "Complaints"], None]


class Complaints:
    """What Slack would complain of, in its words."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, what: str, pointer: str) -> None:
        self.lines.append(f"{what} [json-pointer:{pointer}]")

    def __bool__(self) -> bool:
        return bool(self.lines)


def _length(value: str, least: int, most: int, at: str, complaints: Complaints) -> None:
    if len(value) > most:
        complaints.add(f"must be less than {most + 1} characters", at)
    elif len(value) < least:
        complaints.add(f"must be more than {least - 1} characters", at)


def string(most: int, least: int = 1) -> Checker:
    def check(value: Any, at: str, complaints: Complaints) -> None:
        if not isinstance(value, str):
            complaints.add("must provide a string", at)
        else:
            _length(value, least, most, at, complaints)

    return check


def boolean(value: Any, at: str, complaints: Complaints) -> None:
    if not isinstance(value, bool):
        complaints.add("must be a boolean", at)


def number(least: int, most: int) -> Checker:
    def check(value: Any, at: str, complaints: Complaints) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            complaints.add("must be an integer", at)
        elif not least <= value <= most:
            complaints.add(f"must be between {least} and {most}", at)

    return check


def one_of(*allowed: str) -> Checker:
    def check(value: Any, at: str, complaints: Complaints) -> None:
        if value not in allowed:
            complaints.add("must be a valid enum value", at)

    return check


def url(value: Any, at: str, complaints: Complaints) -> None:
    """An absolute http(s) URL of at most 3,000 characters; a relative one makes Slack refuse the whole message."""
    string(3000)(value, at, complaints)
    if isinstance(value, str):
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or " " in value:
            complaints.add("must be a valid URL", at)


def text(most: int, *kinds: str, least: int = 1) -> Checker:
    """A text object; `kinds` defaults to plain_text and mrkdwn."""
    allowed = kinds or ("plain_text", "mrkdwn")

    def check(value: Any, at: str, complaints: Complaints) -> None:
        if not isinstance(value, dict):
            complaints.add("must provide an object", at)
            return
        kind = value.get("type")
        if kind not in allowed:
            complaints.add(f"unsupported type: {kind}", f"{at}/type")
            return
        extra = {"emoji": boolean} if kind == "plain_text" else {"verbatim": boolean}
        record({"type": one_of(kind), "text": string(most, least)}, extra)(value, at, complaints)

    return check


def record(required: Mapping[str, Checker], optional: Mapping[str, Checker]) -> Checker:
    """An object with these fields and no others."""

    def check(value: Any, at: str, complaints: Complaints) -> None:
        if not isinstance(value, dict):
            complaints.add("must provide an object", at)
            return
        for name in required:
            if name not in value:
                complaints.add(f"missing required field: {name}", at)
        for name, item in value.items():
            checker = required.get(name) or optional.get(name)
            if checker is None:
                complaints.add(f"invalid additional property: {name}", at)
            else:
                checker(item, f"{at}/{name}", complaints)

    return check


def by_type(known: Mapping[str, Checker]) -> Checker:
    """An object whose `type` says which of these it is."""

    def check(value: Any, at: str, complaints: Complaints) -> None:
        if not isinstance(value, dict):
            complaints.add("must provide an object", at)
        elif "type" not in value:
            complaints.add("missing required field: type", at)
        elif value["type"] not in known:
            complaints.add(f"unsupported type: {value['type']}", f"{at}/type")
        else:
            known[value["type"]](value, at, complaints)

    return check


def listing(item: Checker, most: int, least: int = 1) -> Checker:
    def check(value: Any, at: str, complaints: Complaints) -> None:
        if not isinstance(value, list):
            complaints.add("must be an array", at)
            return
        if len(value) > most:
            complaints.add(f"no more than {most} items allowed", at)
        if len(value) < least:
            complaints.add(f"no fewer than {least} items allowed", at)
        for index, each in enumerate(value):
            item(each, f"{at}/{index}", complaints)

    return check


def anything(value: Any, at: str, complaints: Complaints) -> None:
    """Accepted unread."""
