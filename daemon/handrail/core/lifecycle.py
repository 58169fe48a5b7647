"""THE table: which event moves an incident from which state to which. Read it top to bottom in a minute.

An event that stands in no row for the state it meets moves nothing; one that is not even allowed there is a Bug
of ours (`allowed`). Terminal states accept notes, late outcomes
and the word that another incident was begun from them, only. The diagram in the docs is drawn from this.
"""

from __future__ import annotations

from typing import NamedTuple

from handrail.model.incident import State as S


class Row(NamedTuple):
    state: S
    event: str
    to: S


TABLE: tuple[Row, ...] = (
    # forward
    Row(S.OPENED, "gathering_begun", S.GATHERING),
    Row(S.GATHERING, "gathered", S.PLANNING),
    Row(S.PLANNING, "planned", S.COMPILING),
    Row(S.COMPILING, "compiled", S.REHEARSING),
    Row(S.REHEARSING, "asked", S.ASKING),
    Row(S.REHEARSING, "cleared", S.EXECUTING),
    Row(S.ASKING, "approved", S.EXECUTING),
    Row(S.EXECUTING, "acted", S.VERIFYING),
    Row(S.VERIFYING, "verified:healed", S.RESOLVED),
    # another round
    Row(S.COMPILING, "compile_refused", S.PLANNING),
    Row(S.VERIFYING, "replanned", S.GATHERING),
    Row(S.UNDONE, "replanned", S.GATHERING),
    Row(S.GATHERING, "verified:healed", S.RESOLVED),
    # too soon to ask: what is known is old by the time that it may be done
    Row(S.REHEARSING, "wait_ended", S.GATHERING),
    # what was approved is no longer what would happen
    Row(S.REHEARSING, "voided", S.GATHERING),
    Row(S.ASKING, "voided", S.GATHERING),
    Row(S.EXECUTING, "voided", S.GATHERING),
    # somebody silenced its alert, or it waits for the end of a storm
    Row(S.PLANNING, "silenced", S.GATHERING),
    Row(S.REHEARSING, "silenced", S.GATHERING),
    Row(S.EXECUTING, "silenced", S.GATHERING),
    # taking back
    Row(S.EXECUTING, "step_failed", S.UNDOING),
    Row(S.VERIFYING, "verified:worse", S.UNDOING),
    Row(S.UNDOING, "undone", S.UNDONE),
    # a person said no
    Row(S.ASKING, "rejected", S.HANDED_OVER),
)

FROM_ANY: dict[str, S] = {
    "handed_over": S.HANDED_OVER,
    "suppressed": S.SUPPRESSED,
}
"""From every state that is not terminal."""

STAYS: dict[str, frozenset[S]] = {
    "taking_back": frozenset({S.OPENED}),
    "storm_counted": frozenset({S.OPENED}),
    "lapsed": frozenset({S.GATHERING, S.ASKING}),
    "held": frozenset({S.GATHERING}),
    "silenced": frozenset({S.GATHERING}),
    "rehearsed": frozenset({S.REHEARSING}),
    "waiting": frozenset({S.REHEARSING}),
    "offered": frozenset({S.PLANNING}),
    "model_asked": frozenset({S.PLANNING}),
    "step_begun": frozenset({S.EXECUTING}),
    "step_done": frozenset({S.EXECUTING}),
    "intent": frozenset({S.EXECUTING, S.UNDOING}),
    "attempted": frozenset({S.EXECUTING, S.UNDOING}),
    "step_undone": frozenset({S.UNDOING}),
    "verified:no_effect": frozenset({S.VERIFYING}),
}
"""Events that say what happened in a state without leaving it."""

FLAGS = frozenset({"paused", "resumed", "taken", "given_back", "cancelled", "cautioned"})
"""Over any state that is not terminal."""

ANYWHERE = frozenset({"alert_attached", "noted", "outcome", "model_answered"})
"""Also on a closed incident: late alerts, notes, and results that a replaced process had in flight."""

AFTER_END = frozenset({"retried", "undo_asked"})
"""On a closed incident alone: that another one was begun from it. Nothing of the closed one moves."""

_MOVES: dict[tuple[S, str], S] = {(row.state, row.event): row.to for row in TABLE}


def after(state: S, event: str) -> S:
    """The state that follows; the same one where the event moves nothing."""
    if state.terminal:
        return state
    return _MOVES.get((state, event)) or FROM_ANY.get(event) or state


def allowed(state: S, event: str) -> bool:
    """Whether the event may be appended in that state at all."""
    if event in ANYWHERE:
        return True
    if state.terminal:
        return event in AFTER_END
    if (state, event) in _MOVES or event in FROM_ANY or event in FLAGS:
        return True
    return state in STAYS.get(event, frozenset())


def diagram() -> str:
    """The table as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {S.OPENED}"]
    lines += [f"    {row.state} --> {row.to}: {row.event}" for row in TABLE]
    lines += [f"    {state} --> [*]" for state in (S.RESOLVED, S.HANDED_OVER, S.SUPPRESSED)]
    return "\n".join(lines)
