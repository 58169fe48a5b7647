"""The order of the gate's questions (design 1.5): what is wrong first in it is named, whatever else is wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from handrail.core.budgets import Begun, Spent
from handrail.core.gate import GateFacts, judge
from handrail.model.approval import Approvers
from handrail.model.condition import Condition
from handrail.model.freeze import Freeze
from handrail.model.incident import State
from handrail.model.policy import Mode, Policy
from handrail.model.reason import Reason
from handrail.model.switch import Stop, Switch
from handrail.model.write import Direction
from tests.factories import NOW, a_policy, a_write, an_incident_in
from tests.gate.facts import facts_of

Case = tuple[GateFacts, Policy]
Wrong = Callable[[GateFacts, Policy], Case]


def facts() -> GateFacts:
    return facts_of(an_incident_in(State.EXECUTING))


def stopped(seen: GateFacts, policy: Policy) -> Case:
    return seen.model_copy(update={"switch": Switch(pressed=(Stop(by="ops", why="freeze"),))}), policy


def replaced(seen: GateFacts, policy: Policy) -> Case:
    return seen.model_copy(update={"holder_epoch": 2}), policy


def protected(seen: GateFacts, policy: Policy) -> Case:
    return seen, policy.model_copy(update={"protected_namespaces": ("shop",)})


def unapproved(seen: GateFacts, policy: Policy) -> Case:
    return seen.model_copy(update={"incident": seen.incident.model_copy(update={"approved_by": None})}), policy


def observed(seen: GateFacts, policy: Policy) -> Case:
    return seen, policy.model_copy(update={"rules": a_policy(Mode.OBSERVE).rules})


def struck_off(seen: GateFacts, policy: Policy) -> Case:
    return seen, policy.model_copy(update={"approvers": Approvers(slack_users=("U0SOMEBODY",))})


def frozen(seen: GateFacts, policy: Policy) -> Case:
    window = {"from": NOW - timedelta(hours=1), "until": NOW + timedelta(hours=1)}
    return seen, policy.model_copy(update={"freezes": (Freeze.model_validate({"name": "a", "reason": "b", **window}),)})


def spent(seen: GateFacts, policy: Policy) -> Case:
    runs = tuple(Begun(at=NOW, incident=f"inc-{number}", round=1) for number in range(10))
    return seen.model_copy(update={"spent": seen.spent.model_copy(update={"begun": runs})}), policy


def busy(seen: GateFacts, policy: Policy) -> Case:
    return seen.model_copy(update={"spent": Spent(begun=seen.spent.begun, at_work=("a", "b", "c"))}), policy


def ill(seen: GateFacts, policy: Policy) -> Case:
    one = Condition(
        identity="x", reason=Reason.CONTROL_PLANE_SICK, what="ill", since=NOW, until=NOW + timedelta(hours=1)
    )
    return seen.model_copy(update={"conditions": (one,)}), policy


def another(seen: GateFacts, policy: Policy) -> Case:
    return seen.model_copy(update={"busy_with": "inc-2"}), policy


ORDER: tuple[tuple[Wrong, Reason], ...] = (
    (stopped, Reason.STOPPED),
    (replaced, Reason.LEASE_LOST),
    (protected, Reason.PROTECTED_NAMESPACE),
    (unapproved, Reason.APPROVAL_MISSING),
    (observed, Reason.OBSERVE_ONLY),
    (struck_off, Reason.NOT_AN_APPROVER),
    (frozen, Reason.FROZEN),
    (spent, Reason.BUDGET_SPENT),
    (busy, Reason.HANDS_BUSY),
    (ill, Reason.CONTROL_PLANE_SICK),
    (another, Reason.TARGET_BUSY),
)


def named(wrongs: tuple[tuple[Wrong, Reason], ...]) -> Reason | None:
    seen, policy = facts(), a_policy()
    for wrong, _ in wrongs:
        seen, policy = wrong(seen, policy)
    assert seen.incident.saga is not None
    no = judge(seen, policy, "handrail", a_write(seen.incident.saga), Direction.DO)
    return no.reason if no else None


def test_with_nothing_wrong_it_passes() -> None:
    assert named(()) is None


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[str(reason) for _, reason in ORDER])
def test_the_first_of_the_order_is_named_alone_and_with_all_that_come_after_it(first: int) -> None:
    assert named(ORDER[first : first + 1]) is ORDER[first][1]
    assert named(ORDER[first:]) is ORDER[first][1]
