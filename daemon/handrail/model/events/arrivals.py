"""What arrives and is seen: alerts, evidence, the target."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from handrail.model.alert import Alert, Source
from handrail.model.approval import Person
from handrail.model.evidence import Away, EvidenceItem
from handrail.model.finding import Finding
from handrail.model.reason import Reason
from handrail.model.severity import Severity
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Value


class Follows(Value):
    """The closed incident that this one goes on from, and in which terminal state it `ended`: its alert fires on or
    again, or `how` says that the person `by` asked for another try, or for an undo, and `why`. `echo` says that it had
    resolved by itself a moment before, so this may be the late word of the other one of a pair (alertmanager#4008)."""

    incident: str
    ended: str
    echo: bool = False
    how: Literal["alert", "retry", "undo"] = "alert"
    by: Person | None = None
    why: str = ""


class Opened(Value):
    kind: Literal["opened"] = "opened"
    alert: Alert
    source: Source
    target: LabelledTarget | None
    findings: tuple[Finding, ...]
    identity: str
    episode: str
    follows: Follows | None = None


class AlertAttached(Value):
    """Another alert of the same thing, firing or resolved: evidence, never a trigger and never proof.

    `closed` is the terminal state that the incident had already ended in when it came, "" while it was open.
    """

    kind: Literal["alert_attached"] = "alert_attached"
    alert: Alert
    source: Source
    closed: str = ""


class GatheringBegun(Value):
    kind: Literal["gathering_begun"] = "gathering_begun"


class Lapsed(Value):
    """Its alert was last heard of at `since`, longer ago than senders repeat one: over, though nobody said resolved."""

    kind: Literal["lapsed"] = "lapsed"
    since: datetime


class Held(Value):
    """An alert that came again, and nothing wrong to be seen: looked at once more at `until`, before it is closed.

    What flaps meanwhile joins this incident, so that it opens at most one in that time.
    """

    kind: Literal["held"] = "held"
    until: datetime
    detail: str


class Silenced(Value):
    """Somebody silenced its alert: nothing is done about it, and everything is looked at anew at `until`."""

    kind: Literal["silenced"] = "silenced"
    until: datetime
    reason: Reason = Reason.SILENCED
    detail: str


class Counted(Value):
    """How often a name of the world occurs."""

    name: str
    times: int


class StormCounted(Value):
    """What a storm of alerts is made of, from `since` on, as far as it is known; over at `until` unless more come.

    `objects` are owners; `unresolved` pods and Jobs come to them whose owner nobody looks up before it is over.
    `waiting` incidents wait for its end. Names, namespaces and nodes are the most frequent ones.
    """

    kind: Literal["storm_counted"] = "storm_counted"
    since: datetime
    until: datetime
    objects: int
    unresolved: int = 0
    alerts: int
    waiting: int
    names: tuple[Counted, ...] = ()
    namespaces: tuple[Counted, ...] = ()
    nodes: tuple[Counted, ...] = ()


class Gathered(Value):
    """The target by UID, what was seen, which sources were away, and how bad it is before anything is done."""

    kind: Literal["gathered"] = "gathered"
    target: ObjectRef
    findings: tuple[Finding, ...]
    evidence: tuple[EvidenceItem, ...]
    away: tuple[Away, ...]
    severity: Severity
