"""Sick containers of StatefulSets, DaemonSets and bare pods, and whether their newest revision is to blame.

Shared by detectors; Deployments have a detector of their own, which knows their ReplicaSets. Blames a revision only
where a pod of an older one is ready now, none of the older ones is sick in the same way, and the templates differ in
what could explain it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from handrail.model import revisions
from handrail.model.detector import Window
from handrail.model.finding import Finding, Handling
from handrail.model.pods import revision_label
from handrail.model.revisions import Revision
from handrail.model.rollout import live
from handrail.model.value import Raw, canonical
from handrail.model.workload import Workload
from handrail_detectors._doubts import BAD, DOUBTS, UNEXPLAINED
from handrail_detectors._made import Facts, Said, Subject, finding, subject, target_of
from handrail_detectors._symptoms import Kind, Symptom, has_run_well, symptoms
from handrail_detectors._templates import pulls_alike

WHAT = {Kind.CRASH: "crashes", Kind.IMAGE: "can't pull an image"}


class Sick(NamedTuple):
    """Who is ill of what: `found` are the symptoms by pod, of one kind."""

    who: Subject
    workload: Workload | None
    kind: Kind
    found: tuple[tuple[Raw, Symptom], ...]
    now: datetime

    @property
    def worst(self) -> Symptom:
        return max((one for _, one in self.found), key=lambda one: (one.restarts, one.pod, one.container))

    @property
    def pods(self) -> int:
        return len({one.pod for _, one in self.found})


def sick(name: str, window: Window, now: datetime, kind: Kind, restarts: int) -> Iterator[Finding]:
    """At most one finding. None for a Deployment or a ReplicaSet."""
    who = subject(window)
    if who is None or who.raw["kind"] not in ("StatefulSet", "DaemonSet", "Pod"):
        return
    found = tuple((pod, one) for pod in who.pods for one in symptoms(pod, now, restarts) if one.kind is kind)
    if found:
        yield _finding(name, Sick(who, window.workload, kind, found, now))


def _finding(name: str, ill: Sick) -> Finding:
    doubt, healthy = _doubt(ill) if ill.workload else ("no_controller", None)
    facts = _facts(ill)
    revision = revisions.current(ill.workload) if ill.workload else None
    if revision is not None:
        facts["revision" if doubt else "bad_revision"] = revision.number
    if healthy is not None:
        facts["healthy_revision"] = healthy.number
    if doubt:
        facts["doubt"] = doubt
    said = Said(
        cause=UNEXPLAINED[ill.kind] if doubt else BAD[ill.kind],
        handling=Handling.DIAGNOSE if doubt else Handling.APPROVE,
        summary=_summary(ill, doubt, healthy),
        facts=facts,
        severity="critical" if ill.workload and not ill.workload.ready else "warning",
    )
    return finding(name, target_of(ill.who.raw, ill.worst.container), said)


def _doubt(ill: Sick) -> tuple[str, Revision | None]:
    """The first that speaks against the newest revision, and the older one that is healthy, if any."""
    w = ill.workload
    now = revisions.current(w) if w else None
    if w is None or now is None or not _of(ill, now):
        return "not_the_newest_revision", None
    if len(_of(ill, now)) < len(ill.found):
        return "all_revisions", None
    healthy = next(iter(revisions.healthy(w)), None)
    if healthy is None:
        return "no_healthy_older_revision", None
    if canonical(now.template.get("spec")) == canonical(healthy.template.get("spec")):
        return "same_pod_spec", healthy
    return _doubt_of_kind(ill, w, now, healthy), healthy


def _of(ill: Sick, revision: Revision) -> list[Symptom]:
    return [one for pod, one in ill.found if revision_label(pod) in revision.labels]


def _doubt_of_kind(ill: Sick, w: Workload, now: Revision, healthy: Revision) -> str:
    if ill.kind is Kind.CRASH:
        mine = (pod for pod in live(w.pods) if revision_label(pod) in now.labels)
        return "revision_has_run_well" if any(has_run_well(pod, ill.now) for pod in mine) else ""
    if ill.worst.restarts:
        return "image_was_pulled_before"
    return "same_image" if pulls_alike(now.template, healthy.template, ill.worst.container) else ""


def _facts(ill: Sick) -> Facts:
    worst = ill.worst
    facts: Facts = {"container": worst.container, "reason": worst.reason, "restarts": worst.restarts, "pods": ill.pods}
    if worst.exit_code >= 0:
        facts |= {"ended": worst.ended, "exit_code": worst.exit_code}
    return facts | {"ready": ill.workload.ready, "desired": ill.workload.desired} if ill.workload else facts


def _summary(ill: Sick, doubt: str, healthy: Revision | None) -> str:
    worst = ill.worst
    code = f", exit code {worst.exit_code}" if worst.exit_code >= 0 else ""
    detail = f"(container {worst.container}: {worst.reason or 'no reason given'}{code})"
    if ill.workload is None:
        return f"a pod that no controller makes again {WHAT[ill.kind]} {detail}"
    if doubt or healthy is None:
        return f"{ill.pods} of its pods: {WHAT[ill.kind]} {detail}; not blamed on the revision: {DOUBTS[doubt]}"
    return f"its newest revision {WHAT[ill.kind]} {detail} while revision {healthy.number} is ready"
