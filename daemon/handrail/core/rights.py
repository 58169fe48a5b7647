"""The rights that the daemon needs, from the steps that a policy enables. `handrail rbac`, `check` and the chart agree.

Reading and writing are two roles: deleting the binding of the hands stops every write at once (design 1.6). Writes are
granted only in namespaces that the policy names; "*" makes it a ClusterRole's binding. Nothing here grants deleting
a workload, exec, Secrets or RBAC.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.core.allow import NEVER
from handrail.model.policy import Mode, Policy
from handrail.model.step import Rule, Step

EYES: tuple[Rule, ...] = (
    Rule(api_group="", resources=("pods", "events", "namespaces", "nodes", "services"), verbs=("get", "list", "watch")),
    Rule(api_group="", resources=("persistentvolumeclaims", "resourcequotas"), verbs=("get", "list", "watch")),
    Rule(api_group="", resources=("pods/log",), verbs=("get",)),
    Rule(
        api_group="apps",
        resources=("deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"),
        verbs=("get", "list", "watch"),
    ),
    Rule(api_group="batch", resources=("jobs", "cronjobs"), verbs=("get", "list", "watch")),
    Rule(api_group="autoscaling", resources=("horizontalpodautoscalers",), verbs=("get", "list", "watch")),
    Rule(api_group="policy", resources=("poddisruptionbudgets",), verbs=("get", "list", "watch")),
)
"""What is read, everywhere: an alert may name any namespace. Never Secrets, never ConfigMaps in this build."""

DESK: tuple[Rule, ...] = (Rule(api_group="authentication.k8s.io", resources=("tokenreviews",), verbs=("create",)),)
"""To find out who a caller of the API is."""


def enabled(policy: Policy, steps: Mapping[str, Step]) -> dict[str, tuple[str, ...]]:
    """Namespaces ("*" for all) to the sorted names of the steps that may write there; observing needs no rights."""
    found: dict[str, set[str]] = {}
    for rule in policy.rules:
        for namespace in rule.namespaces:
            if namespace in NEVER or namespace in policy.protected_namespaces:
                continue
            writing = {name for name, mode in rule.steps.items() if mode is not Mode.OBSERVE and name in steps}
            if writing:
                found.setdefault(namespace, set()).update(writing)
    everywhere = found.get("*", set())
    return {
        namespace: tuple(sorted(names))
        for namespace, names in sorted(found.items())
        if namespace == "*" or names - everywhere
    }


def hands_rules(names: tuple[str, ...], steps: Mapping[str, Step]) -> tuple[Rule, ...]:
    """The merged rules of these steps: one per API group and verbs, resources sorted."""
    merged: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for name in names:
        for rule in steps[name].needs:
            merged.setdefault((rule.api_group, tuple(sorted(rule.verbs))), set()).update(rule.resources)
    return tuple(
        Rule(api_group=group, resources=tuple(sorted(resources)), verbs=verbs)
        for (group, verbs), resources in sorted(merged.items())
    )
