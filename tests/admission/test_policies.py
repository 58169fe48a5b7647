"""What the rendered admission policies say, without a server: nobody else is matched, nothing waits for parameters."""

from __future__ import annotations

import json

import handrail_remediations
from handrail.core.admission import objects, wherever
from handrail.core.admission_forms import tree
from handrail.core.rights import Deed
from handrail.model.policy import Policy
from handrail.model.value import Raw

STEPS = handrail_remediations.catalogue()


def rendered(**namespaces: dict[str, str]) -> list[Raw]:
    rules = [{"namespaces": [name], "steps": steps} for name, steps in namespaces.items()]
    policy = Policy.model_validate({"version": 1, "rules": rules, "protected_namespaces": ["bank"]})
    return objects(policy, STEPS, "handrail", "rail", "handrail")


def test_no_policy_takes_parameters_and_each_matches_our_own_service_account_alone() -> None:
    for one in rendered(shop={"scale_workload": "ask"}):
        if one["kind"] == "ValidatingAdmissionPolicy":
            assert "paramKind" not in one["spec"]
            assert one["spec"]["matchConditions"] == [
                {"name": "ours", "expression": "request.userInfo.username == 'system:serviceaccount:rail:handrail'"}
            ]
            assert one["spec"]["failurePolicy"] == "Fail"
        else:
            assert "paramRef" not in one["spec"]
            assert one["spec"]["validationActions"] == ["Deny"]


def test_only_enabled_steps_are_in_the_policy() -> None:
    text = json.dumps(rendered(shop={"scale_workload": "ask", "rollout_undo": "observe"}))
    assert "step_scale_workload" in text
    assert "step_rollout_undo" not in text
    assert "step_rollout_restart" not in text


def test_protected_namespaces_are_barred_whatever_the_policy_names() -> None:
    policy = Policy.model_validate(
        {
            "version": 1,
            "protected_namespaces": ["bank"],
            "rules": [{"namespaces": ["*"], "steps": {"scale_workload": "act"}}],
        }
    )
    where = wherever(policy, STEPS, "rail")[Deed("scale_workload", "Deployment")]
    for name in ("bank", "rail", "kube-system"):
        assert f"'{name}'" in where
    assert where.startswith("!")


def test_a_policy_that_enables_nothing_admits_nothing_but_questions() -> None:
    hands = rendered()[0]
    assert "step_" not in json.dumps(hands)
    assert "authentication.k8s.io" in hands["spec"]["validations"][0]["expression"]


def test_pointers_become_a_tree_with_their_escapes_undone() -> None:
    assert tree(("/spec/replicas", "/spec/template/metadata/annotations/a.b~1c")) == {
        "spec": {"replicas": {}, "template": {"metadata": {"annotations": {"a.b/c": {}}}}}
    }
