"""Only known kinds and real names become paths."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.adapters.kubernetes.paths import KINDS, collection, is_name, known, path_of
from handrail.model.errors import Permanent
from handrail.model.target import ObjectRef


def ref(kind: str, name: str = "checkout", namespace: str = "shop", api_version: str = "") -> ObjectRef:
    version = api_version or (KINDS[kind].api_version if kind in KINDS else "v1")
    return ObjectRef(api_version=version, kind=kind, namespace=namespace, name=name)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Deployment", "/apis/apps/v1/namespaces/shop/deployments/checkout"),
        ("ReplicaSet", "/apis/apps/v1/namespaces/shop/replicasets/checkout"),
        ("StatefulSet", "/apis/apps/v1/namespaces/shop/statefulsets/checkout"),
        ("DaemonSet", "/apis/apps/v1/namespaces/shop/daemonsets/checkout"),
        ("Pod", "/api/v1/namespaces/shop/pods/checkout"),
        ("Event", "/api/v1/namespaces/shop/events/checkout"),
        ("Service", "/api/v1/namespaces/shop/services/checkout"),
        ("ConfigMap", "/api/v1/namespaces/shop/configmaps/checkout"),
        ("HorizontalPodAutoscaler", "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/checkout"),
        ("PodDisruptionBudget", "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/checkout"),
        ("Job", "/apis/batch/v1/namespaces/shop/jobs/checkout"),
        ("CronJob", "/apis/batch/v1/namespaces/shop/cronjobs/checkout"),
    ],
)
def test_each_kind_has_its_path(kind: str, path: str) -> None:
    assert path_of(ref(kind)) == path
    assert path_of(ref(kind), "status") == f"{path}/status"


def test_cluster_wide_kinds_have_no_namespace_in_their_path() -> None:
    assert path_of(ref("Node", "node-1", "")) == "/api/v1/nodes/node-1"
    assert path_of(ref("Namespace", "shop", "ignored")) == "/api/v1/namespaces/shop"
    assert collection("TokenReview") == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert collection("SelfSubjectAccessReview") == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.mark.parametrize("kind", ["Secret", "Role", "ClusterRoleBinding", "Rollout", ""])
def test_secrets_and_unknown_kinds_have_no_path(kind: str) -> None:
    assert kind not in KINDS
    with pytest.raises(Permanent):
        path_of(ref(kind))
    with pytest.raises(Permanent):
        collection(kind, "shop")


def test_a_kind_of_another_group_is_another_kind() -> None:
    assert known("apps/v1", "Deployment")
    assert not known("example.org/v1", "Deployment")
    with pytest.raises(Permanent):
        path_of(ref("Deployment", api_version="example.org/v1"))


def test_a_namespaced_object_without_a_namespace_is_never_looked_for_everywhere() -> None:
    with pytest.raises(Permanent):
        path_of(ref("Pod", namespace=""))


@pytest.mark.parametrize(
    "name", ["..", "a/../../secrets/x", "a%2f..", "A", "a b", "", "-a", "a-", "a?x=1", "a\nb", "a..b", "a" * 254]
)
def test_names_that_kubernetes_would_not_give_never_reach_a_path(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(Permanent):
        path_of(ref("Pod", name))


@given(name=st.text(max_size=30), namespace=st.text(max_size=30))
def test_whatever_the_names_a_path_stays_below_its_collection(name: str, namespace: str) -> None:
    try:
        path = path_of(ref("Pod", name, namespace))
    except Permanent:
        return
    assert re.fullmatch(r"/api/v1/namespaces/[a-z0-9-]+/pods/[a-z0-9.-]+", path)
