"""From what an alert's labels claim to the object that a change would have to be made to, by UID.

Climbs from pods, ReplicaSets and Jobs to what controls them, through ownerReferences alone: a name is never cut
apart, and nothing is guessed when something is gone.
"""

from __future__ import annotations

from handrail.adapters.kubernetes.paths import KINDS, is_name, is_namespace, known
from handrail.core.redact import neutral
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Eyes
from handrail.model.target import OWNED, LabelledTarget, ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import controller_of

RESOLVABLE = frozenset(KINDS) - {"Event", "TokenReview", "SelfSubjectAccessReview", "ConfigMap", "ControllerRevision"}
STATIC_POD = "kubernetes.io/config.mirror"
MOST_OWNERS = 4


async def resolve(eyes: Eyes, target: LabelledTarget) -> ObjectRef | Refusal:
    """The top owner. Raises Transient when the API server is away, Permanent when it does not let us read."""
    claimed = _claimed(target)
    if isinstance(claimed, Refusal):
        return claimed
    found = await eyes.get(claimed)
    if found is None:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"there is no {claimed} any more")
    if target.kind == "Pod" and target.uid and found["metadata"]["uid"] != target.uid:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"{claimed} is another pod than the one the alert is about")
    return await _top(eyes, found)


def _claimed(target: LabelledTarget) -> ObjectRef | Refusal:
    if target.kind not in RESOLVABLE:
        kind = neutral(target.kind)[:80] or "an object without a kind"
        return Refusal(reason=Reason.UNSUPPORTED_KIND, detail=f"{kind} is nothing that Handrail looks at")
    row = KINDS[target.kind]
    if row.namespaced and not target.namespace:
        return Refusal(reason=Reason.NO_TARGET, detail=f"the alert names {_shown(target)} but no namespace")
    if not is_name(target.name) or (row.namespaced and not is_namespace(target.namespace)):
        return Refusal(reason=Reason.NO_TARGET, detail=f"{_shown(target)} is no name that Kubernetes gives")
    namespace = target.namespace if row.namespaced else ""
    return ObjectRef(api_version=row.api_version, kind=row.kind, namespace=namespace, name=target.name)


async def _top(eyes: Eyes, found: Raw) -> ObjectRef | Refusal:
    """What owns a Deployment is no better target: a step's check sees it."""
    for _ in range(MOST_OWNERS):
        ref = ObjectRef.of(found)
        owner = controller_of(found)
        if ref.kind not in OWNED or owner is None:
            return ref
        refusal = _unsupported(found, owner)
        if refusal:
            return refusal
        above = await eyes.get(
            ObjectRef(api_version=owner["apiVersion"], kind=owner["kind"], namespace=ref.namespace, name=owner["name"])
        )
        if above is None or above["metadata"]["uid"] != owner.get("uid"):
            gone = f"{ref} belonged to {owner['kind']} {owner['name']}, which is gone"
            return Refusal(reason=Reason.TARGET_GONE, detail=gone)
        found = above
    return Refusal(reason=Reason.TARGET_AMBIGUOUS, detail=f"{ObjectRef.of(found)} has owners without end")


def _unsupported(found: Raw, owner: Raw) -> Refusal | None:
    ref = ObjectRef.of(found)
    if owner.get("kind") == "Node" or STATIC_POD in (found["metadata"].get("annotations") or {}):
        node = neutral(str(owner.get("name", "")))[:80]
        detail = f"{ref} is a static pod of node {node}: it is changed by a file on that node"
        return Refusal(reason=Reason.UNSUPPORTED_KIND, detail=detail)
    api_version, kind = str(owner.get("apiVersion", "")), str(owner.get("kind", ""))
    if known(api_version, kind) and kind in RESOLVABLE:
        return None
    detail = f"{ref} is controlled by {kind} {owner.get('name', '')} ({api_version}), which Handrail does not know"
    return Refusal(reason=Reason.UNSUPPORTED_KIND, detail=neutral(detail)[:400])


def _shown(target: LabelledTarget) -> str:
    return neutral(f"{target}")[:200]
