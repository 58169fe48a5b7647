"""What an answer must hold for a command of this build to read it. A newer daemon may say more; nobody else's fits."""

from __future__ import annotations

from types import UnionType
from typing import Any

Shape = type | UnionType | dict[str, "Shape"] | list["Shape"]
"""A type, the names that an object has at least, or what each of a list is."""

REPLY: Shape = {"ok": bool, "message": str}
ROWS: Shape = {"incidents": [{"id": str, "state": str, "opened_at": str, "title": str, "target": str}]}
SHOWN: Shape = {"card": dict, "story": [{"at": str, "line": str}]}
ASKED: Shape = {"incident": str, "card": {"request": str | None, "status": str}}
CHAINS: Shape = {"ok": bool, "streams": [{"stream": str, "ok": bool, "problem": str | None}]}
STATUS: Shape = {"lines": [str]}


def fits(found: Any, shape: Shape) -> bool:
    if isinstance(shape, dict):
        return isinstance(found, dict) and all(name in found and fits(found[name], its) for name, its in shape.items())
    if isinstance(shape, list):
        return isinstance(found, list) and all(fits(one, shape[0]) for one in found)
    return isinstance(found, shape)
