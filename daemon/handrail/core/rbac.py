"""Rights as Kubernetes objects: roles and bindings, eyes and hands apart. Pure; what the rights are is in rights.py."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.core.rights import DESK, EYES, enabled, hands_rules
from handrail.model.policy import Policy
from handrail.model.step import Rule, Step
from handrail.model.value import Raw

API = "rbac.authorization.k8s.io/v1"


def objects(policy: Policy, steps: Mapping[str, Step], name: str, namespace: str, service_account: str) -> list[Raw]:
    """ClusterRole and binding of the eyes, then for each namespace (or "*") those of the hands, in a fixed order."""
    subject = {"kind": "ServiceAccount", "name": service_account, "namespace": namespace}
    found = [
        _role("ClusterRole", f"{name}-eyes", "", (*EYES, *DESK)),
        _binding("ClusterRoleBinding", f"{name}-eyes", "", "ClusterRole", subject),
    ]
    for where, some in enabled(policy, steps).items():
        if where == namespace:
            continue
        rules = hands_rules(some, steps)
        if where == "*":
            found.append(_role("ClusterRole", f"{name}-hands", "", rules))
            found.append(_binding("ClusterRoleBinding", f"{name}-hands", "", "ClusterRole", subject))
        else:
            found.append(_role("Role", f"{name}-hands", where, rules))
            found.append(_binding("RoleBinding", f"{name}-hands", where, "Role", subject))
    return found


def _role(kind: str, name: str, namespace: str, rules: tuple[Rule, ...]) -> Raw:
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": _meta(name, namespace),
        "rules": [
            {"apiGroups": [rule.api_group], "resources": list(rule.resources), "verbs": list(rule.verbs)}
            for rule in rules
        ],
    }


def _binding(kind: str, name: str, namespace: str, role_kind: str, subject: Raw) -> Raw:
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": _meta(name, namespace),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": name},
        "subjects": [dict(subject)],
    }


def _meta(name: str, namespace: str) -> Raw:
    meta: Raw = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    meta["labels"] = {"app.kubernetes.io/name": "handrail", "handrail.dev/part": name.rpartition("-")[2]}
    return meta
