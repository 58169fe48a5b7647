"""Delete one pod: the one replica of several that hangs, or the corpse of one that was evicted.

Decides whether that very pod may go. Only one that a controller makes again, whose peers of the same revision are
ready, and that keeps no data on its node. It never takes a ready pod, and a person is always asked.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from handrail.model import departure, pods
from handrail.model.guards import keeps_its_pods
from handrail.model.reason import Reason, Refusal
from handrail.model.step import (
    Bound,
    Candidate,
    CannotUndo,
    Done,
    Eyes,
    Risk,
    Rule,
    Seen,
    Undone,
    Verification,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload, pod_is_ready
from handrail.model.write import Verb, Write

MOST_OFFERED = 3


class DeletePod:
    """Disruptive: what the pod was doing ends. A delete asks no disruption budget, so the guards count themselves."""

    name = "delete_pod"
    risk = Risk.DISRUPTIVE
    kinds = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
    needs = (Rule(api_group="", resources=("pods",), verbs=("delete",)),)
    admits: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    way_back = "none: the pod is gone, and its controller makes another"

    class Params(Value):
        uid: str = Field(min_length=1, max_length=64)

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        return Seen(workload=workload) if workload else None

    def why_not(self, seen: Seen) -> Refusal | None:
        w = seen.workload
        stands = [_pod_guards(w, pod) for pod in w.pods if not pod_is_ready(pod)]
        nothing = Refusal(reason=Reason.NO_CHANGE, detail=f"every pod of {w.ref} is ready, and none is a corpse")
        return keeps_its_pods(w) or (None if None in stands else next(filter(None, stands), nothing))

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        """Those that hang first, then corpses; oldest names first, three at most."""
        w = seen.workload
        if keeps_its_pods(w):
            return ()
        fit = [pod for pod in w.pods if not pod_is_ready(pod) and _pod_guards(w, pod) is None]
        fit.sort(key=lambda pod: (pods.is_corpse(pod), str(pod["metadata"]["name"])))
        return tuple(
            Candidate(params={"uid": pod["metadata"]["uid"]}, summary=f"delete {departure.said(w, pod)}")
            for pod in fit[:MOST_OFFERED]
        )

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        pod = pods.pod_of(seen.workload, p.uid)
        if pod is None:
            return Refusal(reason=Reason.TARGET_GONE, detail=f"{seen.workload.ref} has no pod of UID {p.uid} any more")
        return keeps_its_pods(seen.workload) or _pod_guards(seen.workload, pod)

    def remember(self, seen: Seen, p: Params) -> Raw:
        return departure.remembered(seen.workload, p.uid)

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        pod = pods.pod_of(seen.workload, p.uid)
        if pod is None:
            return ()
        return (
            Write(verb=Verb.DELETE, object=ObjectRef.of(pod), summary=f"delete {departure.said(seen.workload, pod)}"),
        )

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        return departure.gone(seen.workload, p.uid) or self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: Seen, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        return departure.helped(seen.workload, before, acted_at, now)

    def undo(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Undone | CannotUndo:
        return departure.taken_back(seen.workload, p.uid)


def _pod_guards(w: Workload, pod: Raw) -> Refusal | None:
    """A corpse serves nobody and holds nothing that another pod could still read."""
    refusal = pods.replaced(w, pod) or pods.someone_else(pod)
    if refusal or pods.is_corpse(pod):
        return refusal
    return pods.loses_data(pod) or _well(w, pod) or pods.not_only_here(w, pod) or pods.serves_alone(w, pod)


def _well(w: Workload, pod: Raw) -> Refusal | None:
    since, ref = pods.not_ready_since(pod), ObjectRef.of(pod)
    if pod_is_ready(pod):
        others = pods.serves_alone(w, pod)
        return others or Refusal(reason=Reason.NO_CHANGE, detail=f"{ref} is ready; nothing is mended by deleting it")
    if since is None or w.observed_at - since < pods.STEADY:
        detail = f"{ref} has been not ready for less than {pods.STEADY.seconds} seconds; it may come by itself"
        return Refusal(reason=Reason.TOO_EARLY, detail=detail)
    return None


step = DeletePod()
