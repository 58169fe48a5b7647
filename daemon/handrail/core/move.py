"""What the next move of an incident can be: record a decision, do one effect, or idle on something named."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from handrail.model import events as ev
from handrail.model.value import Value


class Effect(StrEnum):
    """What the reconciler performs; each is one file in effects/."""

    GATHER = "gather"
    OFFER = "offer"
    PLAN = "plan"
    COMPILE = "compile"
    REHEARSE = "rehearse"
    RECHECK = "recheck"
    STEP = "step"
    UNDO = "undo"
    SETTLE = "settle"
    VERIFY = "verify"


class Decided(Value):
    """Append these: the decision needed no look at the world."""

    events: tuple[ev.Event, ...]


class Do(Value):
    """`step` is the saga step that STEP and UNDO are about.

    `patience` ends at a time, and then only where the effect was tried and what it needs is still away (saga.too_late):
    a stop, a person or a daemon that was down for long must not end what nobody has looked at since.
    """

    effect: Effect
    step: int = 0
    patience: datetime | None = None


class Idle(Value):
    """Nothing to do before something named happens, at the latest `until` (None: only a person can end it)."""

    waiting_for: str
    until: datetime | None = None


Move = Decided | Do | Idle
