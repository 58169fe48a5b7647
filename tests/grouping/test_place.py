"""Which incident an alert belongs to once one has ended: never with nobody, and never twice with somebody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from handrail.core.grouping import Closed, Known, Place, incident_id, place
from handrail.model.alert import Alert
from handrail.model.arrival import Arrival, Fate
from handrail.model.events import Follows
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.incident import State
from handrail.model.reason import Reason

ENDED = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)
BEFORE = ENDED - timedelta(minutes=5)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def arrival(starts_at: datetime | None, *, seen_at: datetime, status: str = "firing") -> Arrival:
    alert = Alert.model_validate(
        {"name": "A", "status": status, "labels": {}, "starts_at": starts_at, "seen_at": seen_at, "wire": "test"}
    )
    finding = Finding(detector="t", cause=Cause.OTHER, handling=Handling.DIAGNOSE, target=None, summary="s")
    return Arrival(alert=alert, target=None, findings=(finding,), identity="i", episode=f"e{starts_at}")


def placed(
    after: timedelta,
    state: State = State.RESOLVED,
    *,
    reason: Reason | None = None,
    starts_at: datetime | None = BEFORE,
    same_episode: bool = True,
    status: str = "firing",
    taken_in: timedelta | None = None,
) -> Place:
    """What becomes of an alert that is seen so long after the end of inc-1, and taken in then or later."""
    closed = Closed(incident="inc-1", state=state, reason=reason, at=ENDED, same_episode=same_episode)
    now = ENDED + (taken_in or after)
    known = Known(
        closed=closed, generation=1 if same_episode else 0, cluster="prod", now=now, max_age=timedelta(minutes=30)
    )
    return place(arrival(starts_at, seen_at=ENDED + after, status=status), known)


def test_a_new_episode_that_began_after_the_end_opens_an_incident_however_soon() -> None:
    fresh = placed(2 * MINUTE, starts_at=ENDED + MINUTE, same_episode=False)
    assert (fresh.fate, fresh.follows) == (Fate.OPENED, None)


def test_what_began_before_the_end_and_fires_on_is_a_note_on_the_closed_incident() -> None:
    assert placed(2 * MINUTE, same_episode=False).fate is Fate.ATTACHED


def test_an_alert_without_a_beginning_is_an_echo_for_a_quarter_of_an_hour() -> None:
    assert placed(14 * MINUTE, starts_at=None, same_episode=False).fate is Fate.ATTACHED
    assert placed(16 * MINUTE, starts_at=None, same_episode=False).fate is Fate.OPENED


@pytest.mark.parametrize("after", [SECOND, 5 * MINUTE, 4 * HOUR])
@pytest.mark.parametrize("reason", [Reason.RESOLVED_BY_ITSELF, Reason.NOTHING_WRONG, Reason.MERGED, None])
@pytest.mark.parametrize("same_episode", [True, False])
def test_what_fires_after_it_was_closed_as_noise_is_never_only_noted_there(
    after: timedelta, reason: Reason | None, same_episode: bool
) -> None:
    found = placed(after, State.SUPPRESSED, reason=reason, same_episode=same_episode)
    assert found.fate is Fate.OPENED
    assert found.incident != "inc-1"


def test_a_false_resolve_taken_back_opens_the_next_generation_which_says_what_it_follows() -> None:
    again = placed(4 * HOUR, State.SUPPRESSED, reason=Reason.RESOLVED_BY_ITSELF)
    assert again.follows == Follows(incident="inc-1", ended="SUPPRESSED", echo=False)
    assert again.incident == incident_id(arrival(BEFORE, seen_at=ENDED), "prod", 1)


@pytest.mark.parametrize(
    ("after", "reason", "echo"),
    [
        (2 * SECOND, Reason.RESOLVED_BY_ITSELF, True),
        (16 * MINUTE, Reason.RESOLVED_BY_ITSELF, False),
        (2 * SECOND, Reason.NOTHING_WRONG, False),
    ],
)
def test_only_what_comes_shortly_after_a_resolved_alert_may_be_an_echo(
    after: timedelta, reason: Reason, echo: bool
) -> None:
    follows = placed(after, State.SUPPRESSED, reason=reason).follows
    assert follows is not None
    assert follows.echo is echo


def test_a_repaired_thing_that_fires_on_is_a_note_until_the_cool_down_is_over_then_a_linked_incident() -> None:
    assert placed(14 * MINUTE).incident == "inc-1"
    still = placed(15 * MINUTE)
    assert (still.fate, still.follows) == (Fate.OPENED, Follows(incident="inc-1", ended="RESOLVED"))


@pytest.mark.parametrize("after", [SECOND, HOUR, 100 * HOUR])
def test_what_a_person_has_stays_with_that_person(after: timedelta) -> None:
    assert placed(after, State.HANDED_OVER).incident == "inc-1"


@pytest.mark.parametrize("state", [State.RESOLVED, State.SUPPRESSED, State.HANDED_OVER])
def test_what_was_seen_before_the_end_is_a_note_however_late_it_is_taken_in(state: State) -> None:
    late = placed(-SECOND, state, taken_in=20 * MINUTE)
    assert (late.fate, late.incident) == (Fate.ATTACHED, "inc-1")


@pytest.mark.parametrize("state", [State.RESOLVED, State.SUPPRESSED, State.HANDED_OVER])
def test_a_resolved_alert_and_one_of_an_old_record_stay_in_the_story_and_open_nothing(state: State) -> None:
    assert placed(HOUR, state, status="resolved").incident == "inc-1"
    assert placed(HOUR, state, taken_in=5 * HOUR).incident == "inc-1"


def test_the_first_generation_has_the_id_that_it_always_had() -> None:
    first = incident_id(arrival(BEFORE, seen_at=ENDED), "prod")
    assert first == incident_id(arrival(BEFORE, seen_at=ENDED), "prod", 0) == "inc-4tp5bpntkq"
    assert len({incident_id(arrival(BEFORE, seen_at=ENDED), "prod", n) for n in range(50)}) == 50
