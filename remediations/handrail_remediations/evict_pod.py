"""Evict one pod: away from a node that is ill or cordoned, or because it alone of its revision is not ready.

Decides whether that very pod may go. The API server asks the disruption budget again: its no is final, never retried.
It never takes the last ready pod, nor one that keeps data on its node.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from handrail.model import departure, pods
from handrail.model.guards import keeps_its_pods
from handrail.model.node import is_usable
from handrail.model.reason import Reason, Refusal
from handrail.model.step import (
    Bound,
    Candidate,
    CannotUndo,
    Done,
    Eyes,
    Risk,
    Rule,
    SeenPods,
    Undone,
    Verification,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.workload import pod_is_ready
from handrail.model.write import Verb, Write

NODE = ObjectRef(api_version="v1", kind="Node", namespace="", name="")
MOST_OFFERED = 3
MOST_NODES = 20


class EvictPod:
    """Disruptive: what the pod was doing ends, gracefully and within the disruption budget."""

    name = "evict_pod"
    risk = Risk.DISRUPTIVE
    kinds = frozenset({"Deployment", "StatefulSet"})
    needs = (Rule(api_group="", resources=("pods/eviction",), verbs=("create",)),)
    admits: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    way_back = "none: the pod is gone, and its controller makes another"

    class Params(Value):
        uid: str = Field(min_length=1, max_length=64)

    async def look(self, eyes: Eyes, target: ObjectRef) -> SeenPods | None:
        workload = await eyes.workload(target)
        if workload is None:
            return None
        names = sorted({pod["spec"]["nodeName"] for pod in workload.pods if (pod.get("spec") or {}).get("nodeName")})
        nodes = [await eyes.get(NODE.model_copy(update={"name": name})) for name in names[:MOST_NODES]]
        return SeenPods(
            workload=workload,
            budgets=await eyes.list("PodDisruptionBudget", target.namespace),
            nodes=tuple(node for node in nodes if node is not None),
        )

    def why_not(self, seen: SeenPods) -> Refusal | None:
        stands = [_pod_guards(seen, pod) for pod in seen.workload.pods]
        nothing = Refusal(reason=Reason.NO_CHANGE, detail=f"{seen.workload.ref} has no pod")
        return keeps_its_pods(seen.workload) or (None if None in stands else next(filter(None, stands), nothing))

    def propose(self, seen: SeenPods) -> tuple[Candidate, ...]:
        """Those that are not ready first: they have least to lose; three at most."""
        w = seen.workload
        if keeps_its_pods(w):
            return ()
        fit = [pod for pod in w.pods if _pod_guards(seen, pod) is None]
        fit.sort(key=lambda pod: (pod_is_ready(pod), str(pod["metadata"]["name"])))
        return tuple(
            Candidate(params={"uid": pod["metadata"]["uid"]}, summary=f"evict {departure.said(w, pod)}")
            for pod in fit[:MOST_OFFERED]
        )

    def check(self, seen: SeenPods, p: Params) -> Refusal | None:
        pod = pods.pod_of(seen.workload, p.uid)
        if pod is None:
            return Refusal(reason=Reason.TARGET_GONE, detail=f"{seen.workload.ref} has no pod of UID {p.uid} any more")
        return keeps_its_pods(seen.workload) or _pod_guards(seen, pod)

    def remember(self, seen: SeenPods, p: Params) -> Raw:
        return departure.remembered(seen.workload, p.uid)

    def writes(self, seen: SeenPods, p: Params) -> tuple[Write, ...]:
        pod = pods.pod_of(seen.workload, p.uid)
        if pod is None:
            return ()
        return (
            Write(verb=Verb.EVICT, object=ObjectRef.of(pod), summary=f"evict {departure.said(seen.workload, pod)}"),
        )

    def next(self, seen: SeenPods, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        return departure.gone(seen.workload, p.uid) or self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: SeenPods, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        return departure.helped(seen.workload, before, acted_at, now)

    def undo(self, seen: SeenPods, p: Params, before: Raw, now: datetime) -> Undone | CannotUndo:
        return departure.taken_back(seen.workload, p.uid)


def _pod_guards(seen: SeenPods, pod: Raw) -> Refusal | None:
    w = seen.workload
    return (
        pods.replaced(w, pod)
        or pods.someone_else(pod)
        or _no_reason(seen, pod)
        or pods.loses_data(pod)
        or pods.serves_alone(w, pod)
        or pods.budget_over(pod, seen.budgets)
    )


def _no_reason(seen: SeenPods, pod: Raw) -> Refusal | None:
    """Its node is ill or takes no pods any more, or it alone has not been ready for a while."""
    if any(_node_of(pod) == node["metadata"]["name"] and not is_usable(node) for node in seen.nodes):
        return None
    since, ref = pods.not_ready_since(pod), ObjectRef.of(pod)
    if pods.is_corpse(pod) or since is None:
        return Refusal(reason=Reason.NO_CHANGE, detail=f"{ref} serves where it is, or has ended already")
    if seen.workload.observed_at - since < pods.STEADY:
        detail = f"{ref} has been not ready for less than {pods.STEADY.seconds} seconds; it may come by itself"
        return Refusal(reason=Reason.TOO_EARLY, detail=detail)
    return pods.not_only_here(seen.workload, pod)


def _node_of(pod: Raw) -> str:
    return str((pod.get("spec") or {}).get("nodeName", ""))


step = EvictPod()
