"""What the policy says about one step on one target. Deny by default; the floor in code stands above the policy."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.model.policy import Mode, Policy, PolicyRule
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import SagaStep
from handrail.model.taking_back import base_of, takes_back
from handrail.model.target import ObjectRef

NEVER = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Namespaces that no policy opens in this build (issue 3)."""


OPENED = frozenset({"Node"})
"""Cluster-wide kinds that a rule for all namespaces ("*") can open, step by step. Every other one never is."""


def never_written(target: ObjectRef, policy: Policy, own_namespace: str) -> bool:
    """Nothing of it is ever written, whatever a rule says."""
    return target.kind not in OPENED if not target.namespace else protected(target.namespace, policy, own_namespace)


def protected(namespace: str, policy: Policy, own_namespace: str) -> bool:
    """Never written to: the control plane's, our own, those the policy names, and cluster-wide objects."""
    return not namespace or namespace in NEVER or namespace == own_namespace or namespace in policy.protected_namespaces


def mode_for(policy: Policy, step: str, target: ObjectRef) -> Mode | None:
    """The mode of the first rule that names namespace, kind and step; None denies."""
    rule = next((rule for rule in policy.rules if _names(rule, step, target)), None)
    return rule.steps[step] if rule else None


def mode_of(policy: Policy, step: SagaStep) -> Mode | None:
    """As `mode_for`, with the floor: what is disruptive is never done without asking."""
    mode = mode_for(policy, base_of(step.step), step.target)
    return Mode.ASK if mode is Mode.ACT and step.risk.always_asked else mode


def limits_of(policy: Policy, step: str, target: ObjectRef) -> dict[str, tuple[int, int]]:
    """What the rule that decides says about numbers, by parameter; {} for nothing."""
    rule = next((rule for rule in policy.rules if _names(rule, step, target)), None)
    return dict(rule.limits.get(step, {})) if rule else {}


def beyond_limits(policy: Policy, step: SagaStep) -> Refusal | None:
    """Numbers of a compiled step that the policy, as it is now, does not allow. What takes back sets what was there;
    a number that the step leaves alone (None) needs no leave."""
    if takes_back(step.step):
        return None
    for name, (least, most) in limits_of(policy, step.step, step.target).items():
        value = step.params.get(name, "missing")
        if value is None:
            continue
        if not isinstance(value, int) or not least <= value <= most:
            detail = f"policy allows {name} from {least} to {most} for {step.step}; this would be {value!s:.40}"
            return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=detail)
    return None


def _names(rule: PolicyRule, step: str, target: ObjectRef) -> bool:
    in_namespace = "*" in rule.namespaces or (bool(target.namespace) and target.namespace in rule.namespaces)
    of_kind = not rule.kinds or target.kind in rule.kinds
    return in_namespace and of_kind and step in rule.steps


def unknown_steps(policy: Policy, known: Iterable[str]) -> tuple[str, ...]:
    """Step names of the policy that this build does not have: a typing error there would silently deny."""
    named = {name for rule in policy.rules for name in (*rule.steps, *rule.limits)}
    return tuple(sorted(named - set(known)))
