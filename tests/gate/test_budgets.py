"""Budgets: how many runs may begin, when one may again, and what is no run of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core import budgets
from handrail.core.asking import not_yet
from handrail.core.budgets import Begun, Spent
from handrail.core.gate import GateFacts, Recent, Rules, foresee, foreseen_end, judge
from handrail.model import events as ev
from handrail.model.budgets import Budgets
from handrail.model.incident import Incident, State
from handrail.model.policy import Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Risk
from handrail.model.taking_back import TakeBack
from handrail.model.write import Direction
from tests.factories import NOW, a_policy, a_rehearsal, a_saga, a_target, a_write, an_incident_in
from tests.gate.facts import facts_of, most_within

HERE = frozenset({"uid-checkout"})


def run(minutes_ago: float, *, here: bool = False, risk: Risk | None = Risk.REVERSIBLE, incident: str = "x") -> Begun:
    return Begun(
        at=NOW - timedelta(minutes=minutes_ago),
        incident=f"{incident}-{minutes_ago}",
        round=1,
        risk=risk,
        uids=HERE if here else frozenset(),
    )


def with_budgets(**given_: Any) -> Policy:
    return a_policy().model_copy(update={"budgets": Budgets.model_validate(given_)})


def facts(spent: Spent, state: State = State.EXECUTING, **changes: Any) -> GateFacts:
    incident = an_incident_in(state).model_copy(update=changes)
    return facts_of(incident, spent=spent)


def says(seen: GateFacts, policy: Policy | None = None, direction: Direction = Direction.DO) -> Refusal | None:
    assert seen.incident.saga is not None
    write = a_write(seen.incident.saga, direction)
    return judge(seen, policy or a_policy(), "handrail", write, direction)


def test_by_default_three_runs_on_an_object_in_a_day_ten_in_an_hour_and_three_at_once() -> None:
    found = Budgets()
    assert (found.per_target.most, found.per_target.minutes) == (3, 24 * 60)
    assert (found.per_cluster.most, found.per_cluster.minutes) == (10, 60)
    assert {risk: one.most if (one := found.per_risk.of(risk)) else None for risk in Risk} == {
        Risk.SAFE: None,
        Risk.REVERSIBLE: None,
        Risk.DISRUPTIVE: 6,
        Risk.DANGEROUS: 1,
    }
    assert found.at_once == 3


def test_the_fourth_run_on_an_object_within_a_day_is_refused_and_says_when_the_next_may_begin() -> None:
    before = tuple(run(hours * 60, here=True) for hours in (23, 10, 5))
    no = says(facts(Spent(begun=before)))
    assert no == Refusal(
        reason=Reason.BUDGET_SPENT,
        detail="3 runs on Deployment shop/checkout within 1 d is the budget (per_target), and spent;"
        " the next may begin at 2026-11-03 04:00 UTC, or a person acts",
    )
    assert says(facts(Spent(begun=before[1:]))) is None
    assert says(facts(Spent(begun=(run(24 * 60, here=True), *before[1:])))) is None


def test_the_eleventh_run_in_the_cluster_within_an_hour_is_refused() -> None:
    before = tuple(run(minutes) for minutes in range(10, 60, 5))
    no = says(facts(Spent(begun=before)))
    assert no is not None
    assert no.reason is Reason.BUDGET_SPENT
    assert "10 runs in the cluster within 1 h is the budget (per_cluster)" in no.detail
    assert "2026-11-03 03:05 UTC" in no.detail
    assert says(facts(Spent(begun=before[1:]))) is None


def test_a_class_has_a_budget_of_its_own_and_what_nobody_can_read_counts_to_every_class() -> None:
    disruptive = tuple(run(minutes, risk=Risk.DISRUPTIVE) for minutes in range(6))
    no = says(facts(Spent(begun=disruptive)))
    assert no is not None
    assert "6 runs of disruptive steps within 1 h is the budget (per_risk.disruptive)" in no.detail
    reversible = tuple(run(minutes) for minutes in range(6))
    assert says(facts(Spent(begun=reversible))) is None
    unread = tuple(run(minutes, risk=None) for minutes in range(6))
    assert says(facts(Spent(begun=unread))) is not None
    unbounded = with_budgets(per_risk={"disruptive": None})
    assert says(facts(Spent(begun=disruptive)), unbounded) is None


def test_of_several_budgets_that_are_spent_the_last_to_be_free_again_is_named() -> None:
    before = (*(run(minutes) for minutes in range(10)), *(run(hours * 60, here=True) for hours in (20, 3, 2)))
    no = says(facts(Spent(begun=before)))
    assert no is not None
    assert "per_target" in no.detail
    assert "2026-11-03 07:00 UTC" in no.detail


def test_a_run_of_a_clock_that_is_ahead_counts() -> None:
    assert says(facts(Spent(begun=tuple(run(-minutes) for minutes in range(10))))) is not None


def full() -> Spent:
    return Spent(begun=tuple(run(minutes, here=True) for minutes in range(10)), at_work=("a", "b", "c"))


def test_no_undo_is_ever_refused_by_a_budget() -> None:
    assert says(facts(full(), State.UNDOING), direction=Direction.UNDO) is None


def test_a_whole_run_that_a_person_wants_taken_back_is_not_either() -> None:
    back = TakeBack(
        step="rollout_undo", risk="disruptive", target=a_target(), params={}, summary="x", before={}, after={}
    )
    assert says(facts(full(), taking_back=(back,))) is None


def test_later_writes_and_further_attempts_of_a_run_that_has_begun_are_not_counted_again() -> None:
    begun = an_incident_in(State.VERIFYING)
    seen = facts(full(), writes=begun.writes)
    assert seen.incident.has_acted
    assert says(seen) is None


def test_so_many_incidents_are_at_work_at_once_and_the_next_one_is_told_who_they_are() -> None:
    no = says(facts(Spent(at_work=("inc-2", "inc-3", "inc-4"))))
    assert no is not None
    assert no.reason is Reason.HANDS_BUSY
    assert no.detail == "3 incidents at once may write (at_once), and inc-2, inc-3, inc-4 still do"
    assert says(facts(Spent(at_work=("inc-2", "inc-3")))) is None


# before anybody is asked


def foreseen(spent: Spent) -> tuple[Incident, Refusal | None, datetime | None]:
    incident = an_incident_in(State.REHEARSING)
    rehearsal = a_rehearsal(a_saga(incident.id))
    incident = incident.model_copy(update={"rehearsal": rehearsal})
    rules = Rules(policy=a_policy(), own_namespace="handrail", now=NOW)
    refusal = foresee(incident, [one.write for one in rehearsal.writes], Recent(), rules, spent)
    return incident, refusal, foreseen_end(refusal, incident, Recent(), rules, spent) if refusal else None


@pytest.mark.parametrize(("ago", "waits"), [(50, True), (40, False)])
def test_nobody_is_asked_for_what_no_budget_is_left_for(ago: int, waits: bool) -> None:
    before = tuple(run(ago - number) for number in range(10))
    incident, refusal, until = foreseen(Spent(begun=before))
    assert refusal is not None
    assert until == NOW + timedelta(minutes=60 - ago)
    after = not_yet(refusal, incident, until, NOW)
    assert isinstance(after, ev.Waiting if waits else ev.HandedOver)


def test_that_others_are_at_work_keeps_no_question_back() -> None:
    """It passes in minutes; an approval waits for its turn."""
    assert foreseen(Spent(at_work=("a", "b", "c")))[1] is None


# whatever history

MOMENTS = st.lists(st.tuples(st.integers(0, 240), st.booleans(), st.sampled_from(Risk)), max_size=60)


@given(MOMENTS, st.integers(1, 4), st.integers(1, 5), st.integers(5, 90), st.integers(5, 90))
def test_whatever_is_wanted_no_window_ever_holds_more_runs_than_its_budget(
    wanted: list[tuple[int, bool, Risk]], on_target: int, in_cluster: int, target_minutes: int, cluster_minutes: int
) -> None:
    policy = with_budgets(
        per_target={"most": on_target, "minutes": target_minutes},
        per_cluster={"most": in_cluster, "minutes": cluster_minutes},
        per_risk={"disruptive": {"most": 2, "minutes": 30}},
    )
    begun = let_through(wanted, policy)
    here = [one.at for one in begun if one.uids]
    assert most_within(here, target_minutes) <= on_target
    assert most_within((one.at for one in begun), cluster_minutes) <= in_cluster
    assert most_within((one.at for one in begun if one.risk is Risk.DISRUPTIVE), 30) <= 2


def let_through(wanted: list[tuple[int, bool, Risk]], policy: Policy) -> list[Begun]:
    """As the gate's transactions do it one after the other; what was refused is tried when it is said to be free."""
    begun: list[Begun] = []
    for number, (minute, here, risk) in enumerate(sorted(wanted)):
        now = NOW + timedelta(minutes=minute)
        spent = Spent(begun=tuple(begun))
        incident = one_that_wants(here, risk)
        if budgets.none_left(spent, policy.budgets, incident, now) is None:
            begun.append(
                Begun(
                    at=now, incident=str(number), round=1, risk=risk, uids=HERE if here else frozenset({"other"}) - HERE
                )
            )
            continue
        free = budgets.free_from(spent, policy.budgets, incident, now)
        assert free is not None
        assert free > now
        assert budgets.none_left(spent, policy.budgets, incident, free) is None
    return [one.model_copy(update={"uids": one.uids & HERE}) for one in begun]


def one_that_wants(here: bool, risk: Risk) -> Incident:
    target = a_target() if here else a_target("other", "uid-other")
    saga = a_saga("inc-1", target)
    saga = saga.model_copy(update={"steps": (saga.steps[0].model_copy(update={"risk": risk}),)})
    return an_incident_in(State.EXECUTING, target=target).model_copy(
        update={"saga": saga, "rehearsal": a_rehearsal(saga)}
    )
