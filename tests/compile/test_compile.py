from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.compile import compile_plan
from handrail.core.menu import Considered, build_menu
from handrail.model.errors import Bug
from handrail.model.menu import Menu, Option
from handrail.model.plan import Choice
from handrail.model.reason import Refusal
from handrail.model.saga import Saga
from handrail.model.step import Risk, Seen
from handrail_remediations import catalogue
from tests.compile.worlds import NOW, TARGET, chosen, incident, policy, proposal
from tests.remediations.workloads import bad_rollout, steady

STEPS = catalogue()


def option(id_: str, step: str, **more: Any) -> Option:
    values = {
        "id": id_,
        "step": step,
        "risk": STEPS[step].risk,
        "target": TARGET,
        "params": {},
        "summary": f"do {step}",
    }
    return Option(**{**values, **more})


MENU = Menu(
    options=(
        option("o1", "rollout_undo", params={"to_revision": 3}),
        option("o2", "rollout_undo", params={"to_revision": 4}),
        option("o3", "rollout_restart"),
        option("o4", "scale_workload", ranges={"replicas": (4, 6)}),
    )
)


def compiled(*choices: Choice, menu: Menu = MENU, **more: Any) -> Saga | Refusal:
    return compile_plan(incident(menu, proposal(*choices), **more), STEPS, NOW)


def reason(*choices: Choice, menu: Menu = MENU, **more: Any) -> str:
    result = compiled(*choices, menu=menu, **more)
    return result.reason if isinstance(result, Refusal) else ""


def test_a_plan_becomes_a_saga_in_its_own_order_with_complete_parameters() -> None:
    saga = compiled(chosen("o4", replicas=5), chosen("o2"))
    assert isinstance(saga, Saga)
    assert (saga.incident, saga.round, saga.at) == ("inc-abcdefghij", 2, NOW)
    assert [(s.index, s.step, s.params) for s in saga.steps] == [
        (0, "scale_workload", {"replicas": 5}),
        (1, "rollout_undo", {"to_revision": 4}),
    ]
    assert saga.steps[0].summary == "do scale_workload (replicas = 5)"
    assert saga.steps[1].risk is Risk.DISRUPTIVE


def test_the_same_plan_at_the_same_time_has_the_same_hash_and_another_time_another() -> None:
    one, again = compiled(chosen("o3")), compiled(chosen("o3"))
    later = compile_plan(incident(MENU, proposal(chosen("o3"))), STEPS, NOW + timedelta(seconds=5))
    assert isinstance(one, Saga)
    assert isinstance(again, Saga)
    assert isinstance(later, Saga)
    assert one.hash == again.hash != later.hash


def test_a_time_that_will_be_written_is_fixed_now_in_whole_seconds() -> None:
    saga = compiled(chosen("o3"))
    assert isinstance(saga, Saga)
    assert saga.steps[0].params == {"at": "2026-11-29T12:00:30Z"}


def test_a_planner_cannot_choose_that_time() -> None:
    assert reason(chosen("o3", at=1)) == "PARAMETER_OUT_OF_RANGE"
    planted = Menu(options=(option("o1", "rollout_restart", params={"at": "1999-01-01T00:00:00Z"}),))
    saga = compiled(chosen("o1"), menu=planted)
    assert isinstance(saga, Saga)
    assert saga.steps[0].params == {"at": "2026-11-29T12:00:30Z"}


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ((), "NOTHING_OFFERED"),
        ((chosen("o9"),), "OPTION_NOT_OFFERED"),
        ((chosen(""),), "OPTION_NOT_OFFERED"),
        ((chosen("O1"),), "OPTION_NOT_OFFERED"),
        ((chosen("o4"),), "PARAMETER_OUT_OF_RANGE"),
        ((chosen("o4", replicas=3),), "PARAMETER_OUT_OF_RANGE"),
        ((chosen("o4", replicas=7),), "PARAMETER_OUT_OF_RANGE"),
        ((chosen("o4", replicas=5, force=1),), "PARAMETER_OUT_OF_RANGE"),
        ((chosen("o1", to_revision=4),), "PARAMETER_OUT_OF_RANGE"),
        ((chosen("o1"), chosen("o1")), "CONFLICTING_STEPS"),
        ((chosen("o1"), chosen("o2")), "CONFLICTING_STEPS"),
        ((chosen("o1"), chosen("o3")), "CONFLICTING_STEPS"),
        ((chosen("o3"), chosen("o4", replicas=4), chosen("o1")), "CONFLICTING_STEPS"),
        ((chosen("o4", replicas=4), chosen("o4", replicas=5)), "CONFLICTING_STEPS"),
        ((chosen("o1"),) * 4, "OUT_OF_BOUNDS"),
        ((chosen("o4", replicas=4), chosen("o1")), ""),
    ],
)
def test_a_plan_is_refused_for_what_is_wrong_with_it(choices: tuple[Choice, ...], why: str) -> None:
    assert reason(*choices) == why


