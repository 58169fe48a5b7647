"""What stops every write: which findings raise it, for how long, and what the gate and the card say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from handrail.core.card import card
from handrail.core.conditions import LOOK_AGAIN, SEEN, TOLD, raised, refused
from handrail.core.fold import apply
from handrail.core.gate import Recent, Rules, foresee, foreseen_end, judge
from handrail.model import events as ev
from handrail.model.condition import Condition
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.incident import State
from handrail.model.reason import Reason, Refusal
from handrail.model.write import Direction
from tests.factories import NOW, a_policy, a_rehearsal, a_saga, an_incident_in
from tests.gate.facts import facts_of


def finding(cause: Cause = Cause.CONTROL_PLANE_SICK, severity: str = "critical") -> Finding:
    return Finding(
        detector="test", cause=cause, handling=Handling.DIAGNOSE, target=None, severity=severity, summary="it is ill"
    )


def condition(reason: Reason = Reason.CONTROL_PLANE_SICK, *, began: float = 5, lasts: float = 60) -> Condition:
    since, until = NOW - timedelta(minutes=began), NOW + timedelta(minutes=lasts)
    return Condition(identity=f"of {reason}", reason=reason, what="KubeAPIDown: it is ill", since=since, until=until)


@pytest.mark.parametrize("state", [State.EXECUTING, State.UNDOING])
@pytest.mark.parametrize("reason", [Reason.CONTROL_PLANE_SICK, Reason.MONITORING_GONE])
def test_the_gate_refuses_every_write_while_a_condition_stands(state: State, reason: Reason) -> None:
    incident = an_incident_in(state)
    assert incident.saga is not None
    direction = Direction.DO if state is State.EXECUTING else Direction.UNDO
    write = a_rehearsal(incident.saga).writes[0].write
    facts = facts_of(incident, conditions=(condition(reason),))
    no = judge(facts, a_policy(), "handrail", write, direction)
    assert no == Refusal(reason=reason, detail="KubeAPIDown: it is ill, since 02:55:00 UTC")
    assert judge(facts.model_copy(update={"conditions": ()}), a_policy(), "handrail", write, direction) != no


def test_what_stood_longest_is_named_and_what_is_over_is_not() -> None:
    both = (condition(Reason.MONITORING_GONE, began=2), condition(began=9), condition(began=30, lasts=0))
    no = refused(both, NOW)
    assert no is not None
    assert (no.reason, no.detail.endswith("02:51:00 UTC (and 1 more)")) == (Reason.CONTROL_PLANE_SICK, True)
    assert refused((condition(lasts=-1),), NOW) is None
    assert refused((), NOW) is None


def test_only_what_is_critical_about_the_control_plane_or_monitoring_itself_stops() -> None:
    assert raised("x", (finding(severity="warning"),), NOW, TOLD) is None
    assert raised("x", (finding(Cause.CRASH_LOOP), finding(Cause.SIGNAL_GONE)), NOW, TOLD) is None
    found = raised("x", (finding(Cause.CRASH_LOOP), finding(Cause.MONITORING_GONE)), NOW, SEEN)
    assert found == Condition(
        identity="x", reason=Reason.MONITORING_GONE, what="it is ill", since=NOW, until=NOW + SEEN
    )


def test_nobody_is_asked_for_what_a_condition_would_refuse_and_it_is_looked_at_again() -> None:
    incident = an_incident_in(State.REHEARSING)
    writes = [one.write for one in a_rehearsal(a_saga(incident.id)).writes]
    recent = Recent(conditions=(condition(),))
    rules = Rules(policy=a_policy(), own_namespace="handrail", now=NOW)
    no = foresee(incident, writes, recent, rules)
    assert no is not None
    assert no.reason is Reason.CONTROL_PLANE_SICK
    assert foreseen_end(no, incident, recent, rules) == NOW + LOOK_AGAIN
    assert foresee(incident, writes, Recent(), rules) is None


def test_the_card_of_who_is_asked_says_so_until_it_is_over() -> None:
    asking = an_incident_in(State.ASKING)
    said = "An approval now would be refused: CONTROL_PLANE_SICK: KubeAPIDown"
    told = ev.Cautioned(reason=Reason.CONTROL_PLANE_SICK, detail="KubeAPIDown")
    cautioned = apply(asking, entry(told, asking.seq + 1))
    assert said in card(cautioned, NOW).status
    assert card(cautioned, NOW).request == asking.request.id if asking.request else False
    over = apply(cautioned, entry(ev.Cautioned(), cautioned.seq + 1))
    assert "refused" not in card(over, NOW).status
    assert over.model_copy(update={"seq": 0}) == asking.model_copy(update={"seq": 0})


def test_a_new_look_forgets_what_was_said_of_the_old_question() -> None:
    asking = an_incident_in(State.ASKING)
    cautioned = apply(asking, entry(ev.Cautioned(reason=Reason.MONITORING_GONE, detail="x"), asking.seq + 1))
    voided = apply(cautioned, entry(ev.Voided(reason=Reason.DRIFTED, detail="x"), cautioned.seq + 1))
    assert voided.caution is None


def entry(event: ev.Event, seq: int) -> ev.Entry:
    return ev.Entry(incident="inc-1", seq=seq, at=NOW, actor="test", event=event, previous="x", hash="y")
