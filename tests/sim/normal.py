"""What is left of an answer when all is dropped that differs between two runs on one and the same cluster.

Decides: which fields those are. Never drops a field only because the two clusters disagree about it, but for what
`managedFields` say about single fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_POD = re.compile(rf"\b([a-z]+)-({_RANDOM}{{8,10}})-({_RANDOM}{{5}})\b")
_REPLICA_SET = re.compile(rf"\b([a-z]+)-({_RANDOM}{{8,10}})\b")
_UID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NUMBER_AFTER_VERSION = re.compile(r"(ResourceVersion in [a-z ]+: )\d+")
_TIMES = (
    "creationTimestamp", "deletionTimestamp", "lastTransitionTime", "lastUpdateTime", "lastProbeTime", "time",
    "firstTimestamp", "lastTimestamp", "startedAt", "finishedAt", "startTime", "eventTime",
)  # fmt: skip
# The simulator's `managedFields` are a simple form: who, how and which part, never which fields.
WRITER = ("manager", "operation", "subresource")


def whole(body: Any) -> Any:
    """The whole body, with what is random or timed replaced by a word."""
    if isinstance(body, dict):
        return {text(key): _value(key, value) for key, value in sorted(body.items())}
    if isinstance(body, list):
        return [whole(item) for item in body]
    return text(body) if isinstance(body, str) else body


def _value(key: str, value: Any) -> Any:
    if key in _TIMES:
        return "<time>"
    if key == "resourceVersion":
        return "<version>"
    if key == "pod-template-hash":
        return "<hash>"
    if key == "disruptedPods":
        return sorted(text(name) for name in value)
    if key == "managedFields":
        return sorted({tuple(str(entry.get(part)) for part in WRITER) for entry in value})
    if key == "conditions" and isinstance(value, list):
        return sorted((whole(entry) for entry in value), key=repr)
    return whole(value)


def text(value: str) -> str:
    value = _UID.sub("<uid>", value)
    value = _POD.sub(r"\1-<hash>-<random>", value)
    value = _NUMBER_AFTER_VERSION.sub(r"\1<version>", value)
    return _REPLICA_SET.sub(r"\1-<hash>", value)


def nothing(body: Any) -> Any:
    """Only the status code counts (and of a refusal what `refusal` leaves)."""
    return None


def part(*path: str) -> Callable[[Any], Any]:
    """Only what stands at this path."""

    def shown(body: Any) -> Any:
        for key in path:
            body = body.get(key) if isinstance(body, dict) else None
        return whole(body)

    return shown


def parts(*paths: str) -> Callable[[Any], Any]:
    """Only what stands at these dotted paths."""
    return lambda body: {path: part(*path.split("."))(body) for path in paths}


def names(body: Any) -> Any:
    """The names in a list, in order."""
    return [text(item["metadata"]["name"]) for item in body["items"]]


def each(*paths: str) -> Callable[[Any], Any]:
    """These dotted paths of each item of a list, in any order."""
    return lambda body: sorted((parts(*paths)(item) for item in body["items"]), key=repr)


def refusal(body: Any) -> Any:
    """Of an error: reason, whom it is about, and fields and reasons of its causes. Prose may differ."""
    if not isinstance(body, dict):
        return body
    details = body.get("details") or {}
    causes = [(c.get("reason"), c.get("field")) for c in details.get("causes") or ()]
    about = {key: text(str(details[key])) for key in ("name", "group", "kind") if key in details}
    return {
        "reason": body.get("reason"),
        "status": body.get("status"),
        "about": about,
        "causes": sorted(causes, key=repr),
    }