def test_an_option_for_another_object_than_the_incidents_is_refused() -> None:
    other = Menu(options=(option("o1", "rollout_restart", target=TARGET.model_copy(update={"uid": "dep-2"})),))
    assert reason(chosen("o1"), menu=other) == "OPTION_NOT_OFFERED"
    assert reason(chosen("o1"), target=None) == "OPTION_NOT_OFFERED"
    unknown = TARGET.model_copy(update={"uid": ""})
    nameless = Menu(options=(option("o1", "rollout_restart", target=unknown),))
    assert reason(chosen("o1"), menu=nameless, target=unknown) == "OPTION_NOT_OFFERED"


def test_a_menu_that_this_build_no_longer_stands_by_is_refused() -> None:
    gone = Menu(options=(option("o1", "rollout_undo").model_copy(update={"step": "force_delete"}),))
    assert reason(chosen("o1"), menu=gone) == "OPTION_NOT_OFFERED"
    milder = Menu(options=(option("o1", "rollout_restart", risk=Risk.SAFE),))
    assert reason(chosen("o1"), menu=milder) == "UNSUPPORTED_KIND"
    kind = TARGET.model_copy(update={"kind": "Job"})
    job = Menu(options=(option("o1", "rollout_restart", target=kind),))
    assert reason(chosen("o1"), menu=job, target=kind) == "UNSUPPORTED_KIND"


def test_parameters_that_the_step_does_not_accept_are_refused() -> None:
    odd = Menu(options=(option("o1", "rollout_undo", params={"to_revision": 0}),))
    assert reason(chosen("o1"), menu=odd) == "PARAMETER_OUT_OF_RANGE"
    more = Menu(options=(option("o1", "rollout_undo", params={"to_revision": 3, "force": True}),))
    assert reason(chosen("o1"), menu=more) == "PARAMETER_OUT_OF_RANGE"


def test_compiling_without_a_menu_or_a_proposal_is_a_bug() -> None:
    for broken in (incident(None, proposal(chosen("o1"))), incident(MENU, None)):
        with pytest.raises(Bug):
            compile_plan(broken, STEPS, NOW)


@given(
    st.lists(
        st.builds(
            Choice,
            option=st.sampled_from(["o1", "o2", "o3", "o4", "o5", "x"]),
            params=st.dictionaries(
                st.sampled_from(["replicas", "at", "to_revision"]), st.integers(-5, 105), max_size=2
            ),
        ),
        max_size=5,
    )
)
def test_whatever_is_proposed_a_saga_holds_only_what_the_menu_offers_and_every_step_accepts(
    choices: list[Choice],
) -> None:
    for world in (bad_rollout(), steady()):
        seen = Seen(workload=world)
        menu = build_menu(Considered(TARGET, dict.fromkeys(STEPS, seen), NOW), STEPS, policy(), "handrail")
        saga = compile_plan(incident(menu, proposal(*choices)), STEPS, NOW)
        if isinstance(saga, Refusal):
            continue
        assert 1 <= len(saga.steps) <= 3
        for step in saga.steps:
            params = STEPS[step.step].Params.model_validate(step.params)
            assert step.target == TARGET
            assert STEPS[step.step].check(seen, params) is None
