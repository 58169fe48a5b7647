"""Single pods on a real API server: by UID, within budgets, one at a time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from handrail.model.hands import Answer, DryRun
from handrail.model.pods import is_corpse, spare_corpses
from handrail.model.reason import Reason, Refusal
from handrail.model.revisions import stuck_pods
from handrail.model.step import Done, Seen, Verdict
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.workload import Workload, pod_is_ready
from handrail.model.write import Verb, Write
from tests.remediations.contract import does_and_undoes, params_of
from tests.remediations.live import CATALOGUE, GOOD, Live, budgeted, hang, living, made, settled, verified
from tests.servers.cluster import Cluster as Server

pytestmark = pytest.mark.server

MISSING = "registry.example/checkout:1.1-missing"


async def hanging(server: Server, world: Live, kind: str, namespace: str) -> tuple[ObjectRef, str]:
    """A workload of which one pod hangs, and that pod's UID."""
    ref = made(server, kind, namespace)
    pod = (await settled(world, ref)).pods[-1]
    hang(server, pod)

    def counted(w: Workload) -> bool:
        ready = w.status.get("numberReady") if kind == "DaemonSet" else w.ready
        return ready == sum(map(pod_is_ready, w.pods)) == len(w.pods) - 1

    await world.until(ref, counted, "the controller to see it")
    return ref, str(pod["metadata"]["uid"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("delete_pod", "Deployment"),
        ("delete_pod", "StatefulSet"),
        ("delete_pod", "DaemonSet"),
        ("evict_pod", "Deployment"),
        ("evict_pod", "StatefulSet"),
    ],
)
async def test_a_pod_that_hangs_is_replaced_once_and_that_heals(control_plane: Server, name: str, kind: str) -> None:
    step, namespace = CATALOGUE[name], f"{name.replace('_', '-')}-{kind.lower()}"
    async with living(control_plane) as world:
        ref, uid = await hanging(control_plane, world, kind, namespace)
        budgeted(control_plane, namespace, 1)
        seen = await step.look(world, ref)
        assert uid in {candidate.params["uid"] for candidate in step.propose(seen)}
        p = params_of(step, {"uid": uid})
        before = step.remember(seen, p)
        await does_and_undoes(step, world, ref, {"uid": uid}, back=False)
        result = await verified(world, step, ref, p, before, datetime.now(UTC))
        assert result.verdict is Verdict.HEALED, result.detail


async def test_a_budgets_no_is_a_refusal_with_its_sentence_and_is_seen_before_asking(control_plane: Server) -> None:
    step = CATALOGUE["evict_pod"]
    async with living(control_plane) as world:
        ref, uid = await hanging(control_plane, world, "Deployment", "evict-forbidden")
        allowed = budgeted(control_plane, "evict-forbidden", 3)
        assert allowed() == 0
        seen = await step.look(world, ref)
        p = params_of(step, {"uid": uid})
        refusal = step.check(seen, p)
        assert refusal is not None
        assert refusal.reason is Reason.DISRUPTION_BUDGET
        (write,) = step.writes(seen, p)
        write = write.model_copy(update={"key": "inc/1/0/do/x/evict"})
        dry = await world.hands.dry_run(write)
        assert isinstance(dry, Refusal)
        assert dry.reason is Reason.DISRUPTION_BUDGET
        assert "budget checkout needs 3 healthy pods and has 2" in dry.detail
        sent = await world.hands.send(Permit(incident="i", write=write, resource_version="1", attempt=1))
        assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DISRUPTION_BUDGET)


async def test_an_eviction_of_another_uid_is_never_sent_so_that_the_budget_is_not_spent(control_plane: Server) -> None:
    """A real server takes it off the budget before it looks at the UID: asked, it would answer 409 all the same."""
    async with living(control_plane) as world:
        ref = made(control_plane, "StatefulSet", "evict-by-uid")
        pod = (await settled(world, ref)).pods[0]
        allowed = budgeted(control_plane, "evict-by-uid", 2)
        assert allowed() == 1
        older = ObjectRef.of(pod).model_copy(update={"uid": "an-older-incarnation"})
        write = Write(verb=Verb.EVICT, object=older, summary="evict", key="inc/1/0/do/y/evict")
        dry = await world.hands.dry_run(write)
        assert isinstance(dry, Refusal)
        assert dry.reason is Reason.DRIFTED
        sent = await world.hands.send(Permit(incident="i", write=write, resource_version="1", attempt=1))
        assert sent.answer is Answer.DONE
        assert "nothing was sent" in sent.detail
        assert allowed() == 1
        assert await world.get(ObjectRef.of(pod)) is not None


