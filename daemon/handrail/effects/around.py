"""Reads what stands around a workload's pods, for the blast radius: budgets, Services, and the pods behind each."""

from __future__ import annotations

from handrail.core.blast import NOTHING, Around, touched
from handrail.model.saga import SagaStep
from handrail.model.selector import labels_of, selects
from handrail.model.step import Eyes, Thing
from handrail.model.workload import Workload
from handrail.model.write import Write

MOST_SERVICES = 10


async def around(eyes: Eyes, thing: Thing, steps: tuple[SagaStep, ...], writes: tuple[Write, ...]) -> Around:
    """Nothing is read where no pod would go. Raises Transient, Permanent."""
    if not isinstance(thing, Workload) or not (gone := touched(thing, steps, writes)):
        return NOTHING
    namespace = thing.ref.namespace
    budgets = await eyes.list("PodDisruptionBudget", namespace)
    found = [
        service
        for service in await eyes.list("Service", namespace)
        if (picks := (service.get("spec") or {}).get("selector"))
        and any(selects({"matchLabels": picks}, labels_of(pod)) for pod in gone)
    ][:MOST_SERVICES]
    behind = {}
    for service in found:
        picked = ",".join(f"{key}={text}" for key, text in sorted(service["spec"]["selector"].items()))
        behind[service["metadata"]["name"]] = await eyes.list("Pod", namespace, labels=picked)
    return Around(budgets=budgets, services=tuple(found), behind=behind)
