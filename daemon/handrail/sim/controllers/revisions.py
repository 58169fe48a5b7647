"""Which ReplicaSet belongs to which revision of a Deployment, and what it is called.

Pure questions and answers: template equality, hash, revision numbers and the annotations that keep them. It decides
that a template which has been there before gets its old ReplicaSet back.
"""

import hashlib
import json
from collections.abc import Sequence

from ..ids import ALPHABET
from ..objects import Obj, annotations_of, clone, labels_of, meta, name_of, owned_metadata

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_COPIED = (REVISION, HISTORY, DESIRED, MOST, _APPLIED)


def template_hash(template: Obj) -> str:
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:9])


def bare_template(replica_set: Obj) -> Obj:
    """The template of a ReplicaSet as the Deployment had it."""
    template = clone(replica_set["spec"]["template"])
    labels = template["metadata"].get("labels", {})
    labels.pop(HASH_LABEL, None)
    return template


def by_age(replica_sets: Sequence[Obj]) -> list[Obj]:
    return sorted(replica_sets, key=lambda rs: (meta(rs)["creationTimestamp"], name_of(rs)))


def new_of(deployment: Obj, replica_sets: Sequence[Obj]) -> Obj | None:
    """The oldest ReplicaSet with the Deployment's template."""
    template = deployment["spec"]["template"]
    return next((rs for rs in by_age(replica_sets) if bare_template(rs) == template), None)


def revision_of(obj: Obj) -> int:
    return int(annotations_of(obj).get(REVISION, 0))


def next_revision(others: Sequence[Obj]) -> int:
    return max((revision_of(rs) for rs in others), default=0) + 1


def annotated(deployment: Obj, replica_set: Obj, revision: int) -> dict[str, str]:
    """The annotations of the new ReplicaSet: the Deployment's own, its revision and the ones it had before."""
    found = dict(annotations_of(replica_set))
    found |= {key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED}
    before = annotations_of(replica_set).get(REVISION)
    if before and int(before) < revision:
        past = [part for part in found.get(HISTORY, "").split(",") if part]
        found[HISTORY] = ",".join([*past, before])
    if not before or int(before) < revision:
        found[REVISION] = str(revision)
    return found


def born(deployment: Obj, size: int, marks: dict[str, str]) -> Obj:
    """A ReplicaSet of this size for the Deployment's present template; `marks` are annotations."""
    spec = deployment["spec"]
    template = clone(spec["template"])
    label = template_hash(spec["template"])
    template["metadata"]["labels"] = labels_of(template) | {HASH_LABEL: label}
    selector = clone(spec["selector"])
    selector["matchLabels"] = (selector.get("matchLabels") or {}) | {HASH_LABEL: label}
    metadata = owned_metadata(deployment) | {
        "name": f"{name_of(deployment)}-{label}",
        "labels": dict(template["metadata"]["labels"]),
        "annotations": marks,
    }
    body = {"replicas": size, "selector": selector, "template": template}
    if spec.get("minReadySeconds"):
        body["minReadySeconds"] = spec["minReadySeconds"]
    return {"metadata": metadata, "spec": body}
