from __future__ import annotations

from typing import Any

import pytest

from handrail.core.allow import never_written
from handrail.core.menu import MOST_OPTIONS, Considered, build_menu, to_look_for
from handrail.model.errors import Bug
from handrail.model.menu import Menu
from handrail.model.policy import Mode, Policy, PolicyRule
from handrail.model.step import Candidate, Seen, SeenNode
from handrail.model.target import ObjectRef
from handrail.model.workload import Workload
from handrail_remediations import catalogue
from tests.compile.worlds import NOW, TARGET, policy
from tests.remediations.workloads import bad_rollout, sick_node, steady, with_meta

KNOWN = ("rollout_restart", "rollout_undo", "scale_workload")
STEPS = {name: step for name, step in catalogue().items() if name in KNOWN}


def menu_of(workload: Workload | None, allows: Policy | None = None, own: str = "handrail") -> Menu:
    seen = None if workload is None else Seen(workload=workload)
    considered = Considered(TARGET, dict.fromkeys(STEPS, seen), NOW)
    return build_menu(considered, STEPS, allows or policy(), own)


def reasons(menu: Menu) -> dict[str, str]:
    return {no.step: no.reason for no in menu.not_offered}


def test_a_bad_rollout_offers_the_undo_and_says_why_not_the_restart() -> None:
    menu = menu_of(bad_rollout())
    assert [(option.id, option.step) for option in menu.options] == [("o1", "rollout_undo"), ("o2", "scale_workload")]
    assert menu.options[0].params == {"to_revision": 1}
    assert menu.options[1].ranges == {"replicas": (4, 6)}
    assert reasons(menu) == {"rollout_restart": "ROLLOUT_IN_PROGRESS"}


def test_the_same_look_gives_the_same_menu() -> None:
    assert menu_of(bad_rollout()) == menu_of(bad_rollout())


def test_what_policy_does_not_name_is_not_offered() -> None:
    menu = menu_of(bad_rollout(), policy("scale_workload"))
    assert [option.step for option in menu.options] == ["scale_workload"]
    assert reasons(menu) == {"rollout_undo": "NOT_ALLOWED", "rollout_restart": "NOT_ALLOWED"}


def test_a_policy_that_only_observes_still_offers_so_that_it_can_be_said_what_would_be_done() -> None:
    assert [o.step for o in menu_of(bad_rollout(), policy(mode="observe")).options] == [
        "rollout_undo",
        "scale_workload",
    ]


def test_an_empty_policy_offers_nothing() -> None:
    menu = menu_of(bad_rollout(), Policy(version=1))
    assert menu.options == ()
    assert set(reasons(menu).values()) == {"NOT_ALLOWED"}


@pytest.mark.parametrize("own", ["handrail", "shop"])
def test_nothing_is_offered_in_protected_namespaces(own: str) -> None:
    allows = policy(protected_namespaces=["shop"] if own == "handrail" else [])
    menu = menu_of(bad_rollout(), allows, own)
    assert menu.options == ()
    assert set(reasons(menu).values()) == {"PROTECTED_NAMESPACE"}


def test_steps_for_other_kinds_are_left_out_without_a_word() -> None:
    daemons = TARGET.model_copy(update={"kind": "DaemonSet"})
    seen = Seen(workload=steady("DaemonSet"))
    menu = build_menu(Considered(daemons, dict.fromkeys(STEPS, seen), NOW), STEPS, policy(), "handrail")
    assert [option.step for option in menu.options] == ["rollout_restart"]
    assert set(reasons(menu)) == {"rollout_undo"}


def test_a_target_that_is_gone_or_another_of_its_name_is_offered_nothing() -> None:
    assert set(reasons(menu_of(None)).values()) == {"TARGET_GONE"}
    assert set(reasons(menu_of(with_meta(bad_rollout(), uid="dep-2"))).values()) == {"TARGET_GONE"}


def test_a_step_that_nobody_looked_for_is_not_offered() -> None:
    menu = build_menu(Considered(TARGET, {}, NOW), STEPS, policy(), "handrail")
    assert menu.options == ()
    assert set(reasons(menu).values()) == {"SOURCE_AWAY"}


