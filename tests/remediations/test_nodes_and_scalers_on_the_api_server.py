"""Nodes and paused rollouts on a real API server, by the product's own eyes and hands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from handrail.model.reason import Reason
from handrail.model.step import Seen
from handrail.model.target import ObjectRef
from tests.remediations.contract import does_and_undoes, params_of
from tests.remediations.live import CATALOGUE, GOOD, Live, living, made, path, settled
from tests.remediations.live_cases import ready_since_long
from tests.servers.cluster import Cluster as Server
from tests.servers.kwok_stages import NODE_DOWN

pytestmark = pytest.mark.server

FAR = datetime(2027, 1, 1, tzinfo=UTC)


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
