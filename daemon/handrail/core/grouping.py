"""Which incident an arriving alert belongs to. Pure: the store looks up what is known and asks here.

A resolved alert opens nothing; one that was resolved before it came closes nothing by itself (it is data, not
proof). Old alerts of a replayed topic open nothing. One run per episode, however often the alert is repeated.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timedelta

from handrail.model.arrival import Arrival, Fate
from handrail.model.finding import Handling
from handrail.model.reason import Reason
from handrail.model.value import Value

QUIET_AFTER_END = timedelta(minutes=15)
"""A windowed alert keeps firing for minutes after a fix (cases 42): until then it is a note on the closed incident."""


class Known(Value):
    """What the store found. `open` is an open incident of this identity; `closed` the newest closed one, with
    whether it has this very episode and when it ended. `cluster` is this daemon's own name."""

    open: str = ""
    closed: str = ""
    closed_same_episode: bool = False
    closed_at: datetime | None = None
    cluster: str
    accept_unlabelled: bool = True
    now: datetime
    max_age: timedelta


class Place(Value):
    """`incident` is the one to open or to attach to; "" with RECORDED."""

    fate: Fate
    incident: str = ""
    reason: Reason | None = None


def place(arrival: Arrival, known: Known) -> Place:
    """Where the arrival goes. The order matters: what belongs to a story is never dropped for its age."""
    elsewhere = _elsewhere(arrival, known)
    if elsewhere:
        return Place(fate=Fate.RECORDED, reason=elsewhere)
    if known.open:
        return Place(fate=Fate.ATTACHED, incident=known.open)
    if known.closed and (known.closed_same_episode or _quiet(arrival, known)):
        return Place(fate=Fate.ATTACHED, incident=known.closed)
    nothing = _opens_nothing(arrival, known)
    if nothing:
        return Place(fate=Fate.RECORDED, reason=nothing)
    return Place(fate=Fate.OPENED, incident=incident_id(arrival, known.cluster))


def incident_id(arrival: Arrival, cluster: str) -> str:
    """Short enough to type, and the same for the same episode: two replicas that race open one incident."""
    seed = f"{cluster}\0{arrival.identity}\0{arrival.episode}".encode()
    return "inc-" + base64.b32encode(hashlib.sha256(seed).digest())[:10].decode().lower()


def _elsewhere(arrival: Arrival, known: Known) -> Reason | None:
    cluster = arrival.alert.cluster
    if cluster:
        return None if cluster == known.cluster else Reason.WRONG_CLUSTER
    return None if known.accept_unlabelled else Reason.UNKNOWN_CLUSTER


def _quiet(arrival: Arrival, known: Known) -> bool:
    """What began after the end is news however soon it comes (keep 5175); what says no beginning may be an echo."""
    if known.closed_at is None or known.now - known.closed_at >= QUIET_AFTER_END:
        return False
    return arrival.alert.starts_at is None or arrival.alert.starts_at <= known.closed_at


def _opens_nothing(arrival: Arrival, known: Known) -> Reason | None:
    if arrival.alert.status == "resolved":
        return Reason.RESOLVED_BY_ITSELF
    if all(finding.handling is Handling.IGNORE for finding in arrival.findings):
        return Reason.IGNORED_BY_RULE
    if known.now - arrival.alert.seen_at > known.max_age:
        return Reason.TOO_OLD
    return None
