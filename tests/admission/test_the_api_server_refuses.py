"""A stolen token of the daemon at the real API server: with the rights of the enabled steps, and nothing beyond.

The account here is bound to cluster-admin, so that what is refused is refused by the admission policies alone; the
rights by RBAC have their own tests. Every request is a dry-run: denials come before that matters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import handrail_remediations
from handrail.adapters.kubernetes.wire import Reply
from handrail.adapters.kubernetes.writes import held_by
from handrail.core.admission import objects
from handrail.core.rights import DESK, EYES
from handrail.model.policy import Policy
from handrail.model.target import ObjectRef
from handrail.model.write import Verb, Write
from tests.helm.chart import collection
from tests.servers.api import JSON_PATCH, MERGE, Answer, Api
from tests.servers.cluster import Cluster
from tests.servers.process import wait_until

pytestmark = pytest.mark.server

NAME = "thief"
SHOP, BANK = "adm-shop", "adm-bank"
TARGET = ObjectRef(api_version="apps/v1", kind="Deployment", namespace=SHOP, name="api", uid="u")
IMAGE = "registry.example:5000/shop/api"
SECRET = {"name": "P", "valueFrom": {"secretKeyRef": {"name": "db", "key": "p"}}}
CONTAINER = {"name": "api", "image": f"{IMAGE}:v1", "env": [SECRET]}
POD = "/spec/template/spec"
FIRST = f"{POD}/containers/0"


def deployment(namespace: str) -> dict[str, Any]:
    labels = {"app": "api"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "api", "namespace": namespace, "annotations": {"team": "shop"}, "finalizers": ["shop.example/f"]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def where(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments/api"


@dataclass
class Thief:
    """`api` speaks with the daemon's token, `admin` as the administrator."""

    admin: Api
    api: Api

    def patch(self, *operations: tuple[Any, ...], namespace: str = SHOP) -> Answer:
        patch: list[Any] = [dict(zip(("op", "path", "value"), one, strict=False)) for one in operations]
        return self.api.call("PATCH", where(namespace), patch, JSON_PATCH, dryRun="All")


@pytest.fixture(scope="module")
def thief(control_plane: Cluster) -> Iterator[Thief]:
    admin = control_plane.api
    for namespace in (SHOP, BANK, "handrail"):
        control_plane.ensure_namespace(namespace)
    for namespace in (SHOP, BANK):
        admin.apply(where(namespace), deployment(namespace))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": "handrail"}}
    admin.apply(f"/api/v1/namespaces/handrail/serviceaccounts/{NAME}", account)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": "handrail"}],
    }
    steps = handrail_remediations.catalogue()
    on_nodes = {"cordon": "ask", "uncordon": "ask"}
    in_shop = {name: "ask" for name in steps if name not in on_nodes}
    rules = [{"namespaces": [SHOP], "steps": in_shop}, {"namespaces": ["*"], "steps": on_nodes}]
    policy = Policy.model_validate({"version": 1, "rules": rules, "protected_namespaces": ["kube-node-lease"]})
    made = [binding, *objects(policy, steps, NAME, "handrail", NAME)]
    for one in made:
        admin.apply(f"{collection(one)}/{one['metadata']['name']}", one)
    stolen = Thief(admin, control_plane.as_token(control_plane.service_account_token("handrail", NAME)))
    probe = ("add", "/spec/minReadySeconds", 7)
    # By its words: until the binding is in force, RBAC denies too.
    wait_until(lambda: "Handrail may not" in stolen.patch(probe).text, 60, "the admission policy at work")
    yield stolen
    for one in reversed(made):
        admin.call("DELETE", f"{collection(one)}/{one['metadata']['name']}")
    for namespace in (SHOP, BANK):
        admin.call("PATCH", where(namespace), {"metadata": {"finalizers": None}}, MERGE)


