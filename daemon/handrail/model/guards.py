"""Guards that several steps share: each takes a workload and says why a step must keep off, or None.

Pure, and about the workload alone. A guard never decides what to do instead; the step chains those that it needs,
most telling first: `being_deleted(w) or managed(w) or held_by_a_person(w)`.
"""

from __future__ import annotations

from handrail.model.reason import Reason, Refusal
from handrail.model.rollout import counts
from handrail.model.workload import Workload

GITOPS_MANAGERS = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
}
"""Field managers of GitOps tools: Argo CD may track by a label that Helm charts use too, so the marks can miss it."""


def being_deleted(w: Workload) -> Refusal | None:
    if w.being_deleted:
        return Refusal(reason=Reason.BEING_DELETED, detail=f"{w.ref} is being deleted; nothing is worth changing")
    return None


def managed(w: Workload) -> Refusal | None:
    """A change to what a tool or an operator owns is put back, sometimes within seconds (argo-cd 15588, flux2 2526)."""
    tool = w.gitops or _gitops_manager(w)
    if tool:
        detail = f"{tool} manages {w.ref} and would put a live change back; change it in its Git repository"
        return Refusal(reason=Reason.GITOPS_MANAGED, detail=detail)
    if w.controller:
        detail = f"{w.controller} owns {w.ref} and would put a live change back; change that owner instead"
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


def _gitops_manager(w: Workload) -> str:
    managers = (entry.get("manager", "") for entry in w.object["metadata"].get("managedFields") or ())
    return next((GITOPS_MANAGERS[name] for name in managers if name in GITOPS_MANAGERS), "")
