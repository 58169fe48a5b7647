"""The stop switch and the permit: what the gate's transaction reads and what it alone gives out."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from handrail.model.value import Value
from handrail.model.write import Write

CLUSTER = "cluster"
"""Who stopped it, where the API server refused and the daemon latched that. No person's word looks like this: theirs
has a colon."""


class Scope(StrEnum):
    """Also the fixed order in which stops are read and named."""

    ALL = "all"
    NAMESPACE = "namespace"
    STEP = "step"


class Reach(Value):
    """What a stop stops: everything, a namespace, or a step wherever it would act. `name` is "" for everything."""

    scope: Scope = Scope.ALL
    name: str = ""

    def __str__(self) -> str:
        return "everything" if self.scope is Scope.ALL else f"{self.scope} {self.name}"

    @property
    def flag(self) -> str:
        """As `handrail stop` and `start` take it, with a blank before it."""
        if self.scope is Scope.ALL:
            return ""
        return f" --in-namespace {self.name}" if self.scope is Scope.NAMESPACE else f" --step {self.name}"


EVERYTHING = Reach()


class Stop(Value):
    """The newest press for one reach; `on` False is a start. `at` is None only before it was ever stored."""

    reach: Reach = EVERYTHING
    on: bool = True
    by: str = ""
    why: str = ""
    at: datetime | None = None

    @property
    def held(self) -> bool:
        """The cluster itself refused, and this is what the daemon remembers of it."""
        return self.by == CLUSTER


class Switch(Value):
    """`pressed` holds the newest press of each reach: everything first, then namespaces, then steps, by name.

    A stop blocks new intents on every replica; results of what is in flight are still recorded.
    """

    pressed: tuple[Stop, ...] = ()
    newer: tuple[str, ...] = ()
    """Those that are on and whose reach only a newer build knows: whether they concern anything can't be told here."""

    @property
    def stops(self) -> tuple[Stop, ...]:
        """Those that are on."""
        return tuple(stop for stop in self.pressed if stop.on)

    @property
    def stopped(self) -> bool:
        """Everything is."""
        return any(stop.reach.scope is Scope.ALL for stop in self.stops)

    def of(self, reach: Reach) -> Stop | None:
        return next((stop for stop in self.pressed if stop.reach == reach), None)


class Permit(Value):
    """Given only by the store, in the transaction that committed the intent. Hands writes nothing without one.

    `resource_version` is the version just read, which the write must name; `attempt` counts from 1.
    """

    incident: str
    write: Write
    resource_version: str
    attempt: int
