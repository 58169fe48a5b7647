"""The control plane is ill, by a critical alert about it, or by too many nodes that are ill at once.

Of nodes it is confirmed by their conditions; an alert is a claim, and enough to stop every write until it is resolved
(`CONTROL_PLANE_SICK`): what one would act on may be stale, and controllers may not follow. Traps: warnings about it
are told and stop nothing; certificates that expire in a week stop nothing; many nodes at once are the network or the
control plane, and no node's fault (draino#54); etcd members are never touched. Hands over which alert, or how many
nodes. Nothing is done: a person gets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.labels import labelled_target
from handrail.model.node import Node, sickness_of
from handrail_detectors._alerts import table
from handrail_detectors._made import Facts, Made, Said, Settings, finding, target_of

NAME = "control_plane_sick"
ALERTS = {name: name for name, row in table().items() if row.cause is Cause.CONTROL_PLANE_SICK}
"""By the sender's word, ours: only what stands in the table is ever said."""


class Params(Settings):
    """`percent` of nodes that are ill at once, and at least `nodes` of them."""

    percent: int = Field(default=40, ge=10, le=100)
    nodes: int = Field(default=2, ge=2, le=1000)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    for alert in window.alerts:
        name = ALERTS.get(alert.name)
        if alert.severity == "critical" and name is not None and window.node is None:
            summary = f"{name}: the control plane is not well; nothing is written before it is"
            said = Said(Cause.CONTROL_PLANE_SICK, Handling.DIAGNOSE, summary, {"alert": name}, False, "critical")
            yield finding(NAME, labelled_target(alert), said)
    if window.node is not None:
        yield from _nodes(window.node, p)


def _nodes(node: Node, p: Params) -> Iterator[Finding]:
    total = len(node.others) + 1
    ill = sum(bool(sickness_of(one)) for one in (node.object, *node.others))
    if ill < p.nodes or 100 * ill < p.percent * total:
        return
    facts: Facts = {"ill": ill, "nodes": total}
    summary = f"{ill} of {total} nodes are ill at once: the network or the control plane, and no node's fault"
    said = Said(Cause.CONTROL_PLANE_SICK, Handling.DIAGNOSE, summary, facts, severity="critical")
    yield finding(NAME, target_of(node.object), said)


detector = Made(
    name=NAME,
    watches=frozenset({Watches.ALERTS, Watches.NODE}),
    Params=Params,
    find=find,
    confirmed_by="the conditions of the nodes; an alert of its own is a claim that stops writes all the same",
    example="KubeAPIDown: the control plane is not well; nothing is written before it is",
)
