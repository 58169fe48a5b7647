"""From what an alert's labels claim to the object that a change would have to be made to, by UID.

Climbs from pods, ReplicaSets and Jobs to what controls them, through ownerReferences alone: a name is never cut
apart, and nothing is guessed when something is gone. A static pod leads to its node, which alone can change it; a pod
that nobody controls is itself the object. A node may be named by its address, as exporters do.
"""

from __future__ import annotations

import ipaddress

from handrail.adapters.kubernetes.paths import KINDS, is_name, is_namespace, known
from handrail.core.redact import neutral
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Eyes
from handrail.model.target import OWNED, LabelledTarget, ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import controller_of

RESOLVABLE = frozenset(KINDS) - {"Event", "TokenReview", "SelfSubjectAccessReview", "ConfigMap", "ControllerRevision"}
MOST_OWNERS = 4


async def resolve(eyes: Eyes, target: LabelledTarget) -> ObjectRef | Refusal:
    """The top owner. Raises Transient when the API server is away, Permanent when it does not let us read."""
    address = _address(target.name) if target.kind == "Node" else ""
    claimed = _claimed(target)
    if isinstance(claimed, Refusal):
        return await _node_at(eyes, address) if address else claimed
    found = await eyes.get(claimed)
    if found is None and address:
        return await _node_at(eyes, address)
    if found is None:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"there is no {claimed} any more")
    if target.kind == "Pod" and target.uid and found["metadata"]["uid"] != target.uid:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"{claimed} is another pod than the one the alert is about")
    return await _top(eyes, found)


def _address(name: str) -> str:
    """In one spelling; "" for what is no address of a machine."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return ""


async def _node_at(eyes: Eyes, address: str) -> ObjectRef | Refusal:
    """Some nodes are named after their address: those were found by name. Else the InternalIP says which it is."""
    found = [node for node in await eyes.list("Node") if address in _addresses(node)]
    if len(found) == 1:
        return ObjectRef.of(found[0])
    if not found:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"no node has the address {address}")
    names = ", ".join(sorted(node["metadata"]["name"] for node in found)[:5])
    return Refusal(reason=Reason.TARGET_AMBIGUOUS, detail=f"several nodes have the address {address}: {names}")


def _addresses(node: Raw) -> set[str]:
    said = (node.get("status") or {}).get("addresses") or ()
    return {_address(str(one.get("address", ""))) for one in said if one.get("type") == "InternalIP"}


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
        refusal = _unsupported(ref, owner)
        if refusal:
            return refusal
        namespace = ref.namespace if KINDS[owner["kind"]].namespaced else ""
        above = await eyes.get(
            ObjectRef(api_version=owner["apiVersion"], kind=owner["kind"], namespace=namespace, name=owner["name"])
        )
        if above is None or above["metadata"]["uid"] != owner.get("uid"):
            gone = f"{ref} belonged to {owner['kind']} {owner['name']}, which is gone"
            return Refusal(reason=Reason.TARGET_GONE, detail=gone)
        found = above
    return Refusal(reason=Reason.TARGET_AMBIGUOUS, detail=f"{ObjectRef.of(found)} has owners without end")


def _unsupported(ref: ObjectRef, owner: Raw) -> Refusal | None:
    api_version, kind = str(owner.get("apiVersion", "")), str(owner.get("kind", ""))
    if known(api_version, kind) and kind in RESOLVABLE:
        return None
    detail = f"{ref} is controlled by {kind} {owner.get('name', '')} ({api_version}), which Handrail does not know"
    return Refusal(reason=Reason.UNSUPPORTED_KIND, detail=neutral(detail)[:400])


def _shown(target: LabelledTarget) -> str:
    return neutral(f"{target}")[:200]
