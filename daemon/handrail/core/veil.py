"""An object as people may see it: what looks like a secret in it is hidden, and that it changed is said. Pure.

Decides by the name of a variable, flag or key, and by the look of a value, as `redact` does. Never used where objects
are compared: a fingerprint covers the very values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.core.redact import MARK, redact, secret_name

CHANGED = "[redacted, changed]"


def veiled(raw: Any, beside: Any = None) -> Any:
    """`raw` in plain JSON form; `beside` is the same thing before, None where nothing was."""
    match raw:
        case dict():
            return _mapping(raw, beside if isinstance(beside, dict) else {})
        case list():
            return _listed(raw, beside if isinstance(beside, list) else [])
        case str():
            return _text(raw, beside, redact(raw))
        case _:
            return raw


def _mapping(raw: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    """A variable is `{name, value}`: its name says what its value is."""
    variable = "value" in raw and secret_name(str(raw.get("name", "")))
    return {
        key: _text(value, beside.get(key), MARK)
        if isinstance(value, str) and value and (secret_name(key) or (variable and key == "value"))
        else veiled(value, beside.get(key))
        for key, value in raw.items()
    }


def _listed(raw: list[Any], beside: list[Any]) -> list[Any]:
    """What has a name is held against its namesake; the words of a command against those in the same places."""
    named = {one["name"]: one for one in beside if isinstance(one, dict) and isinstance(one.get("name"), str)}
    others = [_other(one, place, named, beside) for place, one in enumerate(raw)]
    return [
        _text(one, other, MARK) if _follows_flag(raw, place) else veiled(one, other)
        for place, (one, other) in enumerate(zip(raw, others, strict=True))
    ]


def _other(one: Any, place: int, named: dict[str, Any], beside: list[Any]) -> Any:
    if isinstance(one, dict) and isinstance(one.get("name"), str):
        return named.get(one["name"])
    return beside[place] if place < len(beside) else None


def _follows_flag(words: Sequence[Any], place: int) -> bool:
    """A flag that names a secret and has no `=` hides the word after it."""
    word, flag = words[place], words[place - 1] if place else ""
    if not (isinstance(word, str) and isinstance(flag, str)) or word.startswith("-"):
        return False
    return flag.startswith("-") and "=" not in flag and secret_name(flag)


def _text(raw: str, beside: Any, hidden: str) -> str:
    if MARK not in hidden:
        return hidden
    return hidden.replace(MARK, CHANGED) if isinstance(beside, str) and beside != raw else hidden
