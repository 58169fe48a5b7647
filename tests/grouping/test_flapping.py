"""The hold-down: what flaps is looked at once it has settled, or after five such times however it goes on."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from handrail.core.flapping import LONGEST, settled_at
from handrail.core.fold import fold
from handrail.core.move import Do, Effect, Idle
from handrail.core.saga import next_move
from handrail.model import events as ev
from handrail.model.incident import Incident
from handrail.model.switch import Switch
from tests.factories import CLUSTER, NOW, a_policy, a_source, an_alert, opened

HOLD = timedelta(seconds=30)


def told(*words: tuple[float, str], workload: str = "checkout", follows: ev.Follows | None = None) -> Incident:
    """Opened by a firing alert, looked at from then on; then each word, so many seconds after the beginning."""
    first = opened().model_copy(update={"follows": follows})
    later = [(at, ev.AlertAttached(alert=an_alert(status=status, workload=workload), source=a_source(9)))
             for at, status in words]  # fmt: skip
    events: list[tuple[float, ev.Event]] = [(0, first), (0, ev.GatheringBegun()), *later]
    entries = [
        ev.Entry(incident="inc-1", seq=seq, at=_after(at), actor="t", event=event, previous=str(seq - 1), hash=str(seq))
        for seq, (at, event) in enumerate(events, start=1)
    ]
    return fold(entries, cluster=CLUSTER)


def _after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_an_alert_that_only_fires_or_that_is_resolved_waits_for_nothing() -> None:
    assert settled_at(told(), HOLD) is None
    assert settled_at(told((1, "firing"), (2, "firing")), HOLD) is None
    assert settled_at(told((1, "resolved")), HOLD) is None


def test_resolved_and_firing_again_is_held_down_from_the_change_on() -> None:
    """alertmanager#4008: the two of a pair contradict each other within a second."""
    assert settled_at(told((5, "resolved"), (6, "firing")), HOLD) == _after(35)


def test_what_flaps_on_is_looked_at_after_five_hold_downs_all_the_same() -> None:
    words = [(n, word) for n in range(10, 1000, 10) for word in ("resolved", "firing")]
    assert settled_at(told(*words), HOLD) == NOW + LONGEST * HOLD


def test_what_another_thing_says_holds_nothing_down() -> None:
    assert settled_at(told((5, "resolved"), (6, "firing"), workload="cart"), HOLD) is None


def test_the_first_word_after_a_close_may_be_the_other_ones_of_a_pair() -> None:
    echo = ev.Follows(incident="inc-0", ended="SUPPRESSED", echo=True)
    assert settled_at(told(follows=echo), HOLD) == NOW + HOLD
    assert settled_at(told(follows=echo.model_copy(update={"echo": False})), HOLD) is None


@pytest.mark.parametrize("seconds", [0, 30, 600])
def test_the_policy_says_how_long_and_nothing_is_looked_at_before(seconds: int) -> None:
    policy = a_policy().model_copy(update={"hold_down_seconds": seconds})
    incident = told((5, "resolved"), (6, "firing"))
    if seconds:
        before = next_move(incident, Switch(), policy, _after(4 + seconds))
        assert isinstance(before, Idle)
        assert "flaps" in before.waiting_for
    after = next_move(incident, Switch(), policy, _after(6 + seconds))
    assert isinstance(after, Do)
    assert after.effect is Effect.GATHER
