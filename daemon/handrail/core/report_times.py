"""How long an incident took, with and without waiting for people. Pure arithmetic over the journal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.value import Value


class Times(Value):
    """`before`: from the alert's beginning to ours (None: the sender gave none). `mitigated`: from ours to healed;
    an undo that was asked for heals nothing.

    `waited`: for people to answer, to give back, or to start again; overlapping waits count once.
    """

    opened: datetime
    before: timedelta | None
    mitigated: timedelta | None
    waited: timedelta
    lasted: timedelta
    ended: bool


def times(incident: Incident, entries: Sequence[ev.Entry]) -> Times:
    opened = incident.opened_at
    end = incident.moved_at if incident.state.terminal else (entries[-1].at if entries else opened)
    began = incident.alert.starts_at
    return Times(
        opened=opened,
        before=opened - began if began is not None and began <= opened else None,
        mitigated=end - opened if incident.state is State.RESOLVED and not incident.taking_back else None,
        waited=_waited(entries, end),
        lasted=end - opened,
        ended=incident.state.terminal,
    )


_WAIT_BEGINS = {"asked": "answer", "taken": "taken", "paused": "stop"}
_WAIT_ENDS = {
    "approved": "answer",
    "rejected": "answer",
    "voided": "answer",
    "given_back": "taken",
    "resumed": "stop",
}
_ALL_END = frozenset({"handed_over", "suppressed"})


def _waited(entries: Sequence[ev.Entry], end: datetime) -> timedelta:
    """Time during which at least one wait for a person was open."""
    total, since, open_waits = timedelta(), end, set[str]()
    for entry in entries:
        before = bool(open_waits)
        kind = entry.event.kind
        if kind in _WAIT_BEGINS:
            open_waits.add(_WAIT_BEGINS[kind])
        elif kind in _ALL_END:
            open_waits.clear()
        else:
            open_waits.discard(_WAIT_ENDS.get(kind, ""))
        if open_waits and not before:
            since = entry.at
        elif before and not open_waits:
            total += entry.at - since
    return total + (max(end, since) - since if open_waits else timedelta())
