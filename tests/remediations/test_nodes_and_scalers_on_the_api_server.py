"""Nodes, autoscalers, paused rollouts and notes on a real API server, by the product's own eyes and hands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from handrail.model.reason import Reason
from handrail.model.step import Seen
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Write
from tests.remediations.contract import does_and_undoes, params_of
from tests.remediations.live import CATALOGUE, GOOD, Live, living, made, path, settled
from tests.servers.cluster import Cluster as Server
from tests.servers.kwok_stages import NODE_DOWN
from tests.servers.process import wait_until

pytestmark = pytest.mark.server

LONG_AGO = "2026-01-01T00:00:00Z"
FAR = datetime(2027, 1, 1, tzinfo=UTC)


def ready_since_long(server: Server, where: str, status: str) -> None:
    """Waits for this readiness, then dates it back."""

    def told() -> list[Raw]:
        found: list[Raw] = (server.api.get(where).get("status") or {}).get("conditions") or []
        return found

    wait_until(lambda: any(c["type"] == "Ready" and c["status"] == status for c in told()), 60, f"Ready is {status}")
    old = [{**c, "lastTransitionTime": LONG_AGO} if c["type"] == "Ready" else c for c in told()]
    server.api.patch(f"{where}/status", {"status": {"conditions": old}})


@contextmanager
def a_node(server: Server, name: str) -> Iterator[str]:
    """A third node, for as long as the block lasts; what comes back is its path."""
    where = f"/api/v1/nodes/{name}"
    server.add_node(name)
    try:
        yield where
    finally:
        server.api.delete(where)


async def done(world: Live, name: str, ref: ObjectRef) -> None:
    step = CATALOGUE[name]
    seen = await step.look(world, ref)
    (write,) = step.writes(seen, params_of(step, {}))
    await world.write(write)


async def why_not(world: Live, name: str, ref: ObjectRef) -> str:
    step = CATALOGUE[name]
    refusal = step.check(await step.look(world, ref), params_of(step, {}))
    return refusal.reason if refusal else ""


async def test_a_sick_node_is_cordoned_and_only_our_own_cordon_is_taken_back(control_plane: Server) -> None:
    api = control_plane.api
    with a_node(control_plane, "node-sick") as where:
        async with living(control_plane) as world:
            ref = ObjectRef.of({"apiVersion": "v1", "kind": "Node", **api.get(where)})
            assert await why_not(world, "cordon", ref) == Reason.NODE_IS_WELL
            api.patch(where, {"metadata": {"annotations": {NODE_DOWN: "yes"}}})
            ready_since_long(control_plane, where, "False")
            await does_and_undoes(CATALOGUE["cordon"], world, ref, {}, back=True)
            await done(world, "cordon", ref)
            assert await why_not(world, "cordon", ref) == Reason.NO_CHANGE
            assert await why_not(world, "uncordon", ref) == Reason.NODE_IS_SICK

            api.patch(where, {"metadata": {"annotations": {NODE_DOWN: None}}})
            ready_since_long(control_plane, where, "True")
            await does_and_undoes(CATALOGUE["uncordon"], world, ref, {}, back=True)
            assert await why_not(world, "uncordon", ref) == ""

            for closed in (None, True):  # somebody opens it and closes it again; our note is still there
                api.patch(where, {"spec": {"unschedulable": closed}})
            assert await why_not(world, "uncordon", ref) == Reason.NOT_OURS


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
async def test_a_note_is_left_and_taken_off_again(control_plane: Server, kind: str) -> None:
    async with living(control_plane) as world:
        ref = made(control_plane, kind, f"note-{kind.lower()}")
        first = await settled(world, ref)
        await does_and_undoes(CATALOGUE["annotate"], world, ref, {}, back=True)
        after = await world.workload(ref)
        assert after is not None
        assert after.spec == first.spec
        assert {pod["metadata"]["uid"] for pod in after.pods} == {pod["metadata"]["uid"] for pod in first.pods}


LIMITED = (
    ("AbleToScale", "True", "Ok"),
    ("ScalingActive", "True", "Valid"),
    ("ScalingLimited", "True", "TooManyReplicas"),
)


def limited(server: Server, namespace: str) -> ObjectRef:
    where = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/checkout"
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout"}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "checkout", "namespace": namespace},
        "spec": {"scaleTargetRef": scaled, "minReplicas": 2, "maxReplicas": 3},
    }
    return ObjectRef.of(server.api.apply(where, body))


def wants_more(server: Server, namespace: str) -> None:
    """What the controller would say with metrics; without them it says otherwise every fifteen seconds."""
    where = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/checkout/status"
    told = [
        {"type": kind, "status": status, "reason": reason, "lastTransitionTime": LONG_AGO, "message": ""}
        for kind, status, reason in LIMITED
    ]
    body: dict[str, Any] = {"currentReplicas": 3, "desiredReplicas": 3, "conditions": told}
    server.api.patch(where, {"status": body}, "application/merge-patch+json")


async def test_bounds_of_an_autoscaler_are_raised_and_put_back(control_plane: Server) -> None:
    step, namespace = CATALOGUE["set_hpa_bounds"], "hpa-bounds"
    async with living(control_plane) as world:
        await settled(world, made(control_plane, "Deployment", namespace))
        ref = limited(control_plane, namespace)
        assert await why_not_raised(world, ref) == Reason.METRICS_AWAY

        class Steady(Live):
            """The controller's word is put right before each look."""

            async def autoscaler(self, ref: ObjectRef) -> Any:
                wants_more(control_plane, namespace)
                return await world.autoscaler(ref)

            async def write(self, write: Write) -> None:
                await world.write(write)

        steady = Steady.__new__(Steady)
        await does_and_undoes(step, steady, ref, {"max_replicas": 5}, back=True)


async def why_not_raised(world: Live, ref: ObjectRef) -> str:
    step = CATALOGUE["set_hpa_bounds"]
    refusal = step.check(await step.look(world, ref), params_of(step, {"max_replicas": 5}))
    return refusal.reason if refusal else ""


async def test_a_rollout_that_a_bot_paused_and_left_is_resumed_and_a_persons_is_not(control_plane: Server) -> None:
    step, namespace = CATALOGUE["resume_rollout"], "resume"
    async with living(control_plane) as world:
        ref = made(control_plane, "Deployment", namespace)
        await settled(world, ref)
        made(control_plane, "Deployment", namespace, f"{GOOD}.1")
        await world.until(ref, lambda w: len(w.replica_sets) == 2, "the new ReplicaSet")
        patch = {"spec": {"paused": True}}
        where = path("Deployment", namespace)
        control_plane.api.call("PATCH", where, patch, "application/merge-patch+json", fieldManager="deploy-bot")
        await world.until(ref, lambda w: w.current is not None and bool(w.pods_of(w.current)), "a new pod")
        seen = await step.look(world, ref)
        assert isinstance(seen, Seen)
        refusal = step.check(seen, params_of(step, {}))
        assert refusal is not None
        assert refusal.reason is Reason.TOO_EARLY, "the bot was here a moment ago"
        later = seen.model_copy(update={"workload": seen.workload.model_copy(update={"observed_at": FAR})})
        assert step.check(later, params_of(step, {})) is None
        control_plane.api.call("PATCH", where, {"spec": {"paused": None}}, "application/merge-patch+json")
        control_plane.api.call("PATCH", where, patch, "application/merge-patch+json", fieldManager="kubectl-rollout")
        assert await why_not(world, "resume_rollout", ref) == Reason.PAUSED
