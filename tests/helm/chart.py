"""Runs the real helm over the chart and reads what it renders."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from handrail.model.value import Raw

ROOT = Path(__file__).parents[2]
CHART = ROOT / "helm" / "handrail"
EXAMPLES = sorted((ROOT / "helm" / "examples").glob("*.yaml"))

LEAST: Raw = {"config": {"cluster": {"name": "prod-eu1"}, "kafka": {"bootstrap": ["kafka:9092"]}}}
OPERATORS = frozenset({"ServiceMonitor", "PrometheusRule"})
"""Kinds of the Prometheus operator, which neither Kubernetes nor its schemas know."""

Helm = Callable[..., subprocess.CompletedProcess[str]]

COLLECTIONS = {
    "ServiceAccount": "/api/v1/namespaces/{ns}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{ns}/configmaps",
    "Service": "/api/v1/namespaces/{ns}/services",
    "StatefulSet": "/apis/apps/v1/namespaces/{ns}/statefulsets",
    "Deployment": "/apis/apps/v1/namespaces/{ns}/deployments",
    "Job": "/apis/batch/v1/namespaces/{ns}/jobs",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
}


def rendered(helm: Helm, values: Path, *, release: str = "handrail", namespace: str = "handrail") -> list[Raw]:
    done = helm("template", release, str(CHART), "--namespace", namespace, "-f", str(values))
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def with_values(helm: Helm, folder: Path, **values: Any) -> list[Raw]:
    """What the chart renders with the least that must be given, and these values over it."""
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump({**LEAST, **values}))
    return rendered(helm, path)


def one(objects: list[Raw], kind: str, name: str = "handrail") -> Raw:
    (found,) = [o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def collection(document: Raw) -> str:
    """Where the API server takes such an object."""
    return COLLECTIONS[document["kind"]].format(ns=document["metadata"].get("namespace", ""))


def rights(objects: list[Raw]) -> dict[tuple[str, str, str], Any]:
    """Roles and bindings by kind, namespace and name, with what they grant or bind."""
    return {
        (o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): (
            o["rules"] if "rules" in o else (o["roleRef"], o["subjects"])
        )
        for o in objects
        if o["kind"] in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    }


def admission(objects: list[Raw]) -> dict[tuple[str, str], Any]:
    """Admission policies and bindings by kind and name."""
    return {(o["kind"], o["metadata"]["name"]): o["spec"] for o in objects if "AdmissionPolicy" in o["kind"]}
