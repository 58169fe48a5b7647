"""What the API server refused because of a stop that the cluster itself holds becomes a stop of ours (state rule 8).

It stays until a person says start, also where the cluster's own has been lifted meanwhile, and nothing is sent again
before. Any other 403 is a refusal. Never asks anybody to write.
"""

from __future__ import annotations

import structlog

from handrail.core.rights import enabled, hands_rules
from handrail.core.saga import paused
from handrail.effects.tools import Tools
from handrail.model.errors import Permanent, Transient
from handrail.model.hands import Held, Sent
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Rule
from handrail.model.switch import CLUSTER, Stop
from handrail.model.write import Write

log = structlog.get_logger("latch")

GONE = "none of the rights to write is left; somebody has deleted the binding of the hands"
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


async def held_by_cluster(tools: Tools, write: Write, no: Refusal | Sent) -> Held | None:
    """The stop that this no is about: that of a namespace by the server's own words, that of all by our rights."""
    found = no if isinstance(no, Held) else no.held if isinstance(no, Sent) else None
    if found is not None or no.reason is not Reason.DENIED or not tools.config.kubernetes.hands_enabled:
        return found
    return Held(detail=GONE) if await _all_gone(tools, write.object.namespace) else None


async def _all_gone(tools: Tools, namespace: str) -> bool:
    """Every right to write that the enabled steps have there. One that can't be asked about may be there: a refusal."""
    rules = _rules(tools, namespace)
    if not rules:
        return False
    try:
        return not await tools.rights.may_any(rules, namespace)
    except (Transient, Permanent) as away:
        log.warning("what may be written can't be found out", namespace=namespace, why=str(away)[:300])
        return False


def _rules(tools: Tools, namespace: str) -> tuple[Rule, ...]:
    """By the last policy that could be read: this permits nothing."""
    found = enabled(tools.policy.last_good(), tools.steps)
    some = {*found.get(namespace, ()), *found.get("*", ())}
    rules = (_writing(rule) for rule in hands_rules(some, tools.steps))
    return tuple(rule for rule in rules if rule.verbs)


def _writing(rule: Rule) -> Rule:
    return rule.model_copy(update={"verbs": tuple(verb for verb in rule.verbs if verb in WRITES)})


def stop_of(held: Held) -> Stop:
    return Stop(reach=held.reach, by=CLUSTER, why=held.detail)


async def latch(tools: Tools, incident: Incident, held: Held) -> Incident:
    """The stop and what this incident is told of it, in one transaction; it goes on where it stands after `start`."""
    stop = stop_of(held)
    log.warning("the cluster holds a stop", incident=incident.id, reach=str(stop.reach), why=stop.why[:300])
    tools.signs.refused(Reason.STOPPED, str(incident.state))
    return await tools.store.latch(incident, stop, (paused(incident, stop),))
