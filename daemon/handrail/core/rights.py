"""The rights that the daemon needs, from the steps that a policy enables. `handrail rbac`, `check` and the chart agree.

Reading and writing are two roles: deleting the binding of the hands stops every write at once (design 1.6). Writes are
granted only in namespaces and for kinds that the policy names; "*" makes it a ClusterRole's binding. Nothing here
grants deleting a workload, exec, Secrets or RBAC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from handrail.core.allow import NEVER, OPENED
from handrail.model.policy import Mode, Policy, PolicyRule
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


class Deed(NamedTuple):
    """A step on a kind of object: the least that a policy can enable."""

    step: str
    kind: str

    @property
    def key(self) -> str:
        """Its name in admission policies and in the chart's files."""
        return f"{self.step}_{self.kind.lower()}"


def deeds(steps: Mapping[str, Step]) -> tuple[Deed, ...]:
    """All that there are, whatever a policy says, in the order of their keys."""
    found = (Deed(name, kind) for name, step in steps.items() for kind in step.kinds)
    return tuple(sorted(found, key=lambda deed: deed.key))


def enabled(policy: Policy, steps: Mapping[str, Step]) -> dict[str, tuple[Deed, ...]]:
    """Namespaces ("*" for all) to what may be written there; observing needs no rights."""
    found: dict[str, set[Deed]] = {}
    for rule in policy.rules:
        for namespace in rule.namespaces:
            if namespace in NEVER or namespace in policy.protected_namespaces:
                continue
            if writing := {deed for deed in deeds(steps) if _enables(rule, namespace, deed)}:
                found.setdefault(namespace, set()).update(writing)
    everywhere = found.get("*", set())
    return {
        namespace: tuple(sorted(some, key=lambda deed: deed.key))
        for namespace, some in sorted(found.items())
        if namespace == "*" or some - everywhere
    }


def _enables(rule: PolicyRule, namespace: str, deed: Deed) -> bool:
    """Cluster-wide kinds belong to no namespace: a rule that names one never reaches them."""
    of_kind = not rule.kinds or deed.kind in rule.kinds
    return of_kind and _writes(rule, deed.step) and (namespace == "*" or deed.kind not in OPENED)


def _writes(rule: PolicyRule, step: str) -> bool:
    return rule.steps.get(step, Mode.OBSERVE) is not Mode.OBSERVE


def needs_of(step: Step, kind: str) -> tuple[Rule, ...]:
    """The rules that a step needs to act on this kind alone."""
    others = {plural(other) for other in step.kinds} - {plural(kind)}
    mine = (rule for rule in step.needs if not rule.kinds or kind in rule.kinds)
    bare = (
        Rule(
            api_group=rule.api_group,
            resources=tuple(one for one in rule.resources if one not in others),
            verbs=rule.verbs,
        )
        for rule in mine
    )
    return tuple(rule for rule in bare if rule.resources)


def plural(kind: str) -> str:
    """The resource of a kind that steps may act on; none of them has an odd plural."""
    return f"{kind.lower()}s"


def hands_rules(some: Iterable[Deed], steps: Mapping[str, Step]) -> tuple[Rule, ...]:
    """The merged rules of these: one per API group and verbs, resources sorted."""
    merged: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for deed in some:
        for rule in needs_of(steps[deed.step], deed.kind):
            merged.setdefault((rule.api_group, tuple(sorted(rule.verbs))), set()).update(rule.resources)
    return tuple(
        Rule(api_group=group, resources=tuple(sorted(resources)), verbs=verbs)
        for (group, verbs), resources in sorted(merged.items())
    )