STEPS_DO: dict[str, list[tuple[Any, ...]]] = {
    "scale": [("replace", "/spec/replicas", 5)],
    "scale_with_its_key": [
        ("add", "/metadata/annotations/handrail.dev~1key", "k"),
        ("replace", "/spec/replicas", 4),
    ],
    "scale_back": [("replace", "/spec/replicas", 1)],
    "restart": [("add", f"{POD[:-5]}/metadata/annotations", {"kubectl.kubernetes.io/restartedAt": "2026-11-29"})],
    "undo_to_another_tag": [("replace", f"{FIRST}/image", f"{IMAGE}:v0")],
    "undo_to_a_digest": [("replace", f"{FIRST}/image", f"{IMAGE}@sha256:{'a' * 64}")],
    "undo_of_a_command": [("add", f"{FIRST}/command", ["serve"])],
    "undo_of_a_variable": [("add", f"{FIRST}/env/-", {"name": "Q", "value": "1"})],
    "undo_that_names_the_same_secret": [("replace", f"{FIRST}/env", [{**SECRET, "name": "PASSWORD"}])],
    "undo_that_drops_a_secret": [("remove", f"{FIRST}/env")],
    "undo_that_mounts_a_config_map": [("add", f"{POD}/volumes", [{"name": "c", "configMap": {"name": "c"}}])],
    "pause_again": [("add", "/spec/paused", True)],
    "resume": [("add", "/spec/paused", False)],
    "note": [("add", "/metadata/annotations/handrail.dev~1note", "2026-11-29T12:00:00Z Handrail has looked at this")],
    "undo_of_resources": [("add", f"{FIRST}/resources", {"limits": {"memory": "1Gi"}})],
}


@pytest.mark.parametrize("name", STEPS_DO)
def test_what_the_enabled_steps_do_is_admitted(thief: Thief, name: str) -> None:
    answer = thief.patch(*STEPS_DO[name])
    assert answer.ok, answer.text


NO_STEP_DOES: dict[str, list[tuple[Any, ...]]] = {
    "scale_beyond_double": [("replace", "/spec/replicas", 7)],
    "scale_beyond_the_most": [("replace", "/spec/replicas", 101)],
    "scale_to_nothing": [("replace", "/spec/replicas", 0)],
    "another_repository": [("replace", f"{FIRST}/image", "registry.example:5000/evil/api:v1")],
    "another_registry": [("replace", f"{FIRST}/image", "evil.example:5000/shop/api:v1")],
    "another_port_of_the_registry": [("replace", f"{FIRST}/image", "registry.example:5001/shop/api:v1")],
    "added_container": [("add", f"{POD}/containers/-", {"name": "x", "image": f"{IMAGE}:v1"})],
    "added_init_container": [("add", f"{POD}/initContainers", [{"name": "x", "image": f"{IMAGE}:v1"}])],
    "renamed_container": [("replace", f"{FIRST}/name", "x")],
    "new_secret_in_a_variable": [
        ("add", f"{FIRST}/env/-", {"name": "Q", "valueFrom": {"secretKeyRef": {"name": "root", "key": "p"}}})
    ],
    "all_of_a_secret": [("add", f"{FIRST}/envFrom", [{"secretRef": {"name": "db"}}])],
    "secret_volume": [("add", f"{POD}/volumes", [{"name": "s", "secret": {"secretName": "db"}}])],
    "projected_secret": [
        ("add", f"{POD}/volumes", [{"name": "s", "projected": {"sources": [{"secret": {"name": "db"}}]}}])
    ],
    "host_path": [("add", f"{POD}/volumes", [{"name": "h", "hostPath": {"path": "/"}}])],
    "host_network": [("add", f"{POD}/hostNetwork", True)],
    "host_pid": [("add", f"{POD}/hostPID", True)],
    "host_port": [("add", f"{FIRST}/ports", [{"containerPort": 80, "hostPort": 80}])],
    "service_account": [("add", f"{POD}/serviceAccountName", "root")],
    "token_mount": [("add", f"{POD}/automountServiceAccountToken", True)],
    "capabilities": [("add", f"{FIRST}/securityContext", {"capabilities": {"add": ["SYS_ADMIN"]}})],
    "root_user": [("add", f"{POD}/securityContext", {"runAsUser": 0})],
    "pull_secret": [("add", f"{POD}/imagePullSecrets", [{"name": "db"}])],
    "chosen_node": [("add", f"{POD}/nodeName", "node-1")],
    "another_deadline": [("add", "/spec/progressDeadlineSeconds", 30)],
    "history_limit": [("replace", "/spec/revisionHistoryLimit", 0)],
    "strategy": [("replace", "/spec/strategy", {"type": "Recreate"})],
    "template_labels": [("add", "/spec/template/metadata/labels/x", "y"), ("add", "/spec/minReadySeconds", 1)],
    "label": [("add", "/metadata/labels", {"x": "y"})],
    "removed_finalizer": [("remove", "/metadata/finalizers")],
    "owner": [
        (
            "add",
            "/metadata/ownerReferences",
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "0a5e6bd2-28f5-4b8e-9d2f-6f6f1f1f1f1f"}],
        )
    ],
    "another_annotation": [("add", "/metadata/annotations/team", "mine")],
    "removed_annotation": [("remove", "/metadata/annotations/team")],
}


