"""The kinds of events of an incident's journal. State is a fold over them; nothing else is.

Each kind is a frozen value with a `kind` word. A kind or a field that this build does not know raises
UnknownEvent on read, so the incident is left to a build that does (design, state rule 2).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from handrail.model.errors import UnknownEvent
from handrail.model.events.acting import (
    Acted,
    Attempted,
    Intent,
    Outcome,
    Result,
    StepBegun,
    StepDone,
    StepFailed,
    StepUndone,
    Undone,
    Verified,
)
from handrail.model.events.arrivals import (
    AlertAttached,
    Counted,
    Follows,
    Gathered,
    GatheringBegun,
    Held,
    Lapsed,
    Opened,
    Silenced,
    StormCounted,
)
from handrail.model.events.ends import (
    HandedOver,
    Suppressed,
)
from handrail.model.events.people import (
    Approved,
    Asked,
    Cancelled,
    Cautioned,
    Cleared,
    GivenBack,
    Noted,
    Paused,
    Rejected,
    Resumed,
    Retried,
    Taken,
    TakingBack,
    UndoAsked,
    Voided,
)
from handrail.model.events.planning import (
    Compiled,
    CompileRefused,
    ModelAnswered,
    ModelAsked,
    Offered,
    Planned,
    Rehearsed,
    Replanned,
    WaitEnded,
    Waiting,
)
from handrail.model.events.upcast import upcast, version_of
from handrail.model.value import Value

__all__ = [
    "Acted",
    "AlertAttached",
    "Approved",
    "Asked",
    "Attempted",
    "Cancelled",
    "Cautioned",
    "Cleared",
    "CompileRefused",
    "Compiled",
    "Counted",
    "Entry",
    "Event",
    "Follows",
    "Gathered",
    "GatheringBegun",
    "GivenBack",
    "HandedOver",
    "Held",
    "Intent",
    "Lapsed",
    "ModelAnswered",
    "ModelAsked",
    "Noted",
    "Offered",
    "Opened",
    "Outcome",
    "Paused",
    "Planned",
    "Rehearsed",
    "Rejected",
    "Replanned",
    "Result",
    "Resumed",
    "Retried",
    "Silenced",
    "StepBegun",
    "StepDone",
    "StepFailed",
    "StepUndone",
    "StormCounted",
    "Suppressed",
    "Taken",
    "TakingBack",
    "UndoAsked",
    "Undone",
    "Verified",
    "Voided",
    "WaitEnded",
    "Waiting",
    "dump",
    "read",
    "version_of",
]

Event = Annotated[
    Opened
    | AlertAttached
    | GatheringBegun
    | Lapsed
    | Held
    | Silenced
    | StormCounted
    | Gathered
    | Offered
    | ModelAsked
    | ModelAnswered
    | Planned
    | Compiled
    | CompileRefused
    | Rehearsed
    | Waiting
    | WaitEnded
    | Asked
    | Cleared
    | Approved
    | Rejected
    | Voided
    | StepBegun
    | Intent
    | Attempted
    | Outcome
    | StepDone
    | StepFailed
    | Acted
    | Verified
    | StepUndone
    | Undone
    | Replanned
    | HandedOver
    | Suppressed
    | Paused
    | Cautioned
    | Resumed
    | Taken
    | GivenBack
    | Cancelled
    | Retried
    | UndoAsked
    | TakingBack
    | Noted,
    Field(discriminator="kind"),
]

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class Entry(Value):
    """An event in its place: `seq` counts from 1 in an incident, `at` is UTC, `hash` chains over `previous`."""

    incident: str
    seq: int
    at: datetime
    actor: str
    event: Event
    previous: str
    hash: str


def dump(event: Event) -> dict[str, Any]:
    """Plain JSON data of an event, as stored; `kind` has a column of its own too."""
    return event.model_dump(mode="json")


def read(data: dict[str, Any], version: int = 1) -> Event:
    """The event of stored data. Raises UnknownEvent for a kind, a version or a field of a newer build."""
    try:
        return _EVENT.validate_python(upcast(data, version))
    except ValidationError as error:
        raise UnknownEvent(f"event {data.get('kind')!r} is not known to this build: {error}") from error
