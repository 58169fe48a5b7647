"""What an alert that came meanwhile changes: a repeat nothing, all else something."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from handrail.core.changes import only_repeated
from handrail.core.fold import apply
from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.switch import EVERYTHING
from tests.factories import NOW, ONCALL, a_source, an_alert, an_incident_in, entries_of


def after(incident: Incident, *events: ev.Event) -> Incident:
    for number, event in enumerate(events, incident.seq + 1):
        (entry,) = entries_of((event,), incident.id)
        incident = apply(incident, entry.model_copy(update={"seq": number}), cluster=incident.cluster)
    return incident


def heard(**changes: Any) -> ev.AlertAttached:
    alert = an_incident_in(State.GATHERING).alert
    return ev.AlertAttached(alert=alert.model_copy(update=changes), source=a_source())


REPEAT = heard(seen_at=NOW + timedelta(minutes=1), message="another")


def test_repeats_alone_are_only_repeated_however_many() -> None:
    before = an_incident_in(State.GATHERING)
    assert only_repeated(before, before)
    for times in (1, 3, 150):
        assert only_repeated(before, after(before, *[REPEAT] * times))


@pytest.mark.parametrize(
    "event",
    [
        heard(status="resolved"),
        heard(name="KubePodCrashLooping"),
        heard(labels={"namespace": "elsewhere"}),
        heard(starts_at=NOW + timedelta(minutes=5)),
        heard(severity="critical"),
        ev.AlertAttached(alert=an_alert(workload="neighbour"), source=a_source()),
        ev.Taken(by=ONCALL),
        ev.Paused(by="pat", why="freeze", reach=EVERYTHING),
        ev.Cautioned(reason=Reason.FROZEN, detail="a freeze stands"),
        ev.Lapsed(since=NOW),
    ],
    ids=lambda event: f"{event.kind}",
)
def test_whatever_else_came_is_more_than_a_repeat_also_with_one_behind_it(event: ev.Event) -> None:
    before = an_incident_in(State.GATHERING)
    assert not only_repeated(before, after(before, event))
    assert not only_repeated(before, after(before, event, REPEAT))


def test_a_known_word_that_is_another_than_the_last_is_no_repeat() -> None:
    """Firing, resolved, and firing again: what it said last is what changed."""
    before = after(an_incident_in(State.GATHERING), heard(status="resolved"))
    assert not only_repeated(before, after(before, REPEAT))
