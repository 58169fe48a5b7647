"""The same contract on a real API server with its controllers, by the product's own eyes and hands."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from handrail.model.params import fill
from handrail.model.step import Seen, Verdict
from tests.remediations.contract import params_of
from tests.remediations.live import BAD, CATALOGUE, living, made, settled, stuck, verified
from tests.servers.cluster import Cluster as Server

pytestmark = pytest.mark.server


async def test_an_undo_heals_is_done_once_and_is_not_offered_again(control_plane: Server) -> None:
    step = CATALOGUE["rollout_undo"]
    async with living(control_plane) as world:
        ref = await stuck(control_plane, world, "undo-heals")
        seen = await step.look(world, ref)
        assert isinstance(seen, Seen)
        assert [candidate.params for candidate in step.propose(seen)] == [{"to_revision": 1}]
        p, old = params_of(step, {"to_revision": 1}), seen.workload.replica_sets
        before = step.remember(seen, p)
        await world.write(step.writes(seen, p)[0])

        result = await verified(world, step, ref, p, before, datetime.now(UTC))
        assert result.verdict is Verdict.HEALED
        after = await step.look(world, ref)
        assert isinstance(after, Seen)
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
        assert isinstance(seen, Seen)
        p = params_of(step, {"to_revision": 1})
        before = step.remember(seen, p)
        (write,) = step.writes(seen, p)
        template = {**write.ops[0]["value"], "spec": {"containers": [{"name": "app", "image": f"{BAD}-2"}]}}
        planted = write.model_copy(update={"ops": ({**write.ops[0], "value": template},)})
        await world.write(planted)
        result = await verified(world, step, ref, p, before, datetime.now(UTC))
        assert result.verdict is Verdict.NO_EFFECT
