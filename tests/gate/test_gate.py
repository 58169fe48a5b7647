"""The gate: one test for each refusal, from facts that differ from a passing case in one thing alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from handrail.core.allow import beyond_limits
from handrail.core.gate import GateFacts, judge
from handrail.model.approval import Approvers
from handrail.model.incident import State
from handrail.model.policy import Mode, Policy, PolicyRule
from handrail.model.reason import Reason
from handrail.model.step import Risk
from handrail.model.switch import Stop, Switch
from handrail.model.write import Direction, Write
from tests.gate.facts import facts_of
from tests.saga.world import ONCALL, PureWorld, policy, write


@pytest.fixture
def facts() -> GateFacts:
    """An approved incident, about to commit its first intent: this passes."""
    answers = {"people": "nothing"}
    world = PureWorld(lambda what, options: answers.get(what, options[0]))
    while world.incident.state is not State.EXECUTING:
        answers["people"] = "approve" if world.incident.state is State.ASKING else "nothing"
        world.people() if world.incident.state is State.ASKING else world.tick()
    return facts_of(world.incident, now=world.now)


def first(facts: GateFacts) -> Write:
    assert facts.incident.saga is not None
    return write(facts.incident.saga, 0)


def reason(facts: GateFacts, by: Policy | None = None, planned: Write | None = None) -> Reason | None:
    refusal = judge(facts, by or policy(), "handrail", planned or first(facts), Direction.DO)
    return refusal.reason if refusal else None


def but(facts: GateFacts, **changes: object) -> GateFacts:
    return facts.model_copy(update=changes)


def of(facts: GateFacts, **changes: object) -> GateFacts:
    return but(facts, incident=facts.incident.model_copy(update=changes))


def test_exactly_what_was_approved_passes(facts: GateFacts) -> None:
    assert reason(facts) is None


def test_the_stop_switch_refuses_first_of_all(facts: GateFacts) -> None:
    stopped = but(facts, switch=Switch(pressed=(Stop(by="ops", why="freeze"),)), holder_epoch=9)
    assert reason(stopped) is Reason.STOPPED


def test_who_was_struck_off_the_list_after_the_click_has_approved_nothing(facts: GateFacts) -> None:
    without = policy().model_copy(update={"approvers": Approvers(slack_users=("U0SOMEBODY",))})
    assert reason(facts, without) is Reason.NOT_AN_APPROVER


def test_where_a_person_was_asked_their_answer_is_what_counts_whatever_policy_would_let_run(facts: GateFacts) -> None:
    """In a storm, or while silences can't be looked up, a person is asked for what policy lets act by itself."""
    acts = policy(Mode.ACT)
    assert facts.incident.request is not None
    assert reason(facts, acts) is None
    assert (
        reason(but(facts, now=facts.incident.request.expires + timedelta(seconds=1)), acts) is Reason.APPROVAL_EXPIRED
    )
    of_another = facts.incident.request.model_copy(update={"hash": "another"})
    assert reason(of(facts, request=of_another), acts) is Reason.APPROVAL_MISMATCH
    assert reason(of(facts, approved_by=None), acts) is Reason.APPROVAL_MISSING
    without = acts.model_copy(update={"approvers": Approvers(slack_users=("U0SOMEBODY",))})
    assert reason(facts, without) is Reason.NOT_AN_APPROVER


def test_an_incident_that_a_person_has_taken_is_not_touched(facts: GateFacts) -> None:
    assert reason(of(facts, taken_by=ONCALL)) is Reason.TAKEN


def test_a_process_that_was_replaced_writes_nothing(facts: GateFacts) -> None:
    assert reason(but(facts, holder_epoch=2)) is Reason.LEASE_LOST


def test_another_state_than_executing_refuses(facts: GateFacts) -> None:
    assert reason(of(facts, state=State.VERIFYING)) is Reason.STATE_CHANGED


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease", "handrail", "", "monitoring"])
def test_protected_namespaces_are_refused_whatever_the_policy_says(facts: GateFacts, namespace: str) -> None:
    everywhere = PolicyRule(namespaces=("*",), steps={"rollout_undo": Mode.ASK})
    by = Policy(
        version=1,
        rules=(everywhere,),
        protected_namespaces=("monitoring",),
        approvers=Approvers(slack_users=("U0ONCALL",)),
    )
    planned = first(facts)
    moved = planned.model_copy(update={"object": planned.object.model_copy(update={"namespace": namespace})})
    assert reason(facts, by, moved) is Reason.PROTECTED_NAMESPACE


def test_what_no_rule_names_any_more_is_refused_though_it_was_approved(facts: GateFacts) -> None:
    assert reason(facts, Policy(version=1)) is Reason.NOT_ALLOWED


