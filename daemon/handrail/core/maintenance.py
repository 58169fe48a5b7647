"""Marks that say: somebody is at work here, keep off. On the object, its namespace, and nodes that its pods fail on.

Pure. A mark with a time holds until then, one with any other text until it is taken away.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from handrail.core.words import clock, one_line, plural
from handrail.model.marks import MAINTENANCE, note_of
from handrail.model.node import used_by
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Thing
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, moment
from handrail.model.workload import Workload, pod_is_ready

MOST_NODES = 5
"""Nodes that are read for one workload."""

TEXT = 200


def nodes_to_read(thing: Thing) -> tuple[str, ...]:
    """Names of the nodes that its failing pods are on."""
    pods = thing.pods if isinstance(thing, Workload) else ()
    return tuple(dict.fromkeys(_node_of(pod) for pod in _failing(pods) if _node_of(pod)))[:MOST_NODES]


def kept_off(thing: Thing, namespace: Raw | None, nodes: Iterable[Raw], now: datetime) -> Refusal | None:
    """Why nothing may be done to it now. Our own mark counts on each of them; those of others on nodes, and only where
    every pod that fails is on such a node: else the trouble is not theirs."""
    nodes = tuple(nodes)
    for raw in (thing.object, *([namespace] if namespace else []), *nodes):
        if refusal := marked(raw, now):
            return refusal
    return _others(thing, nodes)


def marked(raw: Raw, now: datetime) -> Refusal | None:
    """By `handrail.dev/maintenance` alone."""
    if MAINTENANCE not in (raw["metadata"].get("annotations") or {}):
        return None
    text = note_of(raw, MAINTENANCE).strip()
    until = _until(text)
    if until is not None and until <= now:
        return None
    ref = ObjectRef.of(raw)
    said = f"until {until.astimezone(UTC):%Y-%m-%d} {clock(until.astimezone(UTC))}" if until else one_line(text, TEXT)
    detail = f"{ref} is marked as in maintenance{f': {said}' if said else ''}; take {MAINTENANCE} away when it is over"
    return Refusal(reason=Reason.IN_MAINTENANCE, detail=detail)


def _until(text: str) -> datetime | None:
    """A day without a time is meant whole."""
    until = moment(text)
    return until + timedelta(days=1) if until is not None and len(text) == len("2026-03-02") else until


def _others(thing: Thing, nodes: tuple[Raw, ...]) -> Refusal | None:
    if not isinstance(thing, Workload):
        return None
    at_work = {node["metadata"]["name"]: used_by(node) for node in nodes if used_by(node)}
    failing = _failing(thing.pods)
    if not at_work or not failing or any(_node_of(pod) not in at_work for pod in failing):
        return None
    name, who = next(iter(at_work.items()))
    more = f" and {plural(len(at_work) - 1, 'other node')}" if len(at_work) > 1 else ""
    detail = f"{who} is working on Node {name}{more}, where every failing pod of {thing.ref} is; it moves them itself"
    return Refusal(reason=Reason.SOMEONE_ELSE_ACTS, detail=detail)


def _failing(pods: Iterable[Raw]) -> list[Raw]:
    return [pod for pod in pods if not pod_is_ready(pod)]


def _node_of(pod: Raw) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")
