"""How a plan came to be: menu, model calls, proposal, saga, rehearsal."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from handrail.model.menu import Menu
from handrail.model.plan import PlanProposal
from handrail.model.reason import Reason
from handrail.model.saga import Rehearsal, Saga
from handrail.model.value import Value


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


class Waiting(Value):
    """Rehearsed, but the gate would refuse it before `until`, so nobody is asked yet; then everything is looked at
    anew."""

    kind: Literal["waiting"] = "waiting"
    until: datetime
    reason: Reason
    detail: str


class WaitEnded(Value):
    kind: Literal["wait_ended"] = "wait_ended"


class Rehearsed(Value):
    kind: Literal["rehearsed"] = "rehearsed"
    rehearsal: Rehearsal


class Replanned(Value):
    """Another round, knowing what is done."""

    kind: Literal["replanned"] = "replanned"
