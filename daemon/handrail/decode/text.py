"""Hostile text and foreign values, bounded at the source: what leaves here is clean, short and plain.

Decides how much of a sender's words is kept. Never escapes for a channel: that is for whoever shows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

MAX_LABELS = 64
MAX_KEY = 256
MAX_VALUE = 4096
MAX_NESTING = 8
MAX_ITEMS = 64

FIRST = frozenset(
    {
        "alertname",
        "cluster",
        "container",
        "cronjob",
        "daemonset",
        "deployment",
        "exported_container",
        "exported_namespace",
        "exported_pod",
        "horizontalpodautoscaler",
        "instance",
        "job",
        "job_name",
        "namespace",
        "node",
        "object_kind",
        "object_name",
        "persistentvolume",
        "persistentvolumeclaim",
        "pod",
        "poddisruptionbudget",
        "reason",
        "resourcequota",
        "sender_fingerprint",
        "service",
        "severity",
        "statefulset",
        "uid",
    }
)
"""Labels that name the object: kept first where a sender has more than MAX_LABELS."""

_TURNING = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
"""Characters that turn the reading direction or are not seen: a card must read as it is."""

_CONTROL = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0), *_TURNING) if chr(code) not in "\n\t"}


def clean(text: str, limit: int = MAX_VALUE) -> str:
    """At most `limit` characters, without control characters and half surrogates (no UTF-8, refused by databases).

    They are replaced, not removed: a name with one in it must not become another name.
    """
    if len(text) > limit:
        text = text[:limit]
    if text.isprintable():
        return text
    return text.encode("utf-8", "replace").decode().translate(_CONTROL)


def text_of(value: object) -> str:
    """Any decoded value as text: "" for none, JSON for lists and maps (cut at MAX_NESTING), hex for bytes."""
    if isinstance(value, str):
        return clean(value)
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case bytes():
            return value[: MAX_VALUE // 2].hex()
        case Mapping() | list():
            return clean(json.dumps(_shallow(value, MAX_NESTING)))
        case _:
            return clean(str(value))


def words_of(value: object) -> dict[str, str]:
    """A map of labels or annotations: bounded, empty ones left out (in Prometheus an empty label is no label)."""
    if not isinstance(value, dict):
        return {}
    if _kept_as_they_are(value):
        return dict(value)
    kept: dict[str, str] = {}
    for key, item in value.items():
        if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY:
            continue
        if type(item) is str and len(item) <= MAX_VALUE and item.isprintable():
            text = item  # nearly all are: as `text_of` would have it
        else:
            text = text_of(item)
        if text:
            kept[key if key.isprintable() else clean(key)] = text
    return kept if len(kept) <= MAX_LABELS else _first(kept)


def _kept_as_they_are(value: dict[object, object]) -> bool:
    """Looked at all at once, as nearly all of them are: texts, few, short and clean. Other answers are for the careful
    way."""
    try:
        keys, texts = "".join(value), "".join(value.values())  # type: ignore[arg-type]  # raises for what is no text
    except TypeError:
        return False
    short = len(keys) <= MAX_KEY and len(texts) <= MAX_VALUE and len(value) <= MAX_LABELS
    return short and keys.isprintable() and texts.isprintable() and "" not in value and "" not in value.values()


def _first(words: dict[str, str]) -> dict[str, str]:
    keys = sorted(words, key=lambda key: (key not in FIRST, key))
    return {key: words[key] for key in keys[:MAX_LABELS]}


def _shallow(value: object, depth: int) -> object:
    if isinstance(value, dict):
        items = list(value.items())[:MAX_ITEMS]
        return {clean(str(k), MAX_KEY): _shallow(v, depth - 1) for k, v in items} if depth else "…"
    if isinstance(value, list):
        return [_shallow(item, depth - 1) for item in value[:MAX_ITEMS]] if depth else "…"
    return value if value is None or isinstance(value, bool | int | float) else text_of(value)
