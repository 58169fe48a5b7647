"""One world for each step and kind in which it may act: what the suite over the catalogue judges.

A step of your own needs a row here (docs/add-a-step.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.model.autoscaler import Autoscaler
from handrail.model.node import Node
from handrail.model.step import Seen, SeenAutoscaler, SeenNode, SeenPods, Sight, Step, Thing
from handrail.model.value import Raw
from handrail.model.workload import Workload
from handrail_remediations import catalogue
from tests.remediations.workloads import (
    bad_revision,
    bad_rollout,
    budget,
    deadlocked,
    limited,
    node,
    our_cordon,
    paused_by,
    sick_node,
    steady,
    strewn,
)

CATALOGUE = catalogue()


class Case(NamedTuple):
    """`back` says whether it can be taken back; `around` are the objects that stand around the thing."""

    name: str
    thing: Thing
    given: dict[str, Any]
    back: bool
    around: tuple[Raw, ...] = ()

    @property
    def step(self) -> Step:
        return CATALOGUE[self.name]

    def sight(self, thing: Thing | None = None) -> Sight:
        """What the step's look gives of this thing (of another in its place) with what stands around it."""
        return sight(self.name, thing or self.thing, self.around)

    def __str__(self) -> str:
        return f"{self.name}-{self.thing.ref.kind}{'-corpses' if 'corpses' in self.given else ''}"


def sight(name: str, thing: Thing, around: tuple[Raw, ...] = ()) -> Sight:
    if isinstance(thing, Node):
        return SeenNode(node=thing)
    if isinstance(thing, Autoscaler):
        return SeenAutoscaler(autoscaler=thing)
    if name == "evict_pod":
        kinds = {kind: tuple(one for one in around if one["kind"] == kind) for kind in ("PodDisruptionBudget", "Node")}
        return SeenPods(workload=thing, budgets=kinds["PodDisruptionBudget"], nodes=kinds["Node"])
    return Seen(workload=thing)


def hung(w: Workload) -> str:
    """UID of the pod that hangs."""
    return str(w.pods[4]["metadata"]["uid"])


CASES: tuple[Case, ...] = (
    Case("rollout_undo", bad_rollout(), {"to_revision": 1}, back=True),
    Case("rollout_undo", bad_revision("StatefulSet"), {"to_revision": 1}, back=True),
    Case("rollout_undo", bad_revision("DaemonSet"), {"to_revision": 1}, back=True),
    *(Case("rollout_restart", steady(kind), {}, back=False) for kind in ("Deployment", "StatefulSet", "DaemonSet")),
    Case("scale_workload", steady(), {"replicas": 5}, back=True),
    Case("scale_workload", steady("StatefulSet"), {"replicas": 4}, back=True),
    *(
        Case("delete_pod", deadlocked(kind), {"uid": hung(deadlocked(kind))}, back=False)
        for kind in ("Deployment", "StatefulSet", "DaemonSet")
    ),
    Case("delete_pod", strewn(5), {"corpses": [f"corpse-{n}" for n in range(4)]}, back=False),
    *(
        Case("evict_pod", deadlocked(kind), {"uid": hung(deadlocked(kind))}, False, (budget(1), node("node-1")))
        for kind in ("Deployment", "StatefulSet")
    ),
    Case("cordon", sick_node(), {}, back=True),
    Case("uncordon", our_cordon(), {}, back=True),
    Case("set_hpa_bounds", limited(), {"max_replicas": 8}, back=True),
    Case("resume_rollout", paused_by(), {}, back=True),
    *(Case("annotate", steady(kind), {}, back=True) for kind in ("Deployment", "StatefulSet", "DaemonSet")),
)
