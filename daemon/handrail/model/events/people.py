"""What people were asked and said, and what stops or holds an incident."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from handrail.model.approval import ApprovalRequest, Person
from handrail.model.evidence import Away
from handrail.model.reason import Reason
from handrail.model.switch import CLUSTER, EVERYTHING, Reach
from handrail.model.taking_back import TakeBack
from handrail.model.value import Value


class Asked(Value):
    """`away` are sources that could not be asked just before."""

    kind: Literal["asked"] = "asked"
    request: ApprovalRequest
    away: tuple[Away, ...] = ()


class Cleared(Value):
    """Policy lets this act without asking; the deadline for its writes is `run_until`."""

    kind: Literal["cleared"] = "cleared"
    hash: str
    run_until: datetime


class Approved(Value):
    kind: Literal["approved"] = "approved"
    request: str
    by: Person


class Rejected(Value):
    kind: Literal["rejected"] = "rejected"
    request: str
    by: Person
    why: str = ""


class Voided(Value):
    """What was approved (or asked) is no longer what would happen: look and ask anew."""

    kind: Literal["voided"] = "voided"
    reason: Reason
    detail: str


class Paused(Value):
    """A stop that concerns this incident, and what it leaves half-done here: one sentence, "" in old journals."""

    kind: Literal["paused"] = "paused"
    by: str
    why: str
    reach: Reach = EVERYTHING
    half_done: str = ""

    @property
    def held(self) -> bool:
        """By the cluster itself."""
        return self.by == CLUSTER


class Resumed(Value):
    kind: Literal["resumed"] = "resumed"
    by: str


class Cautioned(Value):
    """While a person is asked: an approval would be refused now, for this; without a reason that is over. HANDS_BUSY
    is said of what is approved: it waits for its turn."""

    kind: Literal["cautioned"] = "cautioned"
    reason: Reason | None = None
    detail: str = ""


class Taken(Value):
    kind: Literal["taken"] = "taken"
    by: Person


class GivenBack(Value):
    kind: Literal["given_back"] = "given_back"
    by: Person


class Cancelled(Value):
    """It ends as soon as what is in flight has been found out."""

    kind: Literal["cancelled"] = "cancelled"
    by: Person
    why: str


class Retried(Value):
    """On a closed incident: another one was begun for the same alert and object."""

    kind: Literal["retried"] = "retried"
    by: Person
    why: str
    into: str


class UndoAsked(Value):
    """On a closed incident: another one was begun that would take back this one's last run."""

    kind: Literal["undo_asked"] = "undo_asked"
    by: Person
    why: str
    into: str


class TakingBack(Value):
    """What an undo is about, last step first: its journal needs no other one."""

    kind: Literal["taking_back"] = "taking_back"
    steps: tuple[TakeBack, ...]


class Noted(Value):
    """Something a person should read in the story that changes no state (also on a closed incident)."""

    kind: Literal["noted"] = "noted"
    text: str
    by: str = "handrail"
