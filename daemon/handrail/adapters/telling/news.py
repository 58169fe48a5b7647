"""What is new of one incident, and whether it is worth a card or a call by the second channel. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from handrail.adapters.store import Telling
from handrail.core import storm
from handrail.core.card import card
from handrail.core.report import report
from handrail.model.events import Entry, Outcome, Result
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason

FIRST_CARD = timedelta(minutes=3)
"""How long an incident may go without a card while nobody knows its object: in a storm most merge into one."""

_LOUD = frozenset({State.ASKING, State.HANDED_OVER, State.RESOLVED})
_LOOKING = frozenset({State.OPENED, State.GATHERING})


@dataclass(frozen=True)
class News:
    """One incident as it was read: `incident` is never older than `entries`, so no state is passed over."""

    incident: Incident
    entries: tuple[Entry, ...]
    telling: Telling

    @property
    def fresh(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.seq > self.telling.told_seq)

    @property
    def head(self) -> int:
        return self.entries[-1].seq if self.entries else self.telling.told_seq


def too_early(news: News, now: datetime) -> bool:
    """Before its first card: twenty alerts about one workload are one card, not twenty (kubernaut #63)."""
    incident = news.incident
    looking = incident.state in _LOOKING and not incident.paused and incident.taken_by is None
    if incident.storm is not None:
        return False
    storm_ends = incident.silenced.until if incident.storm_at and incident.silenced else incident.opened_at
    looks_at = max(incident.held_until or incident.opened_at, storm_ends)
    patience = looks_at - incident.opened_at + FIRST_CARD
    return looking and not news.telling.ts and now - incident.opened_at < patience


def never_shown(news: News) -> bool:
    """Merged before anybody saw it: the incident that it went into tells of it. Or the alert of a closed incident
    came again and nothing was wrong: flapping is counted in the journal, and nobody is called for it. Or it fired in a
    storm and was well after it: the storm's page speaks for all of them, and so is always shown, late if need be."""
    incident = news.incident
    if news.telling.ts or incident.end is None or incident.state is not State.SUPPRESSED:
        return False
    if storm.is_page(incident):
        return False
    return incident.end[0] is Reason.MERGED or incident.follows is not None or incident.storm_at is not None


def loud(news: News) -> str:
    """Names the change that the second channel is told of, "" for none: asked, ended, or stuck between. A storm's page
    is told anew with each note that the storm still goes on."""
    incident = news.incident
    if storm.is_page(incident):
        return f"storm/{incident.state}/{_notes(news)}"
    stuck = _stuck(news.fresh) and not incident.state.terminal
    happened = stuck or any(_is_loud(entry) for entry in news.fresh)
    if not happened or not (stuck or incident.state in _LOUD or _called_off(news)):
        return ""
    asked = incident.request.id if incident.request and incident.state is State.ASKING else ""
    return f"{incident.state}/{asked}/{'stuck' if stuck else ''}"


def _notes(news: News) -> int:
    return sum(entry.event.kind == "noted" for entry in news.entries)


def _is_loud(entry: Entry) -> bool:
    return entry.event.kind in ("asked", "rejected", "handed_over", "verified", "suppressed")


def _called_off(news: News) -> bool:
    """Noise is not told; but whoever was called to decide must hear that there is nothing left to decide."""
    asked = any(entry.event.kind == "asked" for entry in news.entries)
    return asked and news.incident.state is State.SUPPRESSED


def _stuck(entries: Sequence[Entry]) -> bool:
    return any(isinstance(entry.event, Outcome) and entry.event.result is Result.STUCK for entry in entries)


def payload(news: News, now: datetime) -> dict[str, Any]:
    """For the webhook (adapters/webhook.py says what stands in it)."""
    shown = card(news.incident, now)
    said: dict[str, Any] = {
        "incident": shown.incident,
        "state": str(shown.state),
        "title": shown.title,
        "target": shown.target,
        "status": shown.status,
        "next_action": shown.next_action,
    }
    if news.incident.state.terminal:
        said["report"] = report(news.incident, news.entries)
    return said
