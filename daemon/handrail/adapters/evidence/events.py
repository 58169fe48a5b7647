"""What the cluster's own components reported: events, each said once, newest first. Words of the world."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from handrail.adapters.evidence.pieces import Origin, lines, piece
from handrail.model.evidence import Piece, Trust
from handrail.model.target import ObjectRef
from handrail.model.value import Raw

MOST_EVENTS = 30


def events(found: Iterable[Raw], ref: ObjectRef, now: datetime) -> Piece | None:
    """None where there are none."""
    merged: dict[tuple[str, ...], tuple[str, int]] = {}
    for event in found:
        about = event.get("involvedObject") or {}
        said = (
            str(event.get("type") or "Normal"),
            str(event.get("reason") or "no reason"),
            f"{about.get('kind', '')} {about.get('name', '')}",
            str(event.get("message") or ""),
        )
        last, times = merged.get(said, ("", 0))
        merged[said] = (max(last, _last(event)), times + _times(event))
    if not merged:
        return None
    newest = sorted(merged.items(), key=lambda one: (one[1][0], one[0]), reverse=True)[:MOST_EVENTS]
    told = lines(
        f"{last} {kind} {reason}{f' ({times} times)' if times > 1 else ''}, {about}: {message}"
        for (kind, reason, about, message), (last, times) in newest
    )
    source = f"kubernetes: events of {ref} and what it owns"
    return piece(Origin("events", source, now, Trust.TEXT), f"Events of {ref}, newest first", told)


def _last(event: Raw) -> str:
    """To the second, so that both of Kubernetes's formats of time compare."""
    series = event.get("series") or {}
    stamps = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
        event["metadata"].get("creationTimestamp"),
    )
    return next((str(stamp)[:19] + "Z" for stamp in stamps if stamp), "")


def _times(event: Raw) -> int:
    counted = event.get("count") or (event.get("series") or {}).get("count") or 1
    return int(counted)
