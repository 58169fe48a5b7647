"""Which incident an arriving alert belongs to. Pure: the store looks up what is known and asks here.

A resolved alert opens nothing; one that was resolved before it came closes nothing by itself (it is data, not
proof). Nor do a single Kubernetes event and old alerts of a replayed topic. One run per episode while somebody has it:
what fires again after an incident closed with nobody told, or goes on long after a repair, opens the next generation
(prometheus#5277).
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from handrail.model.arrival import Arrival, Fate
from handrail.model.events import Follows
from handrail.model.finding import Handling
from handrail.model.incident import State
from handrail.model.occurrence import is_event
from handrail.model.reason import Reason
from handrail.model.value import Value

QUIET_AFTER_END = timedelta(minutes=15)
"""A windowed alert keeps firing for minutes after a fix (cases 42): until then it is a note on the closed incident."""


class Closed(Value):
    """The newest closed incident of this very episode, else of this identity; for one that was merged, what it was
    merged into. `reason` is why it ended, where its journal says so."""

    incident: str
    state: State
    reason: Reason | None = None
    at: datetime
    same_episode: bool = False


class Known(NamedTuple):
    """What the store found. `open` is an open incident of this identity, or the one that it was merged into;
    `generation` counts the earlier incidents of this identity and episode. `cluster` is this daemon's own name."""

    cluster: str
    now: datetime
    max_age: timedelta
    accept_unlabelled: bool = True
    open: str = ""
    closed: Closed | None = None
    generation: int = 0


class Place(NamedTuple):
    """`incident` is the one to open or to attach to; "" with RECORDED. `follows` goes with OPENED."""

    fate: Fate
    incident: str = ""
    reason: Reason | None = None
    follows: Follows | None = None


def place(arrival: Arrival, known: Known) -> Place:
    """Where the arrival goes. The order matters: what belongs to a story is never dropped for its age."""
    elsewhere = _elsewhere(arrival, known)
    if elsewhere:
        return Place(fate=Fate.RECORDED, reason=elsewhere)
    if known.open:
        return Place(fate=Fate.ATTACHED, incident=known.open)
    closed = known.closed
    if closed is not None and not _same_story(arrival, closed, known.now):
        closed = None
    if closed is not None and _settled(arrival, closed):
        return Place(fate=Fate.ATTACHED, incident=closed.incident)
    nothing = _opens_nothing(arrival, known)
    if nothing and closed is not None:
        return Place(fate=Fate.ATTACHED, incident=closed.incident)
    if nothing:
        return Place(fate=Fate.RECORDED, reason=nothing)
    opened = incident_id(arrival, known.cluster, known.generation)
    return Place(Fate.OPENED, opened, follows=None if closed is None else _follows(arrival, closed))


class Named(Protocol):
    """What an incident is known by: an arrival has these, and the incident that it opened."""

    @property
    def identity(self) -> str: ...

    @property
    def episode(self) -> str: ...


def incident_id(arrival: Named, cluster: str, generation: int = 0) -> str:
    """Short enough to type, and the same for the same episode and generation: two replicas that race open one."""
    again = f"\0{generation}" if generation else ""
    seed = f"{cluster}\0{arrival.identity}\0{arrival.episode}{again}".encode()
    bits = int.from_bytes(hashlib.sha256(seed).digest()[:7], "big") >> 6
    begin = f"inc-{_LETTERS[bits >> 40]}{_LETTERS[bits >> 30 & 1023]}{_LETTERS[bits >> 20 & 1023]}"
    return f"{begin}{_LETTERS[bits >> 10 & 1023]}{_LETTERS[bits & 1023]}"


_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_LETTERS = tuple(first + second for first in _BASE32 for second in _BASE32)
"""Ten bits as two letters."""


def _elsewhere(arrival: Arrival, known: Known) -> Reason | None:
    cluster = arrival.alert.cluster
    if cluster:
        return None if cluster == known.cluster else Reason.WRONG_CLUSTER
    return None if known.accept_unlabelled else Reason.UNKNOWN_CLUSTER


def _same_story(arrival: Arrival, closed: Closed, now: datetime) -> bool:
    """What began after the end is news however soon it comes (keep 5175); what says no beginning may be an echo."""
    if closed.same_episode:
        return True
    if now - closed.at >= QUIET_AFTER_END:
        return False
    return arrival.alert.starts_at is None or arrival.alert.starts_at <= closed.at


def _settled(arrival: Arrival, closed: Closed) -> bool:
    """Whether a note on the closed incident does: it says nothing new, a person has it, or the repair still cools down.

    What was closed as noise is with nobody, so what fires after that is never only noted there.
    """
    alert = arrival.alert
    if alert.status == "resolved" or alert.seen_at <= closed.at:
        return True
    match closed.state:
        case State.HANDED_OVER:
            return True
        case State.RESOLVED:
            return alert.seen_at - closed.at < QUIET_AFTER_END
        case _:
            return False


def _follows(arrival: Arrival, closed: Closed) -> Follows:
    soon = arrival.alert.seen_at - closed.at < QUIET_AFTER_END
    echo = soon and closed.reason is Reason.RESOLVED_BY_ITSELF
    return Follows(incident=closed.incident, ended=str(closed.state), echo=echo)


_IGNORED = frozenset({Handling.IGNORE})


def _opens_nothing(arrival: Arrival, known: Known) -> Reason | None:
    if arrival.alert.status == "resolved":
        return Reason.RESOLVED_BY_ITSELF
    if _IGNORED.issuperset([finding.handling for finding in arrival.findings]):
        return Reason.LONE_EVENT if is_event(arrival.alert) else Reason.IGNORED_BY_RULE
    if known.now - arrival.alert.seen_at > known.max_age:
        return Reason.TOO_OLD
    return None
