"""What was gathered about one alert: the object by UID, what it owns, and bounded pieces of evidence."""

from __future__ import annotations

from handrail.model.evidence import Away, Piece
from handrail.model.target import ObjectRef
from handrail.model.value import Value
from handrail.model.workload import Workload


class Gathering(Value):
    """`ref` is the top owner that the API server confirmed; `workload` is None for kinds that own no pods.

    `pieces` are at most 40, each at most 8 KiB of redacted text, most telling first; `away` names every source
    that could not be asked.
    """

    ref: ObjectRef
    workload: Workload | None = None
    pieces: tuple[Piece, ...] = ()
    away: tuple[Away, ...] = ()
