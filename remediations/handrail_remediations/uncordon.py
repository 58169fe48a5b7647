"""Uncordon a node: opens a node that Handrail has cordoned, once it is well again.

Decides whether the cordon is ours and the node well for long enough. It never opens what somebody else has closed:
their mark on the field says so, even where our own note is still there.
"""

from __future__ import annotations

from datetime import datetime

from handrail.model import marks, nodes
from handrail.model.guards import being_deleted, managed
from handrail.model.node import Node
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


class Uncordon:
    """Reversible: pods may go there again, and the node can be closed again."""

    name = "uncordon"
    risk = Risk.REVERSIBLE
    kinds = frozenset({"Node"})
    needs = (Rule(api_group="", resources=("nodes",), verbs=("patch",)),)
    admits = ("/spec/unschedulable",)
    bounds: tuple[Bound, ...] = ()
    way_back = "the node is cordoned again, with the note that it had"

    class Params(Value):
        pass

    async def look(self, eyes: Eyes, target: ObjectRef) -> SeenNode | None:
        node = await eyes.node(target)
        return SeenNode(node=node) if node else None

    def why_not(self, seen: SeenNode) -> Refusal | None:
        n = seen.node
        held = being_deleted(n) or managed(n) or nodes.used_by_others(n)
        return held or _is_open(n) or nodes.not_ours(n) or nodes.ill(n)

    def propose(self, seen: SeenNode) -> tuple[Candidate, ...]:
        if self.why_not(seen):
            return ()
        at = marks.note_of(seen.node.object, marks.CORDONED_AT)
        return (Candidate(params={}, summary=f"uncordon {seen.node.ref}, which Handrail cordoned at {at}"),)

    def check(self, seen: SeenNode, p: Params) -> Refusal | None:
        return self.why_not(seen)

    def remember(self, seen: SeenNode, p: Params) -> Raw:
        return {"cordoned_at": marks.note_of(seen.node.object, marks.CORDONED_AT)}

    def writes(self, seen: SeenNode, p: Params) -> tuple[Write, ...]:
        ops = tuple({"op": "remove", "path": at} for at in ("/spec/unschedulable", marks.pointer(marks.CORDONED_AT)))
        return (_write(seen.node, ops, f"uncordon {seen.node.ref}"),)

    def next(self, seen: SeenNode, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        if not seen.node.cordoned:
            return Done(detail=f"{seen.node.ref} takes new pods")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: SeenNode, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        n, until = seen.node, acted_at + 2 * nodes.STEADY
        if n.cordoned:
            return Verification(verdict=Verdict.NO_EFFECT, detail=f"somebody has cordoned {n.ref} again")
        if n.sickness:
            return Verification(verdict=Verdict.WORSE, detail=f"{n.ref} takes pods and is ill again: {n.sickness}")
        if now - acted_at < nodes.STEADY:
            return Verification(verdict=Verdict.NOT_YET, detail="watching whether it stays well", until=until)
        return Verification(verdict=Verdict.HEALED, detail=f"{n.ref} takes new pods and stays well")

    def undo(self, seen: SeenNode, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        n, at = seen.node, str(before["cordoned_at"])
        if n.cordoned and marks.note_of(n.object, marks.CORDONED_AT) == at:
            return Undone(detail=f"{n.ref} is cordoned, as before")
        if n.cordoned:
            return CannotUndo(detail=f"somebody else has cordoned {n.ref} since; theirs stays")
        in_the_way = being_deleted(n) or managed(n) or nodes.used_by_others(n)
        ops = (
            {"op": "add", "path": marks.pointer(marks.CORDONED_AT), "value": at},
            {"op": "add", "path": "/spec/unschedulable", "value": True},
        )
        return CannotUndo(detail=in_the_way.detail) if in_the_way else _write(n, ops, f"cordon {n.ref} again")


def _is_open(n: Node) -> Refusal | None:
    return None if n.cordoned else Refusal(reason=Reason.NO_CHANGE, detail=f"{n.ref} takes new pods already")


def _write(n: Node, ops: tuple[Raw, ...], summary: str) -> Write:
    return Write(verb=Verb.PATCH, object=n.ref, ops=ops, summary=summary)


step = Uncordon()
