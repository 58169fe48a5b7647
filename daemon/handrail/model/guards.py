"""Guards that several steps share: each takes what was seen and says why a step must keep off, or None.

Pure, and about the thing as a whole; guards over single pods are in `pods`. A guard never decides what to do instead;
the step chains those that it needs, most telling first: `being_deleted(w) or managed(w) or held_by_a_person(w)`.
"""

from __future__ import annotations

from datetime import timedelta

from handrail.model.marks import PEOPLES_TOOLS, PIPELINES
from handrail.model.reason import Reason, Refusal
from handrail.model.rollout import at_once, counts
from handrail.model.step import Thing
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, moment
from handrail.model.workload import Workload, controller_name, gitops_of

GITOPS_MANAGERS = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
}
"""Field managers of GitOps tools: Argo CD may track by a label that Helm charts use too, so the marks can miss it."""


def being_deleted(thing: Thing) -> Refusal | None:
    if "deletionTimestamp" in thing.object["metadata"]:
        return Refusal(reason=Reason.BEING_DELETED, detail=f"{thing.ref} is being deleted; nothing is worth changing")
    return None


def managed(thing: Thing) -> Refusal | None:
    """A change to what a tool or an operator owns is put back, sometimes within seconds (argo-cd 15588, flux2 2526)."""
    raw, ref = thing.object, ObjectRef.of(thing.object)
    tool = gitops_of(raw) or _gitops_manager(raw)
    if tool:
        detail = f"{tool} manages {ref} and would put a live change back; change it in its Git repository"
        return Refusal(reason=Reason.GITOPS_MANAGED, detail=detail)
    return operated(thing)


def operated(thing: Thing) -> Refusal | None:
    """What an operator owns has a life of its own, pods and all."""
    owner, ref = controller_name(thing.object), thing.ref
    if owner:
        detail = f"{owner} owns {ref} and would put a live change back; change that owner instead"
        return Refusal(reason=Reason.OPERATOR_MANAGED, detail=detail)
    return None


def held_by_a_person(w: Workload) -> Refusal | None:
    """Paused, or an update strategy under which a person replaces the pods: a new template would just lie there."""
    if w.paused:
        return Refusal(reason=Reason.PAUSED, detail=f"somebody paused {w.ref}; ask who, and resume it first")
    strategy = w.spec.get("updateStrategy") or {}
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    if strategy.get("type") == "OnDelete" or partition:
        how = "OnDelete" if strategy.get("type") == "OnDelete" else f"partition {partition}"
        detail = f"the update strategy of {w.ref} ({how}) leaves its rollout to a person"
        return Refusal(reason=Reason.PAUSED, detail=detail)
    return None


AT_IT = timedelta(minutes=10)
"""Who changed a template by hand less than that ago is taken to be at it still: the API's own progress deadline."""


def rolled_out_by_hand(w: Workload) -> Refusal | None:
    """Two who roll at once undo each other, and the last one wins. What a pipeline sent is nobody's hand."""
    for entry in w.object["metadata"].get("managedFields") or ():
        manager, at = str(entry.get("manager", "")), moment(entry.get("time"))
        spec = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        by_hand = manager.startswith(PEOPLES_TOOLS) and manager not in PIPELINES and "f:template" in spec
        if by_hand and (at is None or w.observed_at - at < AT_IT):
            minutes = AT_IT.seconds // 60
            detail = (
                f"somebody changed the template of {w.ref} by hand less than {minutes} minutes ago; ask who is at it"
            )
            return Refusal(reason=Reason.SOMEONE_ELSE_ACTS, detail=detail)
    return None


def autoscaled(w: Workload) -> Refusal | None:
    """Two writers of one field; and an autoscaler is switched off by 0 replicas."""
    if w.autoscalers:
        names = ", ".join(w.autoscalers)
        return Refusal(
            reason=Reason.AUTOSCALED, detail=f"{names} sets the replicas of {w.ref}; change its bounds instead"
        )
    return None


def not_observed(w: Workload) -> Refusal | None:
    """Until the controller has seen the newest spec, status speaks of an older one."""
    if int(w.status.get("observedGeneration") or 0) < w.generation:
        detail = f"the controller has not yet seen the newest change of {w.ref}; look again in a moment"
        return Refusal(reason=Reason.ROLLOUT_IN_PROGRESS, detail=detail)
    return None


def rolling_out(w: Workload) -> Refusal | None:
    """Somebody's change is on its way: two at once can't be told apart afterwards."""
    now = counts(w)
    if now.updated < now.desired or now.total > now.updated:
        detail = f"a rollout of {w.ref} is under way ({now.updated} of {now.desired} pods are on the newest template)"
        return Refusal(reason=Reason.ROLLOUT_IN_PROGRESS, detail=detail)
    return not_observed(w)


def full_outage(w: Workload) -> Refusal | None:
    """A strategy that takes every pod away before the first new one is there (Recreate, maxUnavailable 100 %)."""
    least = 0 if w.ref.kind == "Deployment" else 1  # the others replace in place: a single one is always away
    if w.ready and at_once(w) >= w.desired > least:
        detail = f"the rollout strategy of {w.ref} would take all {w.ready} ready pods away before a new one is there"
        return Refusal(reason=Reason.FULL_OUTAGE, detail=detail)
    return None


def below_majority(w: Workload, going: int) -> Refusal | None:
    """A StatefulSet may hold a quorum: with `going` ready pods away, a majority of its members must still be ready."""
    now = counts(w)
    majority = now.desired // 2 + 1
    if w.ref.kind == "StatefulSet" and now.desired > 1 and now.ready - going < majority:
        detail = f"{w.ref} has {now.ready} of {now.desired} members ready and would fall below its majority, {majority}"
        return Refusal(reason=Reason.QUORUM_AT_RISK, detail=detail)
    return None


def _gitops_manager(raw: Raw) -> str:
    managers = (entry.get("manager", "") for entry in raw["metadata"].get("managedFields") or ())
    return next((GITOPS_MANAGERS[name] for name in managers if name in GITOPS_MANAGERS), "")


def keeps_its_pods(w: Workload) -> Refusal | None:
    """Why none of its pods is taken away. A GitOps tool is no hindrance: it owns the workload's declaration, and no
    pod's coming and going."""
    return being_deleted(w) or operated(w) or not_observed(w)