@pytest.mark.parametrize("name", NO_STEP_DOES)
def test_what_no_step_does_is_denied_by_the_server(thief: Thief, name: str) -> None:
    answer = thief.patch(*NO_STEP_DOES[name])
    assert answer.status == 403, answer.text
    assert "Handrail may not UPDATE apps/deployments" in answer.text


def test_a_namespace_that_the_policy_does_not_name_is_closed(thief: Thief) -> None:
    assert thief.patch(("replace", "/spec/replicas", 4), namespace=BANK).status == 403


CLUSTER_ROLE = {"metadata": {"name": "adm-x"}, "rules": []}
POD_TO_CREATE = {"metadata": {"name": "x"}, "spec": {"containers": [CONTAINER]}}
OTHER_WRITES: dict[str, tuple[str, str, Any]] = {
    "delete_deployment": ("DELETE", where(SHOP), None),
    "delete_all_deployments": ("DELETE", f"/apis/apps/v1/namespaces/{SHOP}/deployments", None),
    "create_pod": ("POST", f"/api/v1/namespaces/{SHOP}/pods", POD_TO_CREATE),
    "create_config_map": ("POST", f"/api/v1/namespaces/{SHOP}/configmaps", {"metadata": {"name": "x"}}),
    "create_secret": ("POST", f"/api/v1/namespaces/{SHOP}/secrets", {"metadata": {"name": "x"}}),
    "create_role": ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", CLUSTER_ROLE),
    "delete_namespace": ("DELETE", f"/api/v1/namespaces/{BANK}", None),
    "mint_a_token": (
        "POST",
        "/api/v1/namespaces/kube-system/serviceaccounts/default/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}},
    ),
}


@pytest.mark.parametrize("name", OTHER_WRITES)
def test_other_writes_are_denied_even_with_every_right(thief: Thief, name: str) -> None:
    method, path, body = OTHER_WRITES[name]
    answer = thief.api.call(method, path, body, dryRun="All")
    assert answer.status == 403, answer.text


NODE = "/api/v1/nodes/node-1"
TAINT = {"key": "x", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        (("add", "/spec/unschedulable", True), 200),
        (("add", "/spec/taints", [TAINT]), 403),
        (("add", "/metadata/labels/x", "y"), 403),
        (("add", "/metadata/annotations/x", "y"), 403),
        (("add", "/spec/providerID", "x"), 403),
    ],
    ids=["cordon", "taint", "label", "annotation", "provider"],
)
def test_a_node_may_be_cordoned_and_nothing_else(thief: Thief, operation: tuple[Any, ...], status: int) -> None:
    patch = [dict(zip(("op", "path", "value"), operation, strict=True))]
    answer = thief.api.call("PATCH", NODE, patch, JSON_PATCH, dryRun="All")
    assert answer.status == status, answer.text
    assert thief.api.call("DELETE", NODE, None, dryRun="All").status == 403


def test_a_pod_is_deleted_only_by_its_uid(thief: Thief) -> None:
    pods = f"/api/v1/namespaces/{SHOP}/pods"
    wait_until(lambda: len(thief.admin.get(pods)["items"]) >= 3, 30, "pods of the Deployment")
    pod = thief.admin.get(pods)["items"][0]["metadata"]
    where = f"{pods}/{pod['name']}"
    assert thief.api.call("DELETE", where, None, dryRun="All").status == 403
    by_uid = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod["uid"]}, "dryRun": ["All"]}
    assert thief.api.call("DELETE", where, by_uid).ok
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod["name"], "namespace": SHOP}}
    assert thief.api.call("POST", f"{where}/eviction", eviction, dryRun="All").status == 403
    by_uid = {**eviction, "deleteOptions": {"preconditions": {"uid": pod["uid"]}, "dryRun": ["All"]}}
    assert thief.api.call("POST", f"{where}/eviction", by_uid).ok


