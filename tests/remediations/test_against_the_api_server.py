"""The same contract on a real API server with its controllers, by the product's own eyes and hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands
from handrail.model.autoscaler import Autoscaler
from handrail.model.config import KubernetesConfig
from handrail.model.hands import Answer, DryRun
from handrail.model.node import Node
from handrail.model.params import fill
from handrail.model.step import Seen, Step, Verdict, Verification
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload
from handrail.model.write import Direction, Write, key_of
from handrail_remediations import catalogue
from tests.remediations.contract import does_and_undoes, params_of
from tests.servers.cluster import Cluster as Server

pytestmark = pytest.mark.server

CATALOGUE = catalogue()
GOOD, BAD = "registry.example/checkout:1.0", "registry.example/checkout:1.1-crash"


class Live:
    """A world on the API server; each write is dry-run first, as the reconciler does."""

    def __init__(self, cluster: Cluster) -> None:
        self._eyes, self._hands = KubernetesEyes(cluster), KubernetesHands(cluster)
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
        for _ in range(10):
            tried = await self._hands.dry_run(stamped)
            assert isinstance(tried, DryRun)
            permit = Permit(incident="inc-live", write=stamped, resource_version=tried.resource_version, attempt=1)
            sent = await self._hands.send(permit)
            if sent.answer is not Answer.CONFLICT:
                break
        assert sent.answer is Answer.DONE, sent

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


def made(server: Server, kind: str, namespace: str, image: str = GOOD) -> ObjectRef:
    labels = {"app": "checkout"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}]}}
    spec: Raw = {"selector": {"matchLabels": labels}, "template": pods}
    if kind != "DaemonSet":
        spec["replicas"] = 3
    if kind == "StatefulSet":
        spec["serviceName"] = "checkout"
    if kind == "Deployment":
        spec["progressDeadlineSeconds"] = 30
    server.ensure_namespace(namespace)
    meta = {"name": "checkout", "namespace": namespace}
    body = server.api.apply(
        path(kind, namespace), {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}
    )
    return ObjectRef.of(body)


async def settled(world: Live, ref: ObjectRef) -> Workload:
    """Ready, so that every step that may act will; a DaemonSet is ready on each node."""
    step = CATALOGUE["rollout_restart"]
    return await world.until(
        ref, lambda w: not step.check(Seen(workload=w), params_of(step, {})) and _ready(w), f"{ref} to be ready"
    )


def _ready(w: Workload) -> bool:
    return (w.status.get("numberReady") or 0) > 0 if w.ref.kind == "DaemonSet" else w.ready == w.desired


async def stuck(server: Server, world: Live, namespace: str) -> ObjectRef:
    """A Deployment whose second revision crashes while the first still serves."""
    ref = made(server, "Deployment", namespace)
    await settled(world, ref)
    made(server, "Deployment", namespace, BAD)
    undo = CATALOGUE["rollout_undo"]
    await world.until(ref, lambda w: bool(undo.propose(Seen(workload=w))), "a bad rollout")
    return ref


async def verified(
    world: Live, step: Step, ref: ObjectRef, p: BaseModel, before: Raw, acted_at: datetime
) -> Verification:
    for _ in range(300):
        found = await step.look(world, ref)
        assert found is not None
        result = step.verify(found, p, before, acted_at, datetime.now(UTC))
        if result.verdict is not Verdict.NOT_YET:
            return result
        await asyncio.sleep(0.2)
    raise AssertionError(f"waited a minute: {result.detail}")


@pytest.mark.parametrize(
    ("name", "kind", "given", "back"),
    [
        ("rollout_restart", "Deployment", {}, False),
        ("rollout_restart", "StatefulSet", {}, False),
        ("rollout_restart", "DaemonSet", {}, False),
        ("scale_workload", "Deployment", {"replicas": 5}, True),
        ("scale_workload", "StatefulSet", {"replicas": 4}, True),
    ],
)
async def test_the_contract_holds_on_the_api_server(
    control_plane: Server, name: str, kind: str, given: dict[str, Any], back: bool
) -> None:
    async with living(control_plane) as world:
        ref = made(control_plane, kind, f"contract-{name.replace('_', '-')}-{kind.lower()}")
        await settled(world, ref)
        await does_and_undoes(CATALOGUE[name], world, ref, given, back=back)


async def test_an_undo_and_its_undo_hold_on_the_api_server(control_plane: Server) -> None:
    async with living(control_plane) as world:
        ref = await stuck(control_plane, world, "contract-rollout-undo")
        await does_and_undoes(CATALOGUE["rollout_undo"], world, ref, {"to_revision": 1}, back=True)


async def test_an_undo_heals_is_done_once_and_is_not_offered_again(control_plane: Server) -> None:
    step = CATALOGUE["rollout_undo"]
    async with living(control_plane) as world:
        ref = await stuck(control_plane, world, "undo-heals")
        seen = await step.look(world, ref)
        assert seen is not None
        assert [candidate.params for candidate in step.propose(seen)] == [{"to_revision": 1}]
        p, old = params_of(step, {"to_revision": 1}), seen.workload.replica_sets
        before = step.remember(seen, p)
        await world.write(step.writes(seen, p)[0])

        result = await verified(world, step, ref, p, before, datetime.now(UTC))
        assert result.verdict is Verdict.HEALED
        after = await step.look(world, ref)
        assert after is not None
        assert len(after.workload.replica_sets) == len(old), "the old ReplicaSet is used again"
        refusal = step.check(after, step.Params.model_validate({"to_revision": 2}))
        assert refusal is not None
        assert refusal.reason == "LAST_CHANGE_WAS_OURS"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
async def test_a_restart_replaces_every_pod_and_is_then_healed(control_plane: Server, kind: str) -> None:
    step = CATALOGUE["rollout_restart"]
    async with living(control_plane) as world:
        ref = made(control_plane, kind, f"restart-{kind.lower()}")
        first = await settled(world, ref)
        seen, p = Seen(workload=first), step.Params.model_validate(fill(step.Params, {}, datetime.now(UTC)))
        before = step.remember(seen, p)
        await world.write(step.writes(seen, p)[0])
        result = await verified(world, step, ref, p, before, datetime.now(UTC))
        assert result.verdict is Verdict.HEALED
        after = await world.workload(ref)
        assert after is not None
        ended = {pod["metadata"]["uid"] for pod in first.pods}
        assert not ended & {pod["metadata"]["uid"] for pod in after.pods if "deletionTimestamp" not in pod["metadata"]}


async def test_an_undo_to_a_revision_that_crashes_too_is_seen_as_no_success(control_plane: Server) -> None:
    """Patience is the Deployment's own deadline (30 s here); the old pods go on serving, so it is not worse."""
    step = CATALOGUE["rollout_undo"]
    async with living(control_plane) as world:
        ref = await stuck(control_plane, world, "undo-fails")
        seen = await step.look(world, ref)
        assert seen is not None
        p = params_of(step, {"to_revision": 1})
        before = step.remember(seen, p)
        (write,) = step.writes(seen, p)
        template = {**write.ops[0]["value"], "spec": {"containers": [{"name": "app", "image": f"{BAD}-2"}]}}
        planted = write.model_copy(update={"ops": ({**write.ops[0], "value": template},)})
        await world.write(planted)
        result = await verified(world, step, ref, p, before, datetime.now(UTC))
        assert result.verdict is Verdict.NO_EFFECT
