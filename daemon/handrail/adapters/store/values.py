"""What the store answers beside incidents: rows for lists, the delivery cursor, the audit's findings."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from handrail.model.events import Event
from handrail.model.incident import Incident, State
from handrail.model.value import Value


class IncidentRow(Value):
    """One line of a list, from the projection. `title` is the alert's name, `target` "" while nobody knows it.

    `state` is a word: one that a newer build wrote must not hide the whole list.
    """

    id: str
    cluster: str
    state: str
    title: str
    target: str
    opened_at: datetime
    moved_at: datetime
    ended_at: datetime | None
    head: int


class Telling(Value):
    """How far people have been told of an incident: `told_seq` is the last seq of the journal they know.

    `channel` and `ts` name the Slack message that is kept up to date; "" before there is one.
    """

    channel: str = ""
    ts: str = ""
    told_seq: int = 0


class OpenWork(NamedTuple):
    """Open incidents, oldest first, with the seq at which each journal should end; `cut_off` are those whose journal
    has no such entry."""

    heads: dict[str, int]
    cut_off: frozenset[str] = frozenset()


class Committed(NamedTuple):
    """One event that was committed to an incident's journal: the state before it, and the fold after it."""

    before: State
    event: Event
    after: Incident


class StreamAudit(Value):
    """One journal: `broken_at` is the first wrong seq (0 where the fault has no seq), `problem` what is wrong."""

    stream: str
    entries: int
    ok: bool
    broken_at: int = 0
    problem: str = ""


class AuditReport(Value):
    ok: bool
    streams: tuple[StreamAudit, ...]