def test_a_pod_that_no_controller_replaces_is_not_deleted(thief: Thief) -> None:
    pods = f"/api/v1/namespaces/{SHOP}/pods"
    body = {"metadata": {"name": "bare"}, "spec": {"containers": [{"name": "a", "image": f"{IMAGE}:v1"}]}}
    made = thief.admin.call("POST", pods, {"apiVersion": "v1", "kind": "Pod", **body})
    assert made.ok, made.text
    by_uid = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": made.body["metadata"]["uid"]}}
    assert thief.api.call("DELETE", f"{pods}/bare", {**by_uid, "dryRun": ["All"]}).status == 403
    thief.admin.call("DELETE", f"{pods}/bare")


def test_no_right_of_ours_reaches_the_policies_themselves() -> None:
    """The API server exempts admission policies from admission policies: only RBAC keeps them from us."""
    rules = [*EYES, *DESK, *(rule for step in handrail_remediations.catalogue().values() for rule in step.needs)]
    assert not [rule for rule in rules if "admissionregistration" in rule.api_group or rule.api_group == "*"]


def test_a_question_to_the_api_server_is_no_write(thief: Thief) -> None:
    attributes = {"verb": "get", "resource": "pods"}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    asked = {**review, "spec": {"resourceAttributes": attributes}}
    assert thief.api.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked).ok


REASONS = {
    "release freeze,\nask Ann": "release freeze, ask Ann",
    "x" * 200_000: "x" * 800,
    "\u00e9" * 5_000: "\u00e9" * 800,
    "  ": "no reason given",
    """a" is forbidden: 'b' {"c"}""": """a" is forbidden: 'b' {"c"}""",
}


@pytest.mark.parametrize("reason", REASONS, ids=["two lines", "long", "wide", "blank", "quotes"])
def test_whatever_reason_a_person_writes_the_daemon_knows_the_stop_by_its_denial(thief: Thief, reason: str) -> None:
    path = f"/api/v1/namespaces/{SHOP}"
    scale = ("replace", "/spec/replicas", 4)
    ours = Write(verb=Verb.PATCH, object=TARGET, ops=({"op": "replace"},), summary="scale", key="k")
    try:
        thief.admin.call("PATCH", path, {"metadata": {"annotations": {"handrail.dev/stop": reason}}}, MERGE)
        wait_until(lambda: thief.patch(scale).status == 403, 60, "the stop")
        held = held_by(ours, Reply(403, json.loads(thief.patch(scale).text), {}))
        assert held is not None, thief.patch(scale).text[:500]
        assert held.detail.startswith(REASONS[reason])
    finally:
        thief.admin.call("PATCH", path, {"metadata": {"annotations": {"handrail.dev/stop": None}}}, MERGE)
        wait_until(lambda: thief.patch(scale).ok, 60, "the end of the stop")


def test_the_stop_of_a_namespace_is_held_with_the_persons_own_words(thief: Thief) -> None:
    path = f"/api/v1/namespaces/{SHOP}"
    freeze = {"metadata": {"annotations": {"handrail.dev/stop": "release freeze,\nask Ann"}}}
    scale = ("replace", "/spec/replicas", 4)
    try:
        thief.admin.call("PATCH", path, freeze, MERGE)
        wait_until(lambda: thief.patch(scale).status == 403, 60, "the stop")
        answer = thief.patch(scale)
        assert "handrail.dev/stop on namespace adm-shop: release freeze, ask Ann" in answer.text
        assert thief.api.call("GET", where(SHOP)).ok, "reading goes on"
        bystander = thief.admin.call("PATCH", where(SHOP), {"spec": {"replicas": 3}}, MERGE, dryRun="All")
        assert bystander.ok, "nobody else is stopped"
    finally:
        thief.admin.call("PATCH", path, {"metadata": {"annotations": {"handrail.dev/stop": None}}}, MERGE)
    wait_until(lambda: thief.patch(scale).ok, 60, "the end of the stop")
