"""A policy rule that names kinds opens the steps on these kinds alone: by the rights, and by the API server itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import handrail_remediations
from handrail.core import admission, rbac
from handrail.core.rights import Deed, deeds, enabled, hands_rules, needs_of, plural
from handrail.model.policy import Policy
from handrail.model.step import Rule
from tests.helm.chart import collection
from tests.remediations.live import made, path
from tests.servers.api import JSON_PATCH, Answer, Api
from tests.servers.cluster import Cluster
from tests.servers.process import wait_until

STEPS = handrail_remediations.catalogue()
SHOP, HOME = "kinds-shop", "handrail"


def policy(*rules: dict[str, Any]) -> Policy:
    return Policy.model_validate({"version": 1, "rules": rules})


def ask(*steps: str, kinds: tuple[str, ...] = (), namespace: str = SHOP) -> dict[str, Any]:
    return {"namespaces": [namespace], "kinds": kinds, "steps": dict.fromkeys(steps, "ask")}


def test_a_rule_without_kinds_opens_all_that_its_steps_can_act_on() -> None:
    assert enabled(policy(ask("rollout_restart")), STEPS) == {
        SHOP: tuple(Deed("rollout_restart", kind) for kind in ("DaemonSet", "Deployment", "StatefulSet"))
    }


def test_two_rules_of_a_namespace_open_what_each_of_them_names() -> None:
    two = policy(
        ask("rollout_restart", kinds=("Deployment",)), ask("scale_workload", "rollout_restart", kinds=("StatefulSet",))
    )
    assert hands_rules(enabled(two, STEPS)[SHOP], STEPS) == (
        Rule(api_group="apps", resources=("deployments", "statefulsets"), verbs=("patch",)),
    )
    assert Deed("scale_workload", "Deployment") not in enabled(two, STEPS)[SHOP]


def test_pods_are_deleted_by_an_undo_of_a_stateful_set_alone() -> None:
    undo = STEPS["rollout_undo"]
    patch = Rule(api_group="apps", resources=("deployments",), verbs=("patch",))
    assert needs_of(undo, "Deployment") == (patch,)
    assert Rule(api_group="", resources=("pods",), verbs=("delete",)) in needs_of(undo, "StatefulSet")


def test_a_cluster_wide_kind_is_opened_by_a_rule_for_all_namespaces_alone() -> None:
    assert enabled(policy(ask("cordon")), STEPS) == {}
    assert enabled(policy(ask("cordon", namespace="*")), STEPS) == {"*": (Deed("cordon", "Node"),)}


def test_a_kind_that_no_step_knows_opens_nothing() -> None:
    assert enabled(policy(ask("rollout_restart", kinds=("Deploymnet",))), STEPS) == {}


def test_every_right_belongs_to_a_kind() -> None:
    for name, step in STEPS.items():
        together = {
            (rule.api_group, resource, verb)
            for kind in step.kinds
            for rule in needs_of(step, kind)
            for resource in rule.resources
            for verb in rule.verbs
        }
        declared = {(r.api_group, one, verb) for r in step.needs for one in r.resources for verb in r.verbs}
        assert together == declared, name
        assert {kind for rule in step.needs for kind in rule.kinds} <= step.kinds


def test_the_keys_of_all_deeds_are_their_own() -> None:
    assert len({deed.key for deed in deeds(STEPS)}) == len(deeds(STEPS))
    assert plural("HorizontalPodAutoscaler") == "horizontalpodautoscalers"


class Thieves:
    """One account has what RBAC and admission give; another every right, so that admission alone holds it."""

    def __init__(self, cluster: Cluster) -> None:
        self.admin = cluster.api
        self.ours = cluster.as_token(cluster.service_account_token(HOME, "kinds-ours"))
        self.strong = cluster.as_token(cluster.service_account_token(HOME, "kinds-strong"))

    def restarts(self, api: Api, kind: str) -> Answer:
        value = {"kubectl.kubernetes.io/restartedAt": "2026-11-29T12:00:00Z"}
        return api.call(
            "PATCH",
            path(kind, SHOP),
            [{"op": "add", "path": "/spec/template/metadata/annotations", "value": value}],
            JSON_PATCH,
            dryRun="All",
        )

    def deletes_a_pod_of(self, api: Api, owner: str) -> Answer:
        pods = self.admin.get(f"/api/v1/namespaces/{SHOP}/pods")["items"]
        pod = next(p["metadata"] for p in pods if p["metadata"]["ownerReferences"][0]["kind"] == owner)
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], "preconditions": {"uid": pod["uid"]}}
        return api.call("DELETE", f"/api/v1/namespaces/{SHOP}/pods/{pod['name']}", options, dryRun="All")


@pytest.fixture(scope="module")
def thieves(control_plane: Cluster) -> Iterator[Thieves]:
    api, opened = control_plane.api, policy(ask("rollout_restart", "delete_pod", kinds=("Deployment",)))
    control_plane.ensure_namespace(HOME)
    for kind in ("Deployment", "StatefulSet"):
        made(control_plane, kind, SHOP)
    found: list[dict[str, Any]] = []
    for name in ("kinds-ours", "kinds-strong"):
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": HOME}}
        api.apply(f"/api/v1/namespaces/{HOME}/serviceaccounts/{name}", account)
        found += admission.objects(opened, STEPS, name, HOME, name)
    found += rbac.objects(opened, STEPS, "kinds-ours", HOME, "kinds-ours")
    subject = {"kind": "ServiceAccount", "name": "kinds-strong", "namespace": HOME}
    admin = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"apiVersion": rbac.API, "kind": "ClusterRoleBinding", "metadata": {"name": "kinds-strong"}}
    found.append({**binding, "roleRef": admin, "subjects": [subject]})
    for one in found:
        api.apply(f"{collection(one)}/{one['metadata']['name']}", one)
    stolen = Thieves(control_plane)
    # By its words: until the binding is in force, RBAC denies too.
    denied = lambda: "Handrail may not" in stolen.restarts(stolen.strong, "StatefulSet").text  # noqa: E731
    wait_until(denied, 60, "the admission policy at work")
    wait_until(lambda: stolen.restarts(stolen.ours, "Deployment").ok, 60, "the rights of ours")
    pods, owners = f"/api/v1/namespaces/{SHOP}/pods", {"ReplicaSet", "StatefulSet"}

    def seen() -> set[str]:
        return {pod["metadata"]["ownerReferences"][0]["kind"] for pod in api.get(pods)["items"]}

    wait_until(lambda: owners <= seen(), 30, "pods of both")
    yield stolen
    for one in reversed(found):
        api.call("DELETE", f"{collection(one)}/{one['metadata']['name']}")
    for kind in ("Deployment", "StatefulSet"):
        api.call("DELETE", path(kind, SHOP))


@pytest.mark.server
@pytest.mark.parametrize("account", ["ours", "strong"])
def test_the_server_lets_through_the_kind_that_the_rule_names_and_denies_the_others(
    thieves: Thieves, account: str
) -> None:
    api: Api = getattr(thieves, account)
    assert thieves.restarts(api, "Deployment").ok
    denied = thieves.restarts(api, "StatefulSet")
    assert denied.status == 403
    assert ("cannot patch resource" in denied.text) == (account == "ours")
    assert ("Handrail may not UPDATE apps/statefulsets" in denied.text) == (account == "strong")
    assert thieves.deletes_a_pod_of(api, "ReplicaSet").ok
    pod = thieves.deletes_a_pod_of(api, "StatefulSet")
    assert pod.status == 403
    assert "Handrail may not DELETE /pods" in pod.text, "RBAC can't tell pods apart, admission can"