async def test_a_pod_whose_status_flaps_between_is_deleted_all_the_same_and_one_that_is_another_is_not(
    control_plane: Server,
) -> None:
    async with living(control_plane) as world:
        ref, uid = await hanging(control_plane, world, "Deployment", "delete-flapping")
        seen = await CATALOGUE["delete_pod"].look(world, ref)
        (write,) = CATALOGUE["delete_pod"].writes(seen, params_of(CATALOGUE["delete_pod"], {"uid": uid}))
        write = write.model_copy(update={"key": "inc/1/0/do/z/delete"})
        first = await world.hands.dry_run(write)
        assert isinstance(first, DryRun)
        name = f"/api/v1/namespaces/delete-flapping/pods/{write.object.name}"
        control_plane.api.patch(name, {"metadata": {"annotations": {"touched": "yes"}}})
        late = Permit(incident="i", write=write, resource_version=first.resource_version, attempt=1)
        assert (await world.hands.send(late)).answer is Answer.CONFLICT
        await world.write(write)
        again = await world.hands.send(late)
        assert again.answer is Answer.DONE
        assert "nothing was sent" in again.detail


async def test_corpses_are_swept_one_after_the_other_and_the_newest_stays(control_plane: Server) -> None:
    step = CATALOGUE["delete_pod"]
    async with living(control_plane) as world:
        ref = made(control_plane, "Deployment", "delete-corpses")
        for pod in (await settled(world, ref)).pods:
            where = f"/api/v1/namespaces/delete-corpses/pods/{pod['metadata']['name']}/status"
            control_plane.api.patch(where, {"status": {"phase": "Failed", "reason": "Evicted"}})
        await world.until(ref, lambda w: len(spare_corpses(w)) == 2 and w.ready == 3, "three corpses and three others")
        (sweep,) = step.propose(await step.look(world, ref))
        await does_and_undoes(step, world, ref, sweep.params, back=False)
        after = await world.workload(ref)
        assert after is not None
        assert [is_corpse(pod) for pod in after.pods].count(True) == 1
        assert after.ready == 3


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
async def test_a_bad_revision_is_undone_and_the_stuck_pod_of_a_stateful_set_replaced(
    control_plane: Server, kind: str
) -> None:
    """kubernetes#67250: the revert alone leaves the StatefulSet's pod in ImagePullBackOff for ever."""
    step, namespace = CATALOGUE["rollout_undo"], f"undo-{kind.lower()}"
    async with living(control_plane) as world:
        ref = made(control_plane, kind, namespace)
        await settled(world, ref)
        made(control_plane, kind, namespace, MISSING)
        await world.until(ref, lambda w: bool(step.propose(Seen(workload=w))), "a bad rollout")
        seen = await step.look(world, ref)
        p = params_of(step, step.propose(seen)[0].params)
        before, intended = step.remember(seen, p), step.writes(seen, p)
        assert [write.verb for write in intended] == [Verb.PATCH, *([Verb.DELETE] if kind == "StatefulSet" else [])]
        await does_and_undoes(step, world, ref, p.model_dump(), back=True)

        again = len(intended) - 1  # not before its controller has made the pod that is stuck
        await world.until(
            ref, lambda w: bool(step.propose(Seen(workload=w))) and len(stuck_pods(w)) == again, "the bad rollout again"
        )
        seen = await step.look(world, ref)
        p = params_of(step, step.propose(seen)[0].params)
        before = step.remember(seen, p)
        for _ in range(300):
            move = step.next(await step.look(world, ref), p, before, datetime.now(UTC))
            if isinstance(move, Done):
                break
            if isinstance(move, Write):
                await world.write(move)
            else:
                await asyncio.sleep(0.1)
        result = await verified(world, step, ref, p, before, datetime.now(UTC))
        assert result.verdict is Verdict.HEALED, result.detail
        live = await world.get(ref)
        assert live is not None
        assert live["spec"]["template"]["spec"]["containers"][0]["image"] == GOOD
