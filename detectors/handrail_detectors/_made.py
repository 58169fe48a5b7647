"""What detectors are made of, so that each file holds only what it decides. Shared by detectors; decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from handrail.model.detector import Watches, Window
from handrail.model.errors import Bug
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.occurrence import Occurrence
from handrail.model.target import LabelledTarget
from handrail.model.value import Raw

P = TypeVar("P", bound=BaseModel)

Facts = dict[str, str | int | bool]

RECENT = timedelta(minutes=15)
"""How far back events are counted: as far as the decoder lets them in (`alerts.event_age_minutes`)."""


class Settings(BaseModel):
    """The base of all parameters: frozen, and closed to unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Made(Generic[P]):
    """A detector whose decision is `find`. Raises Bug for parameters that are another's."""

    name: str
    watches: frozenset[Watches]
    Params: type[P]
    find: Callable[[Window, datetime, P], Iterable[Finding]]
    confirmed_by: str
    example: str
    reach: timedelta = timedelta(0)

    def detect(self, window: Window, now: datetime, params: BaseModel) -> tuple[Finding, ...]:
        if type(params) is not self.Params and not isinstance(params, self.Params):  # a model's isinstance is slow
            raise Bug(f"{self.name} was given the parameters of another detector")
        return tuple(self.find(window, now, params))


class Said(NamedTuple):
    """What a finding says, apart from whom it is about. Corroborated unless it comes from what was only sent."""

    cause: Cause
    handling: Handling
    summary: str
    facts: Facts
    corroborated: bool = True
    severity: str = "warning"


def finding(detector: str, target: LabelledTarget | None, said: Said) -> Finding:
    return Finding(detector=detector, target=target, **said._asdict())


def target_of(raw: Raw, container: str = "") -> LabelledTarget:
    meta = raw["metadata"]
    return LabelledTarget(
        kind=raw["kind"],
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        container=container,
    )


class Subject(NamedTuple):
    """A workload, or a pod that nobody made, with the pods that count for it."""

    raw: Raw
    pods: tuple[Raw, ...]


def subject(window: Window) -> Subject | None:
    """None where the eyes have seen neither, or it is being deleted."""
    if window.workload is not None:
        found: Subject | None = Subject(window.workload.object, window.workload.pods)
    elif window.object is not None and window.object.get("kind") == "Pod":
        found = Subject(window.object, (window.object,))
    else:
        found = None
    return None if found is None or "deletionTimestamp" in found.raw["metadata"] else found


def looked_at(window: Window) -> bool:
    """What the eyes have seen says more than events: these count only before anybody has looked."""
    return any(seen is not None for seen in (window.workload, window.node, window.autoscaler, window.object))


class Tally(NamedTuple):
    """`times` is over all events of the reasons, `newest` the last of them."""

    times: int
    newest: Occurrence

    @property
    def facts(self) -> Facts:
        return {"reason": self.newest.reason, "times": self.times}


def tally(window: Window, reasons: frozenset[str], now: datetime, within: timedelta = RECENT) -> Tally | None:
    """Events of these reasons that came within that time; None where there is none."""
    mine = [one for one in window.events if one.reason in reasons and now - one.seen_at <= within]
    if not mine:
        return None
    return Tally(sum(one.times for one in mine), max(mine, key=lambda one: (one.seen_at, one.uid)))


def many(window: Window, reasons: frozenset[str], now: datetime, times: int) -> Tally | None:
    """The tally where nobody has looked yet and there are so many: a single event opens nothing."""
    found = None if looked_at(window) else tally(window, reasons, now)
    return found if found is not None and found.times >= times else None
