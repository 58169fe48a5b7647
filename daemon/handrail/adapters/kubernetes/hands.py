"""The hands: the only thing that writes to the cluster, one request for one permit, exactly once.

Decides nothing: what to write was decided, approved and recorded before. Never retries a write.
"""

from __future__ import annotations

from handrail.adapters.kubernetes.client import Cluster
from handrail.adapters.kubernetes.eyes import KubernetesEyes
from handrail.adapters.kubernetes.wire import Reply
from handrail.adapters.kubernetes.writes import answer_of, carries_key, is_gone, request_of, wrong_uid
from handrail.model.errors import Bug, OutcomeUnknown, Permanent, Transient
from handrail.model.hands import Answer, DryRun, Sent
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Verb, Write

__all__ = ["KubernetesHands", "carries_key", "is_gone"]

DRY_RUNS = 3
"""A status that moves between reading and the dry-run (milliseconds) makes it conflict; it changes nothing."""


class KubernetesHands:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._eyes = KubernetesEyes(cluster)

    async def read(self, ref: ObjectRef) -> Raw | None:
        """The live object by name, whatever its UID; None when there is none. Raises Transient, Permanent."""
        return await self._eyes.get(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        """Raises Transient when the API server is away, or the object never stands still for long enough."""
        for _ in range(DRY_RUNS):
            tried = await self._dry_run_once(write)
            if tried is not None:
                return tried
        raise Transient(f"{write.summary}: {write.object} changed {DRY_RUNS} times during its dry-run", retry_after=1.0)

    async def _dry_run_once(self, write: Write) -> DryRun | Refusal | None:
        """None when the object moved between reading and the dry-run."""
        before = await self.read(write.object)
        refusal = _another(write, before)
        if refusal:
            return refusal
        version = before["metadata"]["resourceVersion"] if before else ""
        reply = await self._cluster.request(request_of(write, before, version, dry=True))
        if reply.status == 409 and write.verb is not Verb.CREATE:
            return None
        if not reply.ok:
            return _no(write, reply)
        try:
            after = answer_of(write, reply, moved=False).object
        except OutcomeUnknown as error:
            raise Transient(str(error)) from error
        return DryRun(before=before or {}, after=after, resource_version=version)

    async def send(self, permit: Permit) -> Sent:
        """One GET, then the write itself. Raises Transient (surely not applied) and OutcomeUnknown."""
        write = permit.write
        if not permit.resource_version and write.verb is not Verb.CREATE:
            raise Bug(f"a permit without a resourceVersion: {write.summary}")
        live = None
        if write.verb is not Verb.CREATE:
            try:
                live = await self.read(write.object)
            except Permanent as error:
                return Sent(answer=Answer.REFUSED, reason=Reason.DENIED, detail=str(error))
            if write.verb in (Verb.DELETE, Verb.EVICT) and is_gone(write, live):
                # Never sent: a real server takes an eviction off the budget before it looks at the UID.
                return Sent(answer=Answer.DONE, detail=f"{write.object} was gone or going already; nothing was sent")
            if live is None:
                gone = f"{write.object} is gone"
                return Sent(answer=Answer.REFUSED, reason=Reason.DRIFTED, detail=gone)
        reply = await self._cluster.request(request_of(write, live, permit.resource_version, dry=False))
        moved = live is not None and live["metadata"]["resourceVersion"] != permit.resource_version
        return answer_of(write, reply, moved=moved)


def _another(write: Write, live: Raw | None) -> Refusal | None:
    """What is there is not what the write is about."""
    if write.verb is Verb.CREATE:
        if live is None:
            return None
        return Refusal(reason=Reason.DRIFTED, detail=f"{write.object} exists already")
    if live is None:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"{write.object} is gone")
    if live["metadata"]["uid"] != write.object.uid:
        return Refusal(reason=Reason.DRIFTED, detail=f"{write.object} is another object of the same name now")
    if write.verb in (Verb.DELETE, Verb.EVICT) and is_gone(write, live):
        return Refusal(reason=Reason.TARGET_GONE, detail=f"{write.object} is being deleted already")
    return None


def _no(write: Write, reply: Reply) -> Refusal:
    if reply.is_missing(write.object.name):
        return Refusal(reason=Reason.TARGET_GONE, detail=reply.sentence)
    if reply.status == 409 or wrong_uid(reply):
        return Refusal(reason=Reason.DRIFTED, detail=reply.sentence)
    sent = answer_of(write, reply, moved=False)
    if sent.held is not None:
        return sent.held
    return Refusal(reason=sent.reason or Reason.REFUSED_BY_SERVER, detail=sent.detail)
