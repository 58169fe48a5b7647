"""A node is not ready or under pressure; or one that Handrail cordoned is well again.

Confirmed by the node's condition, held for minutes, with a heartbeat that is recent (but where the node is lost: then
that there is none is the point) and a second signal: the taint of the node controller, pods on it that are not ready,
or events of it. Traps: Unknown is not dead, its pods may run and write; some conditions never clear by themselves, so
one without a heartbeat counts for nothing (node-problem-detector#474, #215); cordoning makes the alert resolve; a
node that others work on is theirs; many at once are no node's fault, and belong to `control_plane_sick`. Hands the
planner what is wrong, since when, and who works on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from pydantic import Field

from handrail.model import nodes
from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.node import PRESSURES, Node, condition
from handrail.model.rollout import live
from handrail.model.value import moment
from handrail.model.workload import pod_is_ready
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, tally, target_of

NAME = "node_sick"
TAINTS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
REASONS = frozenset(
    {"NodeNotReady", "NodeHasDiskPressure", "NodeHasInsufficientMemory", "NodeHasInsufficientPID", "SystemOOM"}
    | {"EvictionThresholdMet", "FreeDiskSpaceFailed", "OOMKilling", "Rebooted", "KubeletSetupFailed"}
)
HEARTBEAT = timedelta(minutes=10)
"""Kubelets post their status every five minutes at the latest."""


class Params(Settings):
    """`seconds`: for so long it is ill; `times`: so many events open."""

    seconds: int = Field(default=120, ge=60, le=3600)
    times: int = Field(default=3, ge=2, le=100)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    node = window.node
    if node is not None and "deletionTimestamp" not in node.object["metadata"]:
        yield from _of(node, window, now, p)
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"a node reported trouble {told.times} times, last {told.newest.reason}"
        said = Said(Cause.NODE_PRESSURE, Handling.DIAGNOSE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _of(node: Node, window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    lost = _lost(node, now, p.seconds)
    if lost and _second_signal(node, window, now):
        yield finding(NAME, target_of(node.object), _not_ready(node))
        return
    pressed = [name for name in PRESSURES if _pressed(node, name, now, p.seconds)]
    if pressed:
        facts: Facts = {"pressure": ", ".join(pressed), "pods": len(live(node.pods))}
        summary = f"the node is short of something: {facts['pressure']}; its kubelet evicts pods"
        said = Said(Cause.NODE_PRESSURE, Handling.DIAGNOSE, summary, facts)
        yield finding(NAME, target_of(node.object), said)
    if node.cordoned and nodes.not_ours(node) is None and nodes.ill(node) is None:
        summary = "the node was cordoned by Handrail and has been well for a while"
        said = Said(Cause.NODE_CORDONED, Handling.APPROVE, summary, {"ready": True})
        yield finding(NAME, target_of(node.object), said)


def _lost(node: Node, now: datetime, seconds: int) -> bool:
    """Not ready for long enough, by a kubelet that still speaks, or by its silence."""
    ready = condition(node.object, "Ready")
    since, beat = moment(ready.get("lastTransitionTime")), moment(ready.get("lastHeartbeatTime"))
    if ready.get("status") not in ("False", "Unknown") or since is None:
        return False
    speaks = ready["status"] == "Unknown" or (beat is not None and now - beat <= HEARTBEAT)
    return speaks and (now - since).total_seconds() >= seconds


def _second_signal(node: Node, window: Window, now: datetime) -> bool:
    taints = {str(taint.get("key")) for taint in (node.object.get("spec") or {}).get("taints") or ()}
    silent = bool(live(node.pods)) and not any(map(pod_is_ready, node.pods))
    return bool(taints & TAINTS) or silent or tally(window, REASONS, now) is not None


def _not_ready(node: Node) -> Said:
    """A second actor, or many at once: then a person."""
    status = str(condition(node.object, "Ready")["status"])
    facts: Facts = {"ready": status, "pods": len(live(node.pods)), "cordoned": node.cordoned}
    facts |= {"used_by": node.used_by} if node.used_by else {}
    alone = not node.used_by and not node.cordoned and nodes.too_many(node) is None
    what = "its kubelet has fallen silent" if status == "Unknown" else "its kubelet says it is not ready"
    other = f"; {node.used_by} works on it" if node.used_by else "; it is cordoned already" if node.cordoned else ""
    summary = f"{what}{other}"
    return Said(Cause.NODE_NOT_READY, Handling.APPROVE if alone else Handling.DIAGNOSE, summary, facts)


def _pressed(node: Node, name: str, now: datetime, seconds: int) -> bool:
    found = condition(node.object, name)
    since, beat = moment(found.get("lastTransitionTime")), moment(found.get("lastHeartbeatTime"))
    if found.get("status") != "True" or since is None or beat is None:
        return False
    return now - beat <= HEARTBEAT and (now - since).total_seconds() >= seconds


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.NODE}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the node's condition with a recent heartbeat, and a second signal: its taint, its pods or its events",
    example="its kubelet has fallen silent",
)
