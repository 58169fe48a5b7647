"""A world on a real API server, by the product's own eyes and hands, and workloads to put into it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands
from handrail.model.autoscaler import Autoscaler
from handrail.model.config import KubernetesConfig
from handrail.model.errors import Transient
from handrail.model.hands import Answer, DryRun
from handrail.model.node import Node
from handrail.model.reason import Refusal
from handrail.model.step import Seen, Step, Verdict, Verification
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload, pod_is_ready
from handrail.model.write import Direction, Write, key_of
from handrail_remediations import catalogue
from tests.remediations.contract import params_of
from tests.servers.cluster import Cluster as Server
from tests.servers.kwok_stages import FLAPPING, NEVER_READY
from tests.servers.process import wait_until

CATALOGUE = catalogue()
GOOD, BAD = "registry.example/checkout:1.0", "registry.example/checkout:1.1-crash"

TRIES = 200
"""Of one write whose object moves in between: on a busy machine most of them conflict, and none of that is judged."""


class Live:
    """A world on the API server; each write is dry-run first, as the reconciler does."""

    def __init__(self, cluster: Cluster) -> None:
        self._eyes, self.hands = KubernetesEyes(cluster), KubernetesHands(cluster)
        self._sent = 0

    async def get(self, ref: ObjectRef) -> Raw | None:
        return await self._eyes.get(ref)

    async def workload(self, ref: ObjectRef) -> Workload | None:
        return await self._eyes.workload(ref)

    async def node(self, ref: ObjectRef) -> Node | None:
        return await self._eyes.node(ref)

    async def autoscaler(self, ref: ObjectRef) -> Autoscaler | None:
        return await self._eyes.autoscaler(ref)

    async def list(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> tuple[Raw, ...]:
        return await self._eyes.list(kind, namespace, labels=labels, fields=fields)

    async def write(self, write: Write) -> None:
        """Status moves the version while pods come and go: look again and send anew, as after a conflict."""
        self._sent += 1
        stamped = write.model_copy(update={"key": key_of("inc-live", 1, self._sent, Direction.DO, write)})
        for _ in range(TRIES):
            tried = await self.tried(stamped)
            assert isinstance(tried, DryRun), tried
            permit = Permit(incident="inc-live", write=stamped, resource_version=tried.resource_version, attempt=1)
            sent = await self.hands.send(permit)
            if sent.answer is not Answer.CONFLICT:
                break
        assert sent.answer is Answer.DONE, sent

    async def tried(self, write: Write) -> DryRun | Refusal:
        """The dry-run; one that moves faster than it can be tried is tried again, as the daemon does."""
        for _ in range(TRIES):
            with suppress(Transient):
                return await self.hands.dry_run(write)
        raise AssertionError(f"{write.object} never stands still")

    async def until(self, ref: ObjectRef, holds: Callable[[Workload], bool], what: str) -> Workload:
        for _ in range(300):
            found = await self.workload(ref)
            if found is not None and holds(found):
                return found
            await asyncio.sleep(0.2)
        raise AssertionError(f"waited a minute for {what}")


@asynccontextmanager
async def living(server: Server) -> AsyncIterator[Live]:
    config = KubernetesConfig(mode="kubeconfig", kubeconfig=str(server.kubeconfig))
    async with Cluster(config) as cluster:
        yield Live(cluster)


def path(kind: str, namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s/checkout"


def made(server: Server, kind: str, namespace: str, image: str = GOOD, *, flapping: str = "") -> ObjectRef:
    labels = {"app": "checkout"}
    meta: Raw = {"labels": labels, **({"annotations": {FLAPPING: flapping}} if flapping else {})}
    pods = {"metadata": meta, "spec": {"containers": [{"name": "app", "image": image}]}}
    spec: Raw = {"selector": {"matchLabels": labels}, "template": pods}
    if kind != "DaemonSet":
        spec["replicas"] = 3
    if kind == "StatefulSet":
        spec["serviceName"] = "checkout"
    if kind == "Deployment":
        spec["progressDeadlineSeconds"] = 300 if flapping else 30
    server.ensure_namespace(namespace)
    meta = {"name": "checkout", "namespace": namespace}
    body = server.api.apply(
        path(kind, namespace), {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}
    )
    return ObjectRef.of(body)


LOOK, LONGEST_BEAT = 0.4, 2.4
"""Seconds; a little longer than KWOK's longest wait between two beats."""


