"""Whether the daemon may do exactly what its policy needs: every right that is missing, and every one too many.

Asks the API server itself (SelfSubjectAccessReview), about the rules that `handrail rbac` prints.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from handrail.adapters.kubernetes import KubernetesRights, Right
from handrail.check.lines import Line, fail, ok
from handrail.core.allow import NEVER
from handrail.core.rights import DESK, EYES, deeds, enabled, hands_rules
from handrail.model.config import KubernetesConfig
from handrail.model.policy import Policy
from handrail.model.step import Rule, Step

SHOWN = 8
"""Rights named in one line; the rest are counted."""


async def rights(
    asked: KubernetesRights, policy: Policy, steps: Mapping[str, Step], config: KubernetesConfig
) -> list[Line]:
    """One line for what is missing, one for what is too much. Raises Transient, Permanent."""
    hands = _hands(policy, steps, config)
    named = [where for where in enabled(policy, steps) if where != "*"]
    places = list(dict.fromkeys(["", config.own_namespace, *sorted(NEVER), *named]))
    missing, extra = await asyncio.gather(_missing(asked, hands), _extra(asked, hands, places, steps))
    return [
        fail("rights", f"missing: {_named(missing)}; apply what `handrail rbac --policy {{policy}}` prints")
        if missing
        else ok("rights", "all that the eyes and the enabled steps need"),
        fail("rights", f"too much: {_named(extra)}; remove the binding that grants it")
        if extra
        else ok("rights", "nothing that is clearly more"),
    ]


def _hands(policy: Policy, steps: Mapping[str, Step], config: KubernetesConfig) -> dict[str, tuple[Rule, ...]]:
    """Namespaces ("" for all) to the rules of what may be written there; none where the hands are off."""
    if not config.hands_enabled:
        return {}
    found = enabled(policy, steps)
    return {
        "" if where == "*" else where: hands_rules(some, steps)
        for where, some in found.items()
        if where != config.own_namespace
    }


async def _missing(asked: KubernetesRights, hands: Mapping[str, Sequence[Rule]]) -> list[Right]:
    wanted = [(rule, "") for rule in (*EYES, *DESK)]
    wanted += [(rule, where) for where, rules in hands.items() for rule in rules]
    found = await asyncio.gather(*(asked.can_i([rule], [where]) for rule, where in wanted))
    return [right for some in found for right in some]


async def _extra(
    asked: KubernetesRights, hands: Mapping[str, Sequence[Rule]], places: Sequence[str], steps: Mapping[str, Step]
) -> list[Right]:
    """What no step needs at all, and what a step would need where the policy does not enable it."""
    writes = set(_rights(hands_rules(deeds(steps), steps), ""))
    due = {where: {_bare(right) for right in _rights(rules, where)} for where, rules in hands.items()}
    reads = {_bare(right) for right in _rights((*EYES, *DESK), "")}
    beyond = [
        right.model_copy(update={"namespace": where})
        for where in places
        for right in sorted(writes, key=str)
        if _bare(right) not in reads | due.get(where, set()) | due.get("", set())
    ]
    found = await asyncio.gather(asked.too_much(places), *(_granted(asked, right) for right in beyond))
    return _without_repeats([right for some in found for right in some])


async def _granted(asked: KubernetesRights, right: Right) -> list[Right]:
    rule = Rule(api_group=right.api_group, resources=(right.resource,), verbs=(right.verb,))
    return [] if await asked.can_i([rule], [right.namespace]) else [right]


def _rights(rules: Iterable[Rule], where: str) -> list[Right]:
    return [
        Right(verb=verb, resource=resource, api_group=rule.api_group, namespace=where)
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
    ]


def _bare(right: Right) -> Right:
    return right.model_copy(update={"namespace": ""})


def _without_repeats(found: list[Right]) -> list[Right]:
    """What is granted everywhere is not named again for each namespace."""
    everywhere = {_bare(right) for right in found if not right.namespace}
    return list(dict.fromkeys(right for right in found if not right.namespace or _bare(right) not in everywhere))


def _named(found: Sequence[Right]) -> str:
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(str(right) for right in found[:SHOWN]) + more
