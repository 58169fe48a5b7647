"""The contract of a detector: a pure function from a window of signals to findings.

A detector decides what is wrong. It never asks anybody anything: what it needs is in the window, and a window
that lacks it gives no finding (missing data is not health and not a fault).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel

from handrail.model.alert import Alert
from handrail.model.autoscaler import Autoscaler
from handrail.model.finding import Finding
from handrail.model.node import Node
from handrail.model.value import Value
from handrail.model.workload import Workload


class Watches(StrEnum):
    """What kind of signal wakes a detector."""

    ALERTS = "alerts"
    WORKLOAD = "workload"
    NODE = "node"
    AUTOSCALER = "autoscaler"


class Window(Value):
    """Signals about one thing. All but the alerts are None until the eyes have looked, or when they could not."""

    alerts: tuple[Alert, ...] = ()
    workload: Workload | None = None
    node: Node | None = None
    autoscaler: Autoscaler | None = None


class Detector(Protocol):
    """One object of this shape, called `detector`, in each file of detectors/."""

    @property
    def name(self) -> str: ...

    @property
    def watches(self) -> frozenset[Watches]: ...

    @property
    def Params(self) -> type[BaseModel]: ...  # noqa: N802 -- a class is what the attribute holds

    def detect(self, window: Window, now: datetime, params: BaseModel) -> tuple[Finding, ...]: ...
