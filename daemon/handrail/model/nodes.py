"""Guards over a node: may it be cordoned, may it be opened again? Pure; each says why not, or None."""

from __future__ import annotations

from datetime import timedelta

from handrail.model.marks import CORDONED_AT, OWNER, note_of, set_by
from handrail.model.node import Node, condition, is_usable, sickness_of
from handrail.model.reason import Reason, Refusal
from handrail.model.value import moment

STEADY = timedelta(seconds=60)
"""Conditions of nodes flap: what holds for less is not acted on."""

LEAST_USABLE = 51
"""Per cent of all nodes that must still take new pods afterwards: fewer, and it is no fault of single nodes."""

MOST_SICK = 40
"""Per cent of nodes that are ill from which on nothing is cordoned: the network or the control plane is ill then."""


def used_by_others(node: Node) -> Refusal | None:
    if node.used_by:
        detail = f"{node.used_by} is working on {node.ref}; a second actor is one too many"
        return Refusal(reason=Reason.SOMEONE_ELSE_ACTS, detail=detail)
    return None


def well(node: Node) -> Refusal | None:
    """Nothing is wrong with it, or not for long enough to be sure."""
    if not node.sickness:
        return Refusal(reason=Reason.NODE_IS_WELL, detail=f"{node.ref} is ready and under no pressure")
    since = node.sick_since
    if since is None or node.observed_at - since < STEADY:
        detail = f"{node.ref} is ill ({node.sickness}) for less than {STEADY.seconds} seconds; it may come by itself"
        return Refusal(reason=Reason.TOO_EARLY, detail=detail)
    return None


def too_many(node: Node) -> Refusal | None:
    """Many at once are no node's fault, and no node may be the one too many (draino#54, NHC's minHealthy)."""
    total = len(node.others) + 1
    usable = 100 * sum(map(is_usable, node.others)) // total
    sick = 100 * sum(bool(sickness_of(one)) for one in (node.object, *node.others)) // total
    if sick >= MOST_SICK:
        detail = f"{sick} % of {total} nodes are ill: no fault of a single one; look at network and control plane"
        return Refusal(reason=Reason.TOO_MANY_NODES, detail=detail)
    if usable < LEAST_USABLE:
        detail = f"without {node.ref} only {usable} % of {total} nodes would take pods; {LEAST_USABLE} % are needed"
        return Refusal(reason=Reason.TOO_MANY_NODES, detail=detail)
    return None


def not_ours(node: Node) -> Refusal | None:
    """Ours is a cordon with our mark whose field we set last: a person who cordoned it anew since is seen by that."""
    entry = set_by(node.object, "unschedulable")
    if note_of(node.object, CORDONED_AT) and entry is not None and entry.get("manager") == OWNER:
        return None
    detail = f"{node.ref} was cordoned by somebody else; whoever did it knows why, and opens it again"
    return Refusal(reason=Reason.NOT_OURS, detail=detail)


def ill(node: Node) -> Refusal | None:
    """Opened only when it has been well for a while."""
    if node.sickness:
        return Refusal(reason=Reason.NODE_IS_SICK, detail=f"{node.ref} is still ill: {node.sickness}")
    since = moment(condition(node.object, "Ready").get("lastTransitionTime"))
    if since is None or node.observed_at - since < STEADY:
        detail = f"{node.ref} has been ready for less than {STEADY.seconds} seconds"
        return Refusal(reason=Reason.TOO_EARLY, detail=detail)
    return None
