"""Which incident an alert belongs to, shortly after one has ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from handrail.core.grouping import Known, place
from handrail.model.alert import Alert
from handrail.model.arrival import Arrival, Fate
from handrail.model.finding import Cause, Finding, Handling

ENDED = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)


def arrival(starts_at: datetime | None, *, seen_at: datetime) -> Arrival:
    alert = Alert(name="A", status="firing", labels={}, starts_at=starts_at, seen_at=seen_at, wire="test")
    finding = Finding(detector="t", cause=Cause.OTHER, handling=Handling.DIAGNOSE, target=None, summary="s")
    return Arrival(alert=alert, target=None, findings=(finding,), identity="i", episode=f"e{starts_at}")


def fate(starts_at: datetime | None, after: timedelta, *, same_episode: bool = False) -> Fate:
    now = ENDED + after
    known = Known(
        closed="inc-1",
        closed_at=ENDED,
        closed_same_episode=same_episode,
        cluster="prod",
        now=now,
        max_age=timedelta(minutes=30),
    )
    return place(arrival(starts_at, seen_at=now), known).fate


def test_a_new_episode_that_began_after_the_end_opens_an_incident_however_soon() -> None:
    assert fate(ENDED + timedelta(minutes=1), timedelta(minutes=2)) is Fate.OPENED


def test_what_began_before_the_end_and_fires_on_is_a_note_on_the_closed_incident() -> None:
    assert fate(ENDED - timedelta(minutes=5), timedelta(minutes=2)) is Fate.ATTACHED


def test_an_alert_without_a_beginning_is_an_echo_for_a_quarter_of_an_hour() -> None:
    assert fate(None, timedelta(minutes=14)) is Fate.ATTACHED
    assert fate(None, timedelta(minutes=16)) is Fate.OPENED


def test_the_very_same_episode_opens_nothing_again() -> None:
    assert fate(ENDED - timedelta(hours=1), timedelta(hours=4), same_episode=True) is Fate.ATTACHED
