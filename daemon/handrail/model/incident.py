"""An incident as the fold of its journal: what is known, decided and done. Built by core/fold.py alone."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from handrail.model.alert import Alert
from handrail.model.approval import ApprovalRequest, Person
from handrail.model.events import (
    Cancelled,
    Follows,
    Intent,
    Outcome,
    Paused,
    Result,
    Silenced,
    StormCounted,
    Verified,
    Waiting,
)
from handrail.model.evidence import Away, EvidenceItem
from handrail.model.finding import Finding
from handrail.model.menu import Menu
from handrail.model.plan import PlanProposal
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Rehearsal, Saga, StepRun, Tried
from handrail.model.severity import Severity
from handrail.model.taking_back import TakeBack
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Value
from handrail.model.write import Direction


class State(StrEnum):
    """Terminal states in capitals: nothing follows them but notes and late outcomes."""

    OPENED = "opened"
    GATHERING = "gathering"
    PLANNING = "planning"
    COMPILING = "compiling"
    REHEARSING = "rehearsing"
    ASKING = "asking"
    EXECUTING = "executing"
    VERIFYING = "verifying"
    UNDOING = "undoing"
    UNDONE = "undone"
    RESOLVED = "RESOLVED"
    HANDED_OVER = "HANDED_OVER"
    SUPPRESSED = "SUPPRESSED"

    @property
    def terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset({State.RESOLVED, State.HANDED_OVER, State.SUPPRESSED})


class ModelCall(Value):
    """One call of the ledger; `raw` is empty and `failed` None while it is in flight or was lost."""

    request: str
    input_tokens: int
    output_tokens: int = 0
    raw: str = ""
    failed: Reason | None = None
    answered: bool = False
    times: int = 1


class WriteRun(Value):
    """One write of this round: its intent, how often it was tried, and what came of it."""

    intent: Intent
    attempts: tuple[str, ...]
    outcome: Outcome | None = None
    at: datetime
    ended_at: datetime | None = None

    @property
    def open(self) -> bool:
        """Outcome unknown: an intent without one."""
        return self.outcome is None

    @property
    def done(self) -> bool:
        return self.outcome is not None and self.outcome.result is Result.DONE

    def takes(self, outcome: Outcome) -> bool:
        """Nothing is known of it yet, or less than this."""
        return self.outcome is None or self.outcome.result.gives_way_to(outcome.result)


class Incident(Value):
    """`seq` is the journal's head that this was folded from; every decision commits only onto that head.

    `stop` is the one that it is paused for; `freed_at` is when a stop ended last, or a person gave it back. `follows`
    is the closed incident that this one goes on from; until `held_until` it waits for whether nothing is wrong indeed.
    `taking_back` is what an undo is about, () for any other incident.
    `lapsed_at` is when its alert was last found to be repeated no more: `resolved_seen_at` says so too.
    `caution` is why an approval would be refused now. `silenced` is the silence that it waits for, as it was found at
    `silenced_at`. It has waited for the end of a storm since `storm_at`; `storm` is what a storm's own page said
    last, at `storm_told_at`.
    """

    id: str
    cluster: str
    seq: int = 0
    state: State = State.OPENED
    opened_at: datetime
    moved_at: datetime
    identity: str = ""
    episode: str = ""
    follows: Follows | None = None
    held_until: datetime | None = None
    silenced: Silenced | None = None
    silenced_at: datetime | None = None
    storm_at: datetime | None = None
    storm: StormCounted | None = None
    storm_told_at: datetime | None = None
    alerts: tuple[Alert, ...] = ()
    labelled: LabelledTarget | None = None
    target: ObjectRef | None = None
    findings: tuple[Finding, ...] = ()
    evidence: tuple[EvidenceItem, ...] = ()
    away: tuple[Away, ...] = ()
    severity_before: Severity | None = None
    round: int = 1
    voids: int = 0
    model_calls: tuple[ModelCall, ...] = ()
    menu: Menu | None = None
    proposal: PlanProposal | None = None
    planner: str = ""
    saga: Saga | None = None
    rehearsal: Rehearsal | None = None
    waiting: Waiting | None = None
    waits: int = 0
    request: ApprovalRequest | None = None
    approved_by: Person | None = None
    let_go_at: datetime | None = None
    cleared_hash: str = ""
    run_until: datetime | None = None
    caution: Refusal | None = None
    steps: tuple[StepRun, ...] = ()
    writes: tuple[WriteRun, ...] = ()
    done_keys: frozenset[str] = frozenset()
    undone_steps: tuple[int, ...] = ()
    done_before: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = ()
    acted_at: datetime | None = None
    verified: Verified | None = None
    failure: tuple[Reason, str] | None = None
    end: tuple[Reason | None, str] | None = None
    paused: bool = False
    stop: Paused | None = None
    cancelled: Cancelled | None = None
    taking_back: tuple[TakeBack, ...] = ()
    taken_by: Person | None = None
    taken_at: datetime | None = None
    freed_at: datetime | None = None
    resolved_seen_at: datetime | None = None
    lapsed_at: datetime | None = None

    @property
    def alert(self) -> Alert:
        """The alert that opened it."""
        return self.alerts[0]

    @property
    def open_write(self) -> WriteRun | None:
        return next((run for run in self.writes if run.open), None)

    def step_run(self, index: int) -> StepRun | None:
        return next((run for run in self.steps if run.index == index), None)

    def run_of(self, key: str) -> WriteRun | None:
        """The latest run of a write by its key."""
        return next((run for run in reversed(self.writes) if run.intent.write.key == key), None)

    @property
    def has_acted(self) -> bool:
        """An intent of this round's saga was committed: from here on a change of mind means undo, not void."""
        return any(run.intent.direction is Direction.DO for run in self.writes)

    @property
    def done_writes(self) -> tuple[WriteRun, ...]:
        return tuple(run for run in self.writes if run.done)
