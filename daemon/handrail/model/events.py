"""The kinds of events of an incident's journal. State is a fold over them; nothing else is.

Each kind is a frozen value with a `kind` word. A kind or a field that this build does not know raises
UnknownEvent on read, so the incident is left to a build that does (design, state rule 2).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from handrail.model.alert import Alert, Source
from handrail.model.approval import ApprovalRequest, Person
from handrail.model.errors import UnknownEvent
from handrail.model.evidence import Away, EvidenceItem
from handrail.model.finding import Finding
from handrail.model.menu import Menu
from handrail.model.plan import PlanProposal
from handrail.model.reason import Reason
from handrail.model.saga import Rehearsal, Saga
from handrail.model.severity import Severity
from handrail.model.step import Verdict
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.write import Direction, Write


class Opened(Value):
    kind: Literal["opened"] = "opened"
    alert: Alert
    source: Source
    target: LabelledTarget | None
    findings: tuple[Finding, ...]
    identity: str
    episode: str


class AlertAttached(Value):
    """Another alert of the same thing, firing or resolved: evidence, never a trigger and never proof."""

    kind: Literal["alert_attached"] = "alert_attached"
    alert: Alert
    source: Source


class GatheringBegun(Value):
    kind: Literal["gathering_begun"] = "gathering_begun"


class Gathered(Value):
    """The target by UID, what was seen, which sources were away, and how bad it is before anything is done."""

    kind: Literal["gathered"] = "gathered"
    target: ObjectRef
    findings: tuple[Finding, ...]
    evidence: tuple[EvidenceItem, ...]
    away: tuple[Away, ...]
    severity: Severity


class Offered(Value):
    """The closed menu, journalled before any planner sees it: the request to a model is then a function of the fold."""

    kind: Literal["offered"] = "offered"
    menu: Menu


class ModelAsked(Value):
    """Committed before the call: reserves its budget. An unanswered one counts as spent (state rule 7)."""

    kind: Literal["model_asked"] = "model_asked"
    request: str
    model: str
    input_tokens: int


class ModelAnswered(Value):
    """The raw answer lies in the blob `raw`, stored before it is parsed. `failed` holds a Reason instead."""

    kind: Literal["model_answered"] = "model_answered"
    request: str
    raw: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    failed: Reason | None = None
    detail: str = ""


class Planned(Value):
    kind: Literal["planned"] = "planned"
    planner: str
    proposal: PlanProposal


class Compiled(Value):
    kind: Literal["compiled"] = "compiled"
    saga: Saga


class CompileRefused(Value):
    kind: Literal["compile_refused"] = "compile_refused"
    reason: Reason
    detail: str


class Rehearsed(Value):
    kind: Literal["rehearsed"] = "rehearsed"
    rehearsal: Rehearsal


class Asked(Value):
    kind: Literal["asked"] = "asked"
    request: ApprovalRequest


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


class StepBegun(Value):
    """`before` is what `remember` made, recorded before the step's first write."""

    kind: Literal["step_begun"] = "step_begun"
    step: int
    before: Raw


class Intent(Value):
    """Committed by the gate's transaction before the write is sent. `resource_version` is the one it will name."""

    kind: Literal["intent"] = "intent"
    step: int
    direction: Direction
    write: Write
    expected: str
    resource_version: str


class Attempted(Value):
    """A further attempt after a conflict (three at most), gated again, before it is sent (state rule 4)."""

    kind: Literal["attempted"] = "attempted"
    key: str
    resource_version: str


class Result(StrEnum):
    """`done`: applied. `absent`: surely not applied. `refused`: the server said no. `stuck`: nobody can tell."""

    DONE = "done"
    ABSENT = "absent"
    REFUSED = "refused"
    STUCK = "stuck"


class Outcome(Value):
    """Appended unfenced and once per key and attempt. `after` is the object's fingerprint when done."""

    kind: Literal["outcome"] = "outcome"
    key: str
    result: Result
    resource_version: str = ""
    after: str = ""
    reason: Reason | None = None
    detail: str = ""


class StepDone(Value):
    kind: Literal["step_done"] = "step_done"
    step: int
    detail: str = ""


class StepFailed(Value):
    kind: Literal["step_failed"] = "step_failed"
    step: int
    reason: Reason
    detail: str


class Acted(Value):
    """Every step of the saga is done; verification begins."""

    kind: Literal["acted"] = "acted"


class Verified(Value):
    kind: Literal["verified"] = "verified"
    verdict: Verdict
    severity: Severity
    detail: str


class StepUndone(Value):
    kind: Literal["step_undone"] = "step_undone"
    step: int
    detail: str = ""


class Undone(Value):
    kind: Literal["undone"] = "undone"


class Replanned(Value):
    """Another round, knowing what is done."""

    kind: Literal["replanned"] = "replanned"


class HandedOver(Value):
    kind: Literal["handed_over"] = "handed_over"
    reason: Reason
    detail: str


class Suppressed(Value):
    """Noise. `into` names the incident that goes on with it, where there is one."""

    kind: Literal["suppressed"] = "suppressed"
    reason: Reason
    detail: str
    into: str = ""


class Paused(Value):
    kind: Literal["paused"] = "paused"
    by: str
    why: str


class Resumed(Value):
    kind: Literal["resumed"] = "resumed"
    by: str


class Taken(Value):
    kind: Literal["taken"] = "taken"
    by: Person


class GivenBack(Value):
    kind: Literal["given_back"] = "given_back"
    by: Person


class Noted(Value):
    """Something a person should read in the story that changes no state (also on a closed incident)."""

    kind: Literal["noted"] = "noted"
    text: str
    by: str = "handrail"


Event = Annotated[
    Opened
    | AlertAttached
    | GatheringBegun
    | Gathered
    | Offered
    | ModelAsked
    | ModelAnswered
    | Planned
    | Compiled
    | CompileRefused
    | Rehearsed
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
    | Resumed
    | Taken
    | GivenBack
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


def read(data: dict[str, Any]) -> Event:
    """The event of stored data. Raises UnknownEvent for a kind or a field of a newer build."""
    try:
        return _EVENT.validate_python(_upcast(data))
    except ValidationError as error:
        raise UnknownEvent(f"event {data.get('kind')!r} is not known to this build: {error}") from error


def _upcast(data: dict[str, Any]) -> dict[str, Any]:
    """Events of older builds in today's shape. Nothing to do yet: no release has written any."""
    return data
