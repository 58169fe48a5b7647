"""The contract of a detector: a pure function from a window of signals to findings.

A detector decides what is wrong. It never asks anybody anything: what it needs is in the window, and a window
that lacks it gives no finding (missing data is not health and not a fault).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel

from handrail.model.alert import Alert
from handrail.model.autoscaler import Autoscaler
from handrail.model.finding import Finding
from handrail.model.node import Node
from handrail.model.occurrence import Occurrence
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload


class Watches(StrEnum):
    """What kind of signal wakes a detector: what arrives, what the eyes have seen of the thing, or the clock."""

    ALERTS = "alerts"
    EVENTS = "events"
    WORKLOAD = "workload"
    NODE = "node"
    AUTOSCALER = "autoscaler"
    OBJECT = "object"
    TICK = "tick"


class Awaited(Value):
    """A signal that has to keep coming. Waited for since `since` (a start gives it its whole time again).

    `last_seen` is None where it was never seen. `shows_alerting` is the one that says that alerts arrive at all.
    """

    name: str
    labels: dict[str, str] = {}
    within: timedelta
    since: datetime
    last_seen: datetime | None = None
    shows_alerting: bool = False


class Window(Value):
    """Signals about one thing. What the eyes give is None until they have looked, or when they could not.

    `alerts` are of the thing, oldest first. `events` are Kubernetes events of it, each once: at intake those that the
    store has seen within the detector's reach, on a look those of the API server. `object` is any other kind than the
    three before it (a pod, a PersistentVolumeClaim, a Job, ...), `owned` what a CronJob has made. `awaited` is there
    on ticks alone.
    """

    alerts: tuple[Alert, ...] = ()
    events: tuple[Occurrence, ...] = ()
    workload: Workload | None = None
    node: Node | None = None
    autoscaler: Autoscaler | None = None
    object: Raw | None = None
    owned: tuple[Raw, ...] = ()
    awaited: tuple[Awaited, ...] = ()


class Detector(Protocol):
    """One object of this shape, called `detector`, in each file of detectors/."""

    @property
    def name(self) -> str: ...

    @property
    def watches(self) -> frozenset[Watches]: ...

    @property
    def Params(self) -> type[BaseModel]: ...  # noqa: N802 -- a class is what the attribute holds

    @property
    def reach(self) -> timedelta:
        """How far back the window of events goes that it wants; 0 where it wants none."""
        ...

    @property
    def confirmed_by(self) -> str:
        """What corroborates its findings, in one sentence for people."""
        ...

    @property
    def example(self) -> str:
        """What one of its findings says."""
        ...

    def detect(self, window: Window, now: datetime, params: BaseModel) -> tuple[Finding, ...]: ...
