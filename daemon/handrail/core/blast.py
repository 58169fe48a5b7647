"""What a saga would touch, in numbers that stand on the card. Pure; counts only what the API server reported."""

from __future__ import annotations

import math

from handrail.core.words import plural
from handrail.model.autoscaler import Autoscaler
from handrail.model.node import Node, is_usable, ready_pods
from handrail.model.rollout import at_once, live
from handrail.model.saga import Blast, SagaStep
from handrail.model.selector import labels_of, selects
from handrail.model.step import Thing
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload, pod_is_ready
from handrail.model.write import Verb, Write

HELM = "meta.helm.sh/release-name"
"""Nothing puts a live change back at once, as a GitOps tool would; the next upgrade may."""


class Around(Value):
    """What stands around the pods of a workload: budgets, and Services with all pods behind each, by name."""

    budgets: tuple[Raw, ...] = ()
    services: tuple[Raw, ...] = ()
    behind: dict[str, tuple[Raw, ...]] = {}


NOTHING = Around()


def blast(thing: Thing, steps: tuple[SagaStep, ...], writes: tuple[Write, ...] = (), around: Around = NOTHING) -> Blast:
    """`pods` is the most that may be replaced; `percent` of the ready ones at a time (rounded up)."""
    if isinstance(thing, Node):
        return _of_node(thing)
    if isinstance(thing, Autoscaler):
        return _of_autoscaler(thing)
    return _of_workload(thing, steps, writes, around)


def touched(workload: Workload, steps: tuple[SagaStep, ...], writes: tuple[Write, ...]) -> tuple[Raw, ...]:
    """The pods that may go: those that a write names, and all of them where a step rolls the workload."""
    named = {write.object.uid for write in writes if write.verb in (Verb.DELETE, Verb.EVICT)}
    return workload.pods if _rolls(steps, writes) else tuple(p for p in workload.pods if _uid(p) in named)


def _rolls(steps: tuple[SagaStep, ...], writes: tuple[Write, ...]) -> bool:
    """A disruptive step that does not name its pods changes the workload itself: its controller replaces them all."""
    disruptive = any(step.risk.always_asked for step in steps)
    return disruptive and (not writes or any(write.verb is Verb.PATCH for write in writes))


def _of_workload(w: Workload, steps: tuple[SagaStep, ...], writes: tuple[Write, ...], around: Around) -> Blast:
    gone = touched(w, steps, writes)
    going = at_once(w) if _rolls(steps, writes) else sum(map(pod_is_ready, gone))
    percent = min(100, math.ceil(100 * going / w.ready) if w.ready else (100 if gone else 0))
    budgets, endpoints = _budgets(w, around), _endpoints(gone, going, around)
    notes = [f"{w.ready} of {w.desired} pods are ready now"]
    if gone:
        notes.append(_pace(going, percent))
        notes += [f"budget {name} lets {plural(count, 'pod')} go now" for name, count in budgets.items()]
        notes += [f"Service {name} keeps {left} ready endpoints" for name, left in endpoints.items()]
    if HELM in (w.object["metadata"].get("annotations") or {}):
        notes.append("Helm installed it: its next upgrade may put this back")
    if w.autoscalers:
        notes.append(f"scaled by {', '.join(w.autoscalers)}")
    return Blast(
        pods=len(gone),
        ready=w.ready,
        percent=percent,
        budgets=budgets if gone else {},
        endpoints=endpoints,
        notes=tuple(notes),
    )


def _pace(going: int, percent: int) -> str:
    if not going:
        return "no ready pod goes before its replacement is ready"
    return f"at most {going} ready at a time ({percent} % of them)"


def _budgets(w: Workload, around: Around) -> dict[str, int]:
    """How many pods each budget over this workload lets go now; a missing number is 0."""
    over = [
        budget
        for budget in around.budgets
        if any(selects((budget.get("spec") or {}).get("selector"), labels_of(pod)) for pod in w.pods)
    ]
    return {b["metadata"]["name"]: int((b.get("status") or {}).get("disruptionsAllowed") or 0) for b in over}


def _endpoints(gone: tuple[Raw, ...], going: int, around: Around) -> dict[str, int]:
    """Ready pods that each Service still has when as many as may go at a time have gone."""
    uids = {_uid(pod) for pod in gone}
    left: dict[str, int] = {}
    for service in around.services:
        name = service["metadata"]["name"]
        ready = [pod for pod in live(around.behind.get(name, ())) if pod_is_ready(pod)]
        if hit := sum(_uid(pod) in uids for pod in ready):
            left[name] = len(ready) - min(hit, going)
    return left


def _of_node(node: Node) -> Blast:
    usable = sum(map(is_usable, node.others))
    ready = len(ready_pods(node))
    notes = (
        f"pods on it: {len(live(node.pods))}, {ready} ready; none is moved",
        f"{usable} of {len(node.others)} other nodes take new pods",
    )
    return Blast(pods=0, ready=ready, percent=0, notes=notes)


def _of_autoscaler(scaler: Autoscaler) -> Blast:
    w = scaler.workload
    ready = w.ready if w else 0
    what = f"{w.ref}, {ready} of {w.desired} pods ready" if w else "something that was not found"
    notes = (f"scales {what}", f"wants {scaler.wanted} between {scaler.low} and {scaler.high} replicas")
    return Blast(pods=0, ready=ready, percent=0, notes=notes)


def _uid(pod: Raw) -> str:
    return str((pod.get("metadata") or {}).get("uid", ""))