def test_a_policy_that_has_turned_to_observe_refuses_what_was_approved(facts: GateFacts) -> None:
    assert reason(facts, policy(Mode.OBSERVE)) is Reason.OBSERVE_ONLY


def test_without_an_approval_nothing_passes(facts: GateFacts) -> None:
    assert reason(of(facts, approved_by=None)) is Reason.APPROVAL_MISSING


def test_a_clearance_by_policy_is_no_approval_of_a_disruptive_step(facts: GateFacts) -> None:
    rehearsal = facts.incident.rehearsal
    assert rehearsal is not None
    cleared = of(facts, approved_by=None, request=None, cleared_hash=rehearsal.hash)
    assert reason(cleared, policy(Mode.ACT)) is Reason.APPROVAL_MISSING


def test_an_approval_of_another_rehearsal_is_refused(facts: GateFacts) -> None:
    request = facts.incident.request
    assert request is not None
    assert reason(of(facts, request=request.model_copy(update={"hash": "other"}))) is Reason.APPROVAL_MISMATCH


def test_a_saga_that_was_never_rehearsed_is_refused(facts: GateFacts) -> None:
    assert reason(of(facts, rehearsal=None)) is Reason.APPROVAL_MISMATCH


def test_a_write_that_was_not_on_the_card_is_refused(facts: GateFacts) -> None:
    other = first(facts).model_copy(update={"ops": ({"op": "remove", "path": "/spec"},)})
    assert reason(facts, planned=other) is Reason.APPROVAL_MISMATCH


def test_an_approval_that_is_used_too_late_is_refused(facts: GateFacts) -> None:
    request = facts.incident.request
    assert request is not None
    assert reason(but(facts, now=request.expires + timedelta(seconds=1))) is Reason.APPROVAL_EXPIRED


def test_later_writes_end_with_the_time_to_run(facts: GateFacts) -> None:
    run_until = facts.incident.run_until
    assert run_until is not None
    begun = of(
        facts, request=facts.incident.request and facts.incident.request.model_copy(update={"expires": run_until})
    )
    assert reason(but(begun, now=run_until + timedelta(seconds=1))) in (Reason.RUN_EXPIRED, Reason.APPROVAL_EXPIRED)


def test_a_second_saga_on_the_same_target_within_thirty_minutes_is_refused(facts: GateFacts) -> None:
    recent = but(facts, last_saga_at=facts.now - timedelta(minutes=29))
    assert reason(recent) is Reason.TARGET_COOLING_DOWN
    assert reason(but(facts, last_saga_at=facts.now - timedelta(minutes=31))) is None


def test_a_target_that_another_incident_works_on_is_refused(facts: GateFacts) -> None:
    assert reason(but(facts, busy_with="inc-2")) is Reason.TARGET_BUSY


def test_a_policy_that_lets_a_reversible_step_act_needs_the_clearance_of_this_rehearsal() -> None:
    def choose(what: str, options: Sequence[str]) -> str:
        return "nothing" if what == "people" else options[0]

    world = PureWorld(choose, mode=Mode.ACT, risk=Risk.REVERSIBLE)
    while world.incident.state is not State.EXECUTING:
        world.tick()
    saga = world.incident.saga
    assert saga is not None
    assert world.gate(write(saga, 0), Direction.DO) is None
    world.incident = world.incident.model_copy(update={"cleared_hash": "other"})
    refusal = world.gate(write(saga, 0), Direction.DO)
    assert refusal is not None
    assert refusal.reason is Reason.APPROVAL_MISMATCH


def test_numbers_that_policy_no_longer_allows_are_refused_whoever_approved(facts: GateFacts) -> None:
    """Policy as it is now: narrowed after somebody approved, or naming a parameter that the step does not have."""
    assert facts.incident.saga is not None
    (step, *_), (rule, *rest) = facts.incident.saga.steps, policy().rules
    for limits in (dict.fromkeys(step.params, (0, -1)), {"no_such_parameter": (1, 5)}):
        narrowed = rule.model_copy(update={"limits": {step.step: limits}})
        now = policy().model_copy(update={"rules": (narrowed, *rest)})
        assert reason(facts, now) in ((Reason.OUT_OF_BOUNDS,) if limits else (None,))


def test_a_number_that_the_step_leaves_alone_needs_no_leave(facts: GateFacts) -> None:
    """An optional number that is not set changes nothing, whatever the policy allows for it."""
    assert facts.incident.saga is not None
    (step, *_), (rule, *rest) = facts.incident.saga.steps, policy().rules
    bounded = rule.model_copy(update={"limits": {step.step: {"at_least": (1, 5)}}})
    now = policy().model_copy(update={"rules": (bounded, *rest)})
    alone = step.model_copy(update={"params": {**step.params, "at_least": None}})
    assert beyond_limits(now, alone) is None
    assert beyond_limits(now, step) is not None, "missing altogether, it is refused"
