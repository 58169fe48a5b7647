"""The API server's typed fields about an object and its pods; what people or programs wrote there is kept apart.

`api` pieces hold numbers, reasons, states and names only, and begin with the line that tells most. Messages of
conditions and of ended containers are words of the world and go to a piece of their own that is trusted as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from handrail.adapters.evidence.pieces import Origin, lines, piece
from handrail.core.words import plural
from handrail.model.evidence import Piece, Trust
from handrail.model.node import Node, is_usable, sickness_of
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload, container_states, pod_is_ready, revision_of

MOST_PODS = 20
STATUS_NUMBERS = (
    "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
    "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberUnavailable", "updatedNumberScheduled",
    "active", "succeeded", "failed", "currentReplicas", "desiredReplicas", "currentRevision", "updateRevision",
)  # fmt: skip
SPEC_FIELDS = ("replicas", "paused", "progressDeadlineSeconds", "minReadySeconds", "suspend", "unschedulable",
               "minReplicas", "maxReplicas", "schedule", "backoffLimit")  # fmt: skip
GOOD = frozenset({"Available", "Progressing", "Ready", "Initialized", "PodScheduled", "AbleToScale", "ScalingActive"})
BAD = frozenset({"ReplicaFailure", "Failed", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})
"""Conditions that are good news when they are True, and bad news when they are."""


def about(found: Raw, workload: Workload | None, now: datetime) -> Piece:
    """Spec summary, status and conditions of the object itself."""
    ref, spec, status = ObjectRef.of(found), found.get("spec") or {}, found.get("status") or {}
    meta = found["metadata"]
    said = [glance] if (glance := _at_a_glance(found, workload)) else []
    said += [f"{ref}, uid {ref.uid}, generation {meta.get('generation', 0)}, created {meta.get('creationTimestamp')}"]
    if "deletionTimestamp" in meta:
        said.append(f"being deleted since {meta['deletionTimestamp']}")
    said += [f"spec.{name}: {spec[name]}" for name in SPEC_FIELDS if name in spec]
    said += [f"status.{name}: {status[name]}" for name in STATUS_NUMBERS if name in status]
    said += [f"container {c.get('name')}: image {c.get('image')}" for c in _containers(spec)]
    said += [_condition(one) for one in status.get("conditions") or ()]
    said += _owners(workload) if workload else ()
    return piece(Origin("owner", f"kubernetes: {ref}", now, Trust.API), f"{ref}: spec and status", lines(said))


def static(pod: Raw, node: ObjectRef, now: datetime) -> Piece:
    """A pod that its node makes from a file: the API server shows a mirror of it, and no step changes it."""
    ref = ObjectRef.of(pod)
    said = [f"{ref} is a static pod of {node}: it is changed by a file on that node, and by no step"]
    said += _pod(pod)
    return piece(Origin("pods", f"kubernetes: {ref}", now, Trust.API), f"{ref}, a static pod of the node", lines(said))


def neighbours(node: Node, now: datetime) -> Piece:
    """How the other nodes are: one that is ill alone is another matter than many."""
    usable = sum(map(is_usable, node.others))
    ill = [one["metadata"]["name"] for one in node.others if sickness_of(one)]
    said = [f"{usable} of {plural(len(node.others), 'other node')} take new pods; {len(ill)} of them are ill"]
    said += [f"{node.ref} is ill: {node.sickness}"] if node.sickness else []
    said += [f"{node.ref} is cordoned"] if node.cordoned else []
    said += [f"{node.used_by} is working on it"] if node.used_by else []
    said += [f"ill: {name}" for name in sorted(ill)[:MOST_PODS]]
    return piece(Origin("nodes", "kubernetes: nodes", now, Trust.API), "The other nodes", lines(said))


def pods(found: tuple[Raw, ...], ref: ObjectRef, now: datetime) -> Piece:
    """At most 20 pods, those that are not ready first, each with the state of each container."""
    shown = worst_first(found)[:MOST_PODS]
    ready = sum(1 for pod in found if pod_is_ready(pod))
    said = [f"{plural(len(found), 'pod')}, {ready} ready{_worst(shown)}"]
    said += [f"{len(shown)} of them are shown"] if len(shown) < len(found) else []
    for pod in shown:
        said += _pod(pod)
    return piece(Origin("pods", f"kubernetes: pods of {ref}", now, Trust.API), f"Pods of {ref}", lines(said))


def messages(found: Raw, owned: tuple[Raw, ...], now: datetime) -> Piece | None:
    """What conditions and containers say in words."""
    ref = ObjectRef.of(found)
    said = [f"condition {c.get('type')}: {c['message']}" for c in _conditions(found) if c.get("message")]
    for pod in worst_first(owned)[:MOST_PODS]:
        name = pod["metadata"]["name"]
        said += [f"pod {name}, {what}: {text}" for what, text in _words(pod)]
    if not said:
        return None
    unique = tuple(dict.fromkeys(said))
    return piece(
        Origin("messages", f"kubernetes: {ref}", now, Trust.TEXT), f"What {ref} and its pods say", lines(unique)
    )


def worst_first(found: tuple[Raw, ...]) -> list[Raw]:
    """Not ready before ready, then by restarts, then by name."""
    return sorted(found, key=lambda pod: (pod_is_ready(pod), -restarts(pod), str(pod["metadata"]["name"])))


def restarts(pod: Raw) -> int:
    return sum(int(state.get("restartCount") or 0) for state in container_states(pod))


def revisions(workload: Workload, now: datetime) -> Piece | None:
    """The ten newest revisions with what is ready of each."""
    if not workload.replica_sets:
        return None
    current = workload.current
    newest = sorted(workload.replica_sets, key=revision_of, reverse=True)[:10]
    said = ["; ".join(f"revision {revision_of(one)}: {_ready_of(one)}" for one in newest[:3])]
    for one in newest:
        meta = one["metadata"]
        images = ", ".join(str(c.get("image")) for c in _containers(one["spec"]))
        mark = " (its template is the current one)" if current is not None and current is one else ""
        said.append(
            f"revision {revision_of(one)}{mark}: {meta['name']}, created {meta.get('creationTimestamp')}, "
            f"{_ready_of(one)}, images: {images}"
        )
    source = f"kubernetes: ReplicaSets of {workload.ref}"
    return piece(Origin("revisions", source, now, Trust.API), f"Revisions of {workload.ref}, newest first", lines(said))


def _ready_of(replica_set: Raw) -> str:
    ready = (replica_set.get("status") or {}).get("readyReplicas") or 0
    return f"{ready} of {replica_set['spec'].get('replicas', 1)} ready"


def _at_a_glance(found: Raw, workload: Workload | None) -> str:
    """Pod counts, and each well-known condition that is not as it should be; "" where there is nothing of either."""
    said = [f"{workload.ready} of {workload.desired} pods ready"] if workload else []
    if workload and "updatedReplicas" in workload.status:
        said.append(f"{workload.status['updatedReplicas']} on the newest template")
    for one in _conditions(found):
        kind, status = str(one.get("type")), one.get("status")
        if (kind in GOOD and status != "True") or (kind in BAD and status == "True"):
            said.append(f"{kind} is {status} ({one.get('reason') or 'no reason'})")
    return "; ".join(said)


def _worst(shown: list[Raw]) -> str:
    """The sickest container of the sickest pod, when there is one."""
    if not shown or pod_is_ready(shown[0]):
        return ""
    states = [state for state in container_states(shown[0]) if not state.get("ready")] or [{}]
    state = max(states, key=lambda one: int(one.get("restartCount") or 0))
    code = ((state.get("lastState") or {}).get("terminated") or {}).get("exitCode")
    before = f", exit code {code} before" if code is not None else ""
    now = _state(state.get("state") or {}).partition(" since")[0]
    restarted = plural(int(state.get("restartCount") or 0), "restart")
    return f"; {shown[0]['metadata']['name']}: {state.get('name', 'no container')} {now}, {restarted}{before}"


def _containers(spec: Raw) -> tuple[Raw, ...]:
    template = (spec.get("template") or {}).get("spec") or spec
    return (*(template.get("initContainers") or ()), *(template.get("containers") or ()))


def _conditions(found: Raw) -> tuple[Raw, ...]:
    return tuple((found.get("status") or {}).get("conditions") or ())


def _condition(one: Raw) -> str:
    since = one.get("lastTransitionTime", "an unknown time")
    return f"condition {one.get('type')}: {one.get('status')}, {one.get('reason') or 'no reason'}, since {since}"


def _owners(workload: Workload) -> Iterator[str]:
    if workload.controller:
        yield f"controlled by {workload.controller}"
    if workload.gitops:
        yield f"managed by {workload.gitops}"
    if workload.autoscalers:
        yield f"scaled by {', '.join(workload.autoscalers)}"


def _pod(pod: Raw) -> Iterator[str]:
    status, meta = pod.get("status") or {}, pod["metadata"]
    ready = "ready" if pod_is_ready(pod) else "not ready"
    going = ", being deleted" if "deletionTimestamp" in meta else ""
    node = (pod.get("spec") or {}).get("nodeName") or "no node"
    reason = f", {status['reason']}" if status.get("reason") else ""
    yield f"pod {meta['name']}: {status.get('phase', 'Unknown')}{reason}, {ready}{going}, on {node}"
    for one in _conditions(pod):
        if one.get("status") != "True" and one.get("reason"):
            yield f"  {_condition(one)}"
    for state in container_states(pod):
        times = plural(int(state.get("restartCount") or 0), "restart")
        yield f"  container {state.get('name')}: {_now(state)}, {times}{_before(state)}"


def _now(state: Raw) -> str:
    return _state(state.get("state") or {}) + ("" if state.get("ready") else ", not ready")


def _before(state: Raw) -> str:
    last = state.get("lastState") or {}
    return f"; before: {_state(last)}" if last else ""


def _state(state: Raw) -> str:
    if "waiting" in state:
        return f"waiting ({state['waiting'].get('reason') or 'no reason'})"
    if "terminated" in state:
        ended = state["terminated"]
        signal = f", signal {ended['signal']}" if ended.get("signal") else ""
        reason, code, at = ended.get("reason") or "no reason", ended.get("exitCode"), ended.get("finishedAt")
        return f"ended ({reason}, exit code {code}{signal}, at {at})"
    if "running" in state:
        return f"running since {state['running'].get('startedAt')}"
    return "no state yet"


def _words(pod: Raw) -> Iterator[tuple[str, str]]:
    """Messages of a pod's conditions and containers, with where they were said."""
    for one in _conditions(pod):
        if one.get("status") != "True" and one.get("message"):
            yield f"condition {one.get('type')}", str(one["message"])
    for state in container_states(pod):
        for when in ("state", "lastState"):
            for phase in ("waiting", "terminated"):
                message = ((state.get(when) or {}).get(phase) or {}).get("message")
                if message:
                    yield f"container {state.get('name')} {phase}", str(message)