def hang(server: Server, pod: Raw, since: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
    """This pod alone stops being ready, as if it had been so for long; it says nothing about why."""
    meta = pod["metadata"]
    where = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
    server.api.patch(where, {"metadata": {"annotations": {NEVER_READY: "yes"}}})
    wait_until(lambda: not pod_is_ready(server.api.get(where)), 30, "a pod that hangs")
    at = since.strftime("%Y-%m-%dT%H:%M:%SZ")
    stayed = 0
    for _ in range(60):  # a beat of a pod that flaps may have been on its way, up to two seconds
        found = server.api.get(where)["status"]["conditions"]
        if all((one["status"], one["lastTransitionTime"]) == ("False", at) for one in found if one["type"] == "Ready"):
            stayed += 1
            if stayed > LONGEST_BEAT / LOOK:
                return
        else:
            stayed = 0
            old = [
                {**one, "status": "False", "lastTransitionTime": at} if one["type"] == "Ready" else one for one in found
            ]
            server.api.patch(f"{where}/status", {"status": {"conditions": old}})
        time.sleep(LOOK)
    raise AssertionError(f"{where} does not stay as it was dated")


def budgeted(server: Server, namespace: str, at_least: int, name: str = "checkout") -> Callable[[], int]:
    """A budget over checkout; what comes back says how many pods it lets go now."""
    where = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}"
    spec = {"minAvailable": at_least, "selector": {"matchLabels": {"app": "checkout"}}}
    meta = {"name": name, "namespace": namespace}
    server.api.apply(where, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec})

    def seen() -> Raw:
        found: Raw = server.api.get(where)
        return found.get("status") or {}

    wait_until(lambda: seen().get("observedGeneration") == 1 and seen().get("expectedPods", 0) > 0, 30, "a budget")
    return lambda: int(seen().get("disruptionsAllowed") or 0)


async def settled(world: Live, ref: ObjectRef) -> Workload:
    """Ready, so that every step that may act will; a DaemonSet is ready on each node."""
    step = CATALOGUE["rollout_restart"]
    return await world.until(
        ref, lambda w: not step.check(Seen(workload=w), params_of(step, {})) and _ready(w), f"{ref} to be ready"
    )


def _ready(w: Workload) -> bool:
    return (w.status.get("numberReady") or 0) > 0 if w.ref.kind == "DaemonSet" else w.ready == w.desired


async def stuck(server: Server, world: Live, namespace: str, *, flapping: str = "") -> ObjectRef:
    """A Deployment whose second revision crashes while the first still serves."""
    ref = made(server, "Deployment", namespace, flapping=flapping)
    await settled(world, ref)
    made(server, "Deployment", namespace, BAD, flapping=flapping)
    undo = CATALOGUE["rollout_undo"]
    await world.until(ref, lambda w: bool(undo.propose(Seen(workload=w))), "a bad rollout")
    return ref


SETTLED = timedelta(seconds=6)
"""Time is an argument: what is well now is judged as if it had stayed so."""


async def verified(
    world: Live, step: Step, ref: ObjectRef, p: BaseModel, before: Raw, acted_at: datetime
) -> Verification:
    for _ in range(300):
        found = await step.look(world, ref)
        assert found is not None
        result = step.verify(found, p, before, acted_at, datetime.now(UTC) + SETTLED)
        if result.verdict is not Verdict.NOT_YET:
            return result
        await asyncio.sleep(0.2)
    raise AssertionError(f"waited a minute: {result.detail}")
