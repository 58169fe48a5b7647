"""Cordon a node: no new pods go to a node that is ill. Pods that run on it are left alone.

Decides whether that very node is ill, alone and for long enough. It never cordons a node that is well, one too many,
or one that somebody else works on. It mends nothing by itself: unless the node recovers, a person gets it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.model import marks, nodes
from handrail.model.guards import being_deleted, managed
from handrail.model.node import Node, ready_pods
from handrail.model.params import CompileTime, stamp
from handrail.model.reason import Reason, Refusal
from handrail.model.step import (
    Bound,
    Candidate,
    CannotUndo,
    Done,
    Eyes,
    Risk,
    Rule,
    SeenNode,
    Undone,
    Verdict,
    Verification,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.write import Verb, Write

PATIENCE = timedelta(minutes=5)
"""How long the node may take to recover before a person gets it."""


class Cordon:
    """Reversible: nothing that runs is touched, and the node can be opened again."""

    name = "cordon"
    risk = Risk.REVERSIBLE
    kinds = frozenset({"Node"})
    needs = (Rule(api_group="", resources=("nodes",), verbs=("patch",)),)
    admits = ("/spec/unschedulable",)
    bounds: tuple[Bound, ...] = ()
    way_back = "the node is opened again, unless somebody else has cordoned it since"

    class Params(Value):
        at: CompileTime

    async def look(self, eyes: Eyes, target: ObjectRef) -> SeenNode | None:
        node = await eyes.node(target)
        return SeenNode(node=node) if node else None

    def why_not(self, seen: SeenNode) -> Refusal | None:
        """All that stands against it: the time makes no difference."""
        n = seen.node
        held = being_deleted(n) or managed(n) or nodes.used_by_others(n) or _is_cordoned(n)
        return held or nodes.well(n) or nodes.too_many(n)

    def propose(self, seen: SeenNode) -> tuple[Candidate, ...]:
        if self.why_not(seen):
            return ()
        return (Candidate(params={}, summary=f"cordon {seen.node.ref} ({seen.node.sickness}): no new pods go there"),)

    def check(self, seen: SeenNode, p: Params) -> Refusal | None:
        return self.why_not(seen)

    def remember(self, seen: SeenNode, p: Params) -> Raw:
        return {"sickness": seen.node.sickness, "ready": len(ready_pods(seen.node))}

    def writes(self, seen: SeenNode, p: Params) -> tuple[Write, ...]:
        ops = (
            {"op": "add", "path": marks.pointer(marks.CORDONED_AT), "value": stamp(p.at)},
            {"op": "add", "path": "/spec/unschedulable", "value": True},
        )
        return (_write(seen.node, ops, f"cordon {seen.node.ref}"),)

    def next(self, seen: SeenNode, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        """Done is asked first: our own cordon is one that `check` refuses."""
        if _is_by(seen.node, p.at):
            return Done(detail=f"{seen.node.ref} takes no new pods since {stamp(p.at)}")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: SeenNode, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        n, until = seen.node, acted_at + PATIENCE
        if not n.cordoned:
            return Verification(verdict=Verdict.NO_EFFECT, detail=f"somebody has opened {n.ref} again")
        if not n.sickness and now - acted_at >= nodes.STEADY:
            return Verification(verdict=Verdict.HEALED, detail=f"{n.ref} is well again; it is still cordoned")
        if now < until:
            return Verification(verdict=Verdict.NOT_YET, detail=f"{n.ref} is ill: {n.sickness}", until=until)
        detail = f"{n.ref} is cordoned and still ill ({n.sickness}); a person has to look at the machine"
        return Verification(verdict=Verdict.NO_EFFECT, detail=detail)

    def undo(self, seen: SeenNode, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        n = seen.node
        if not n.cordoned:
            return Undone(detail=f"{n.ref} takes new pods, as before")
        if not _is_by(n, p.at):
            return CannotUndo(detail=f"somebody else has cordoned {n.ref} since; theirs stays")
        in_the_way = being_deleted(n) or managed(n) or nodes.used_by_others(n)
        ops = tuple({"op": "remove", "path": at} for at in ("/spec/unschedulable", marks.pointer(marks.CORDONED_AT)))
        return CannotUndo(detail=in_the_way.detail) if in_the_way else _write(n, ops, f"uncordon {n.ref}")


def _is_cordoned(n: Node) -> Refusal | None:
    return Refusal(reason=Reason.NO_CHANGE, detail=f"{n.ref} is cordoned already") if n.cordoned else None


def _is_by(n: Node, at: datetime) -> bool:
    return n.cordoned and marks.note_of(n.object, marks.CORDONED_AT) == stamp(at)


def _write(n: Node, ops: tuple[Raw, ...], summary: str) -> Write:
    return Write(verb=Verb.PATCH, object=n.ref, ops=ops, summary=summary)


step = Cordon()
