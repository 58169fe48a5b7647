"""A workload as the eyes saw it at one moment: the object, what it owns, and pure questions about them.

Decides nothing. Ownership is by controller UID alone: names and prefixes never count.
"""

from __future__ import annotations

from datetime import datetime

from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value, canonical

REVISION = "deployment.kubernetes.io/revision"
HASH_LABEL = "pod-template-hash"

GITOPS_MARKS = {
    "argocd.argoproj.io/instance": "Argo CD",
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}
"""Labels and annotations by which GitOps tools mark what they own: a live change would be put back."""


class Workload(Value):
    """`object` is the top owner; the rest is only what it owns, checked by UID.

    A Deployment keeps its past in `replica_sets`, a StatefulSet and a DaemonSet in `revisions` (ControllerRevisions).
    `jobs` are those of its namespace, whosever they are, where a step has looked for them.
    """

    object: Raw
    replica_sets: tuple[Raw, ...] = ()
    revisions: tuple[Raw, ...] = ()
    pods: tuple[Raw, ...] = ()
    autoscalers: tuple[str, ...] = ()
    jobs: tuple[Raw, ...] = ()
    observed_at: datetime

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef.of(self.object)

    @property
    def generation(self) -> int:
        return int(self.object["metadata"].get("generation", 0))

    @property
    def status(self) -> Raw:
        return self.object.get("status") or {}

    @property
    def spec(self) -> Raw:
        return self.object.get("spec") or {}

    @property
    def desired(self) -> int:
        """`spec.replicas` (a missing key means 1, the API's default); a DaemonSet wants one pod a node."""
        if self.object.get("kind") == "DaemonSet":
            return int(self.status.get("desiredNumberScheduled") or 0)
        return int(self.spec.get("replicas", 1))

    @property
    def ready(self) -> int:
        name = "numberReady" if self.object.get("kind") == "DaemonSet" else "readyReplicas"
        return int(self.status.get(name) or 0)

    @property
    def paused(self) -> bool:
        return bool(self.spec.get("paused"))

    @property
    def being_deleted(self) -> bool:
        return "deletionTimestamp" in self.object["metadata"]

    @property
    def controller(self) -> str:
        """Who owns the workload itself, as "Kind/name"; "" for nobody. Such an owner would put changes back."""
        return controller_name(self.object)

    @property
    def gitops(self) -> str:
        """The GitOps tool that manages the object, or ""."""
        return gitops_of(self.object)

    @property
    def current(self) -> Raw | None:
        """The ReplicaSet whose template is the Deployment's now; None while the controller has not made it."""
        template = bare_template(self.spec.get("template") or {})
        same = [rs for rs in self.replica_sets if bare_template(rs["spec"]["template"]) == template]
        return max(same, key=revision_of, default=None)

    def pods_of(self, replica_set: Raw) -> tuple[Raw, ...]:
        return tuple(pod for pod in self.pods if owned_by(pod, replica_set["metadata"]["uid"]))

    def condition(self, kind: str) -> Raw:
        """The status condition of that type, or {}."""
        return next((c for c in self.status.get("conditions") or () if c.get("type") == kind), {})


def controller_of(raw: Raw) -> Raw | None:
    """The owner reference with controller=true, or None."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def controller_name(raw: Raw) -> str:
    """As "Kind/name", or ""."""
    owner = controller_of(raw)
    return f"{owner['kind']}/{owner['name']}" if owner else ""


def gitops_of(raw: Raw) -> str:
    """The GitOps tool whose mark an object bears, or ""."""
    meta = raw["metadata"]
    marks = {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
    return next((tool for mark, tool in GITOPS_MARKS.items() if mark in marks), "")


def owned_by(raw: Raw, uid: str) -> bool:
    owner = controller_of(raw)
    return owner is not None and owner.get("uid") == uid


def revision_of(replica_set: Raw) -> int:
    """The revision number of a ReplicaSet; 0 where the annotation is missing or no number."""
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def is_ready(replica_set: Raw) -> bool:
    """At least one replica of it is ready now, by the API server's status."""
    return int((replica_set.get("status") or {}).get("readyReplicas") or 0) > 0


def bare_template(template: Raw) -> Raw:
    """The pod template without `pod-template-hash`, as an undo writes it (cluster-behaviour, "Undoing")."""
    meta = dict(template.get("metadata") or {})
    labels = {k: v for k, v in (meta.get("labels") or {}).items() if k != HASH_LABEL}
    meta.pop("creationTimestamp", None)
    meta["labels"] = labels
    return {**template, "metadata": meta}


def same_template(one: Raw, other: Raw) -> bool:
    return canonical(bare_template(one)) == canonical(bare_template(other))


def container_states(pod: Raw) -> tuple[Raw, ...]:
    """Statuses of all containers, init containers included, in the order of the API server."""
    status = pod.get("status") or {}
    return (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))


def pod_is_ready(pod: Raw) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
