"""Where each kind lives on the API server. A kind that is not in this table can't be asked for.

Decides which kinds exist for Handrail. Secrets never do: listing even their metadata needs the right to read them.
Names come from alerts and are hostile, and the API server decodes `%2F` before it routes, so a name that
Kubernetes itself would refuse never becomes part of a path.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from handrail.model.errors import Permanent
from handrail.model.target import ObjectRef

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Kind(NamedTuple):
    """One row of the table: `plural` is the word in the path."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True


KINDS = {
    row.kind: row
    for row in (
        Kind("v1", "Pod", "pods"),
        Kind("v1", "Event", "events"),
        Kind("v1", "Service", "services"),
        Kind("v1", "ConfigMap", "configmaps"),
        Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
        Kind("v1", "ResourceQuota", "resourcequotas"),
        Kind("v1", "Namespace", "namespaces", namespaced=False),
        Kind("v1", "Node", "nodes", namespaced=False),
        Kind("apps/v1", "Deployment", "deployments"),
        Kind("apps/v1", "ReplicaSet", "replicasets"),
        Kind("apps/v1", "StatefulSet", "statefulsets"),
        Kind("apps/v1", "DaemonSet", "daemonsets"),
        Kind("apps/v1", "ControllerRevision", "controllerrevisions"),
        Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
        Kind("batch/v1", "Job", "jobs"),
        Kind("batch/v1", "CronJob", "cronjobs"),
        Kind("authentication.k8s.io/v1", "TokenReview", "tokenreviews", namespaced=False),
        Kind("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False),
    )
}


def is_name(text: str) -> bool:
    """A name that Kubernetes gives to the kinds of the table (DNS subdomain, 253 characters)."""
    return _NAME.fullmatch(text) is not None and ".." not in text


def is_namespace(text: str) -> bool:
    """A DNS label of at most 63 characters."""
    return _LABEL.fullmatch(text) is not None


def known(api_version: str, kind: str) -> bool:
    """Whether this very kind of this very API group and version can be asked for."""
    row = KINDS.get(kind)
    return row is not None and row.api_version == api_version


def collection(kind: str, namespace: str = "") -> str:
    """The path of all objects of a kind: in one namespace, or in all of them with "". Raises Permanent."""
    row = _row(kind)
    root = f"/api/{row.api_version}" if "/" not in row.api_version else f"/apis/{row.api_version}"
    if not row.namespaced or not namespace:
        return f"{root}/{row.plural}"
    if not is_namespace(namespace):
        raise Permanent(f"{namespace[:80]!r} is no name of a namespace")
    return f"{root}/namespaces/{namespace}/{row.plural}"


def path_of(ref: ObjectRef, part: str = "") -> str:
    """The path of one object, or of a `part` of it such as "log" or "eviction". Raises Permanent."""
    row = _row(ref.kind)
    if ref.api_version != row.api_version:
        raise Permanent(f"{ref.kind} of {ref.api_version[:80]!r} is not read: only of {row.api_version}")
    if row.namespaced and not ref.namespace:
        raise Permanent(f"{ref.kind} {ref.name[:80]!r} needs a namespace")
    if not is_name(ref.name):
        raise Permanent(f"{ref.name[:80]!r} is no name of a {ref.kind}")
    path = f"{collection(ref.kind, ref.namespace if row.namespaced else '')}/{ref.name}"
    return f"{path}/{part}" if part else path


def _row(kind: str) -> Kind:
    row = KINDS.get(kind)
    if row is None:
        raise Permanent(f"objects of kind {kind[:80]!r} are never read")
    return row