def test_the_steps_own_reason_is_told_where_it_proposes_nothing() -> None:
    menu = menu_of(steady())
    assert reasons(menu) == {"rollout_undo": "NO_HISTORY"}
    held = menu_of(with_meta(bad_rollout(), annotations={"argocd.argoproj.io/tracking-id": "x"}))
    assert set(reasons(held).values()) == {"GITOPS_MANAGED"}


def test_only_what_is_allowed_is_looked_for() -> None:
    assert to_look_for(TARGET, STEPS, policy("rollout_undo"), "handrail") == ("rollout_undo",)
    assert to_look_for(TARGET, STEPS, policy(), "shop") == ()
    job = ObjectRef(api_version="batch/v1", kind="Job", namespace="shop", name="j", uid="j")
    assert to_look_for(job, STEPS, policy(), "handrail") == ()


class Eager:
    """A step that proposes what it is told, like a careless newcomer's."""

    def __init__(self, *candidates: Candidate) -> None:
        self._inner: Any = STEPS["scale_workload"]
        self._candidates = candidates

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def propose(self, seen: Any) -> tuple[Candidate, ...]:
        return self._candidates


def menu_with(*candidates: Candidate) -> Menu:
    step: Any = Eager(*candidates)
    considered = Considered(TARGET, {"scale_workload": Seen(workload=steady())}, NOW)
    return build_menu(considered, {"scale_workload": step}, policy(), "handrail")


def test_a_proposal_that_its_own_check_refuses_at_either_end_is_not_offered() -> None:
    menu = menu_with(Candidate(params={}, ranges={"replicas": (4, 50)}, summary="far too many"))
    assert menu.options == ()
    assert reasons(menu) == {"scale_workload": "OUT_OF_BOUNDS"}


def test_a_proposal_that_its_own_params_refuse_is_a_bug() -> None:
    with pytest.raises(Bug, match="scale_workload"):
        menu_with(Candidate(params={"replicas": "many"}, summary="nonsense"))


def test_a_long_menu_is_cut_and_says_so() -> None:
    menu = menu_with(*[Candidate(params={"replicas": 5}, summary=f"number {n}") for n in range(MOST_OPTIONS + 2)])
    assert len(menu.options) == MOST_OPTIONS
    assert [no.reason for no in menu.not_offered] == ["OUT_OF_BOUNDS", "OUT_OF_BOUNDS"]


def test_a_policy_narrows_the_range_that_a_planner_may_choose_from() -> None:
    rule = {"namespaces": ["shop"], "steps": {"scale_workload": "ask"}}
    for limits, ranges in (([1, 5], {"replicas": (4, 5)}), ([5, 50], {"replicas": (5, 6)}), ([1, 3], None)):
        allows = Policy.model_validate(
            {"version": 1, "rules": [{**rule, "limits": {"scale_workload": {"replicas": limits}}}]}
        )
        menu = menu_of(steady(), allows)
        assert [option.ranges for option in menu.options] == ([ranges] if ranges else [])
        assert reasons(menu).get("scale_workload") == (None if ranges else "OUT_OF_BOUNDS")


def test_nodes_are_opened_by_a_rule_for_all_namespaces_and_never_by_one_that_names_some() -> None:
    steps = {"cordon": catalogue()["cordon"]}
    sick = sick_node()
    considered = Considered(sick.ref, {"cordon": SeenNode(node=sick)}, NOW)
    everywhere = PolicyRule(namespaces=("*",), kinds=("Node",), steps={"cordon": Mode.ASK})
    for namespaces, reason in ((("*",), None), (("shop",), "NOT_ALLOWED"), (("",), "NOT_ALLOWED")):
        rule = everywhere.model_copy(update={"namespaces": namespaces})  # "" is no name, and no file says it
        menu = build_menu(considered, steps, Policy(version=1, rules=(rule,)), "handrail")
        assert reasons(menu).get("cordon") == reason
        assert len(menu.options) == (reason is None)


def test_no_other_cluster_wide_object_can_be_opened() -> None:
    volume = sick_node().ref.model_copy(update={"kind": "PersistentVolume"})
    assert never_written(volume, Policy.model_validate({"version": 1}), "handrail")
