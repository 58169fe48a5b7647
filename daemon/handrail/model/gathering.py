"""What was gathered about one alert: the object by UID, what it owns, and bounded pieces of evidence."""

from __future__ import annotations

from handrail.model.autoscaler import Autoscaler
from handrail.model.evidence import Away, Piece
from handrail.model.node import Node
from handrail.model.occurrence import Occurrence
from handrail.model.step import Thing
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload


class Gathering(Value):
    """`ref` is the top owner that the API server confirmed; of the three after it the one of its kind is there, if any,
    else the object itself with what a CronJob has made (`owned`). `happened` are the API server's events of it and of
    what it owns.

    `pieces` are at most 40, each at most 8 KiB of redacted text, most telling first; `away` names every source
    that could not be asked.
    """

    ref: ObjectRef
    workload: Workload | None = None
    node: Node | None = None
    autoscaler: Autoscaler | None = None
    object: Raw | None = None
    owned: tuple[Raw, ...] = ()
    happened: tuple[Occurrence, ...] = ()
    pieces: tuple[Piece, ...] = ()
    away: tuple[Away, ...] = ()

    @property
    def thing(self) -> Thing | None:
        return self.workload or self.node or self.autoscaler
