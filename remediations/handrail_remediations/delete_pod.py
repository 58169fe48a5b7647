"""Delete one pod: the one replica of several that hangs. Or sweep corpses: pods that ended and are listed still.

Decides whether these very pods may go. A living one only where a controller makes it again, peers of the same revision
are ready, and it keeps no data on its node; of corpses a bounded number at a time, and never the newest of an owner,
which stays as evidence. It never takes a ready pod, and a person is always asked.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

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

MOST_OFFERED = 2
"""Of pods that hang; the sweep comes to them."""

MOST_SWEPT = 20
"""Corpses that one approval covers: as many as a person can still look through."""


Uid = Annotated[str, StringConstraints(min_length=1, max_length=64)]


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
        """One pod, or corpses: never both."""

        uid: str = Field(default="", max_length=64)
        corpses: tuple[Uid, ...] = Field(default=(), max_length=MOST_SWEPT)

        @model_validator(mode="after")
        def _one_or_the_other(self) -> Self:
            if bool(self.uid) == bool(self.corpses):
                raise ValueError("name the pod or the corpses")
            return self

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        return Seen(workload=workload) if workload else None

    def why_not(self, seen: Seen) -> Refusal | None:
        w = seen.workload
        stands = [_pod_guards(w, pod) for pod in w.pods if not pod_is_ready(pod)]
        nothing = Refusal(reason=Reason.NO_CHANGE, detail=f"every pod of {w.ref} is ready, and none is a corpse")
        return keeps_its_pods(w) or (None if None in stands else next(filter(None, stands), nothing))

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        """Those that hang, oldest names first, two at most; then as many corpses as one approval covers."""
        w = seen.workload
        if keeps_its_pods(w):
            return ()
        living = [pod for pod in w.pods if not pod_is_ready(pod) and not pods.is_corpse(pod)]
        fit = sorted(
            (pod for pod in living if _pod_guards(w, pod) is None), key=lambda pod: str(pod["metadata"]["name"])
        )
        hanging = (
            Candidate(params={"uid": pod["metadata"]["uid"]}, summary=f"delete {departure.said(w, pod)}")
            for pod in fit[:MOST_OFFERED]
        )
        return (*hanging, *_sweep(w))

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        """Corpses that somebody has swept meanwhile are no hindrance to the rest."""
        w, left = seen.workload, _left(seen.workload, p)
        if not left:
            return Refusal(reason=Reason.TARGET_GONE, detail=f"{w.ref} has no pod of UID {_named(p)[0]} any more")
        kept = next(filter(None, (pods.not_spare(w, pod) for pod in left if p.corpses)), None)
        return keeps_its_pods(w) or kept or next(filter(None, (_pod_guards(w, pod) for pod in left)), None)

    def remember(self, seen: Seen, p: Params) -> Raw:
        return {**departure.remembered(seen.workload, _named(p)[0]), "uids": list(_named(p))}

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        w = seen.workload
        return tuple(
            Write(verb=Verb.DELETE, object=ObjectRef.of(pod), summary=f"delete {departure.said(w, pod)}")
            for pod in _left(w, p)
        )

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        rest = _without_evidence(seen.workload, p)
        gone = departure.gone(seen.workload, *_named(rest))
        return gone or self.check(seen, rest) or self.writes(seen, rest)[0]

    def verify(self, seen: Seen, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        rest = _without_evidence(seen.workload, p)
        return departure.helped(seen.workload, {**before, "uids": list(_named(rest))}, acted_at, now)

    def undo(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Undone | CannotUndo:
        return departure.taken_back(seen.workload, *_named(p))


def _named(p: DeletePod.Params) -> tuple[str, ...]:
    return p.corpses or (p.uid,)


def _left(w: Workload, p: DeletePod.Params) -> list[Raw]:
    """Of the named ones those that are there: one that is going counts only while it is the only one named."""
    found = [pod for uid in _named(p) if (pod := pods.pod_of(w, uid))]
    return [pod for pod in found if not p.corpses or "deletionTimestamp" not in pod["metadata"]]


def _without_evidence(w: Workload, p: DeletePod.Params) -> DeletePod.Params:
    """Once a sweep has begun: without what became the newest of its owner since, because somebody swept that one."""
    there = {pod["metadata"]["uid"] for pod in w.pods}
    if not set(p.corpses) - there:
        return p
    spare = {pod["metadata"]["uid"] for pod in pods.spare_corpses(w)}
    kept = {pod["metadata"]["uid"] for pod in filter(pods.is_corpse, w.pods)} - spare
    return p.model_copy(update={"corpses": tuple(uid for uid in p.corpses if uid not in kept)})


def _sweep(w: Workload) -> tuple[Candidate, ...]:
    fit = [pod for pod in pods.spare_corpses(w) if _pod_guards(w, pod) is None]
    swept = [pod["metadata"]["uid"] for pod in fit[:MOST_SWEPT]]
    summary = f"delete {len(swept)} of {len(fit)} corpses of {w.ref}; the newest of each owner stays as evidence"
    return (Candidate(params={"corpses": swept}, summary=summary),) if swept else ()


def _pod_guards(w: Workload, pod: Raw) -> Refusal | None:
    """A corpse serves nobody and holds nothing that another pod could still read; that its node moved it (the condition
    DisruptionTarget of Kubernetes 1.26) says why it ended, and nobody is at it any more."""
    refusal = pods.replaced(w, pod)
    if refusal or pods.is_corpse(pod):
        return refusal
    return (
        pods.someone_else(pod)
        or pods.loses_data(pod)
        or pods.well(w, pod)
        or pods.not_only_here(w, pod)
        or pods.serves_alone(w, pod)
    )


step = DeletePod()
