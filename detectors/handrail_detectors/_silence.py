"""For how long an awaited signal has not come. Shared by detectors."""

from __future__ import annotations

from datetime import datetime

from handrail.model.detector import Awaited


def silent_for(awaited: Awaited, now: datetime) -> int | None:
    """Whole minutes; None while it is not overdue. Counted from our own start where it was seen before that."""
    since = awaited.since if awaited.last_seen is None else max(awaited.last_seen, awaited.since)
    silence = now - since
    return int(silence.total_seconds() // 60) if silence > awaited.within else None
