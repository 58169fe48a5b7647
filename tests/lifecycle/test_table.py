"""The lifecycle table holds together: reachable, ending, and closed once it has ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pytest

from handrail.core import lifecycle
from handrail.core.fold import event_name
from handrail.core.lifecycle import FROM_ANY, TABLE, after, allowed, diagram
from handrail.model import events as ev
from handrail.model.incident import TERMINAL, State
from handrail.model.severity import Severity
from handrail.model.step import Verdict

KINDS = sorted(
    {row.event for row in TABLE}
    | set(FROM_ANY)
    | set(lifecycle.STAYS)
    | lifecycle.FLAGS
    | lifecycle.ANYWHERE
    | lifecycle.AFTER_END
    | {"opened"}
)


def reachable(start: Iterable[State]) -> set[State]:
    seen = set(start)
    while True:
        more = {row.to for row in TABLE if row.state in seen} | (set(FROM_ANY.values()) if seen - TERMINAL else set())
        if more <= seen:
            return seen
        seen |= more


def test_every_state_is_reached_from_opened() -> None:
    assert reachable({State.OPENED}) == set(State)


@pytest.mark.parametrize("state", [state for state in State if state not in TERMINAL])
def test_every_state_that_is_not_terminal_leads_to_an_end(state: State) -> None:
    assert reachable({state}) & TERMINAL


def test_no_row_leaves_a_terminal_state() -> None:
    assert not [row for row in TABLE if row.state in TERMINAL]


def test_no_two_rows_answer_the_same_event_in_the_same_state() -> None:
    pairs = [(row.state, row.event) for row in TABLE]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_a_closed_incident_takes_notes_late_alerts_late_results_and_what_was_begun_from_it_only(state: State) -> None:
    assert {kind for kind in KINDS if allowed(state, kind)} == lifecycle.ANYWHERE | lifecycle.AFTER_END
    assert all(after(state, kind) is state for kind in KINDS)


@pytest.mark.parametrize("state", [state for state in State if state not in TERMINAL])
def test_nothing_is_begun_from_an_incident_that_has_not_ended(state: State) -> None:
    assert not [kind for kind in lifecycle.AFTER_END if allowed(state, kind)]


def test_an_event_that_moves_is_allowed_where_it_moves() -> None:
    assert all(allowed(row.state, row.event) for row in TABLE)


def test_only_approval_or_clearance_leads_to_executing() -> None:
    assert {row.event for row in TABLE if row.to is State.EXECUTING} == {"approved", "cleared"}


def test_intents_are_allowed_only_while_executing_or_undoing() -> None:
    assert {state for state in State if allowed(state, "intent")} == {State.EXECUTING, State.UNDOING}


def test_every_kind_of_event_has_its_place_in_the_table() -> None:
    journalled = {member.model_fields["kind"].default for member in get_args(get_args(ev.Event)[0])}
    placed = {kind.partition(":")[0] for kind in KINDS}
    assert journalled - placed == set()


def test_the_verdict_is_part_of_the_word_that_the_table_reads() -> None:
    verified = ev.Verified(
        verdict=Verdict.WORSE, severity=Severity(desired=3, ready=1), detail="fewer are ready than before"
    )
    assert event_name(verified) == "verified:worse"


def test_the_diagram_shows_every_row() -> None:
    drawn = diagram()
    assert all(f"{row.state} --> {row.to}: {row.event}" in drawn for row in TABLE)
