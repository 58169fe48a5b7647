"""A rollout stands still: a StatefulSet or DaemonSet whose newest pods do not get ready, or one that was left paused.

Confirmed by the workload's own counts at the generation that its controller has seen, and by pods of the newest
revision that have been not ready for minutes. A Deployment past its deadline is the business of `workload_rollout`;
here only its pause. Traps: a partition or OnDelete is an intended state; the controller may lag behind the
generation; a StatefulSet's revert alone never replaces the stuck pod (kubernetes#67250), which the step knows; a
paused Deployment belongs to whoever paused it, which the step asks; one dead node holds up a DaemonSet, which is no
fault of its revision. Hands the planner the revision to blame with the healthy one, or who paused it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model import marks, revisions
from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.pods import not_ready_since, revision_label
from handrail.model.revisions import Revision
from handrail.model.rollout import counts, live
from handrail.model.value import Raw, canonical
from handrail.model.workload import Workload, pod_is_ready
from handrail_detectors._doubts import DOUBTS
from handrail_detectors._made import Facts, Made, Said, Settings, finding, target_of
from handrail_detectors._symptoms import not_placed, symptoms

NAME = "rollout_stuck"


class Params(Settings):
    """`seconds`: for so long a pod of the newest revision has not been ready."""

    seconds: int = Field(default=300, ge=30, le=3600)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    w = window.workload
    if w is None or w.being_deleted or int(w.status.get("observedGeneration") or 0) < w.generation:
        return
    if w.ref.kind == "Deployment" and w.paused:
        yield from _paused(w)
    if w.ref.kind in ("StatefulSet", "DaemonSet") and _rolls_by_itself(w):
        yield from _stuck(w, now, p.seconds)


def _paused(w: Workload) -> Iterator[Finding]:
    """Only half-way: a pause with nothing to roll out harms nobody."""
    now = counts(w)
    if now.updated >= now.desired:
        return
    manager = str((marks.set_by(w.object, "paused") or {}).get("manager", ""))[:64]
    facts: Facts = {"updated": now.updated, "desired": now.desired, "paused_by": manager}
    summary = f"its rollout was paused with {now.updated} of {now.desired} pods on the newest template"
    yield finding(NAME, target_of(w.object), Said(Cause.ROLLOUT_PAUSED, Handling.APPROVE, summary, facts))


def _rolls_by_itself(w: Workload) -> bool:
    strategy = w.spec.get("updateStrategy") or {}
    return strategy.get("type") != "OnDelete" and not (strategy.get("rollingUpdate") or {}).get("partition")


def _stuck(w: Workload, now: datetime, seconds: int) -> Iterator[Finding]:
    newest, healthy = revisions.current(w), next(iter(revisions.healthy(w)), None)
    if newest is None:
        return
    held = [pod for pod in live(w.pods) if revision_label(pod) in newest.labels and _held(pod, now, seconds)]
    rolling = healthy is not None or counts(w).updated < w.desired
    if not held or not rolling or any(symptoms(pod, now, restarts=2) for pod in held):
        return  # a pod that crashes or can't be pulled tells more than that it stands still
    yield finding(NAME, target_of(w.object), _said(w, held, newest, healthy))


def _said(w: Workload, held: list[Raw], newest: Revision, healthy: Revision | None) -> Said:
    doubt = _doubt(w, held, newest, healthy)
    facts: Facts = {"pods": len(held), "ready": w.ready, "desired": w.desired}
    facts |= {"doubt": doubt, "revision": newest.number} if doubt else {"bad_revision": newest.number}
    facts |= {"healthy_revision": healthy.number} if healthy else {}
    what = f"{len(held)} of its pods on revision {newest.number} do not get ready"
    if doubt or healthy is None:
        summary = f"{what}; not blamed on the revision: {DOUBTS[doubt]}"
        return Said(Cause.ROLLOUT_STUCK, Handling.DIAGNOSE, summary, facts)
    summary = f"{what} while revision {healthy.number} is ready"
    return Said(Cause.BAD_REVISION_STUCK, Handling.APPROVE, summary, facts)


def _held(pod: Raw, now: datetime, seconds: int) -> bool:
    since = not_ready_since(pod)
    return since is not None and (now - since).total_seconds() >= seconds


def _doubt(w: Workload, held: list[Raw], newest: Revision, healthy: Revision | None) -> str:
    """One node that is dead, or no room, is no fault of the revision."""
    if any(not_placed(pod) for pod in held):
        return "no_room"
    nodes = {str((pod.get("spec") or {}).get("nodeName", "")) for pod in held}
    if w.ref.kind == "DaemonSet" and len(nodes) == 1 and _some_ready(w, newest):
        return "one_node"
    if healthy is None:
        return "no_healthy_older_revision"
    same = canonical(healthy.template.get("spec")) == canonical(newest.template.get("spec"))
    return "same_pod_spec" if same else ""


def _some_ready(w: Workload, newest: Revision) -> bool:
    """Elsewhere the newest revision runs well."""
    return any(pod_is_ready(pod) for pod in w.pods if revision_label(pod) in newest.labels)


detector = Made(
    name=NAME,
    watches=frozenset({Watches.WORKLOAD}),
    Params=Params,
    find=find,
    confirmed_by="its counts at its newest generation, and pods of its newest revision not ready for minutes",
    example="1 of its pods on revision 2 do not get ready while revision 1 is ready",
)
