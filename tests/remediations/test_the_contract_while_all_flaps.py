"""One contract for the whole catalogue on a real API server, by the product's own eyes and hands, while all flaps.

Readiness, container states and restart counts of the pods in question move every second or two, and with them the
status and the version of whatever owns them: none of that may matter to anything but what depends on health.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from handrail.adapters.kubernetes import carries_key
from handrail.core.fingerprint import diff, fingerprint, normalise
from handrail.model.hands import Answer, DryRun
from handrail.model.reason import Reason
from handrail.model.step import CannotUndo, Done, Undone, Verdict, Wait
from handrail.model.switch import Permit
from handrail.model.value import Raw
from handrail.model.write import Direction, Verb, Write, key_of
from tests.remediations.contract import params_of, staying
from tests.remediations.live import CATALOGUE, TRIES, Live, living
from tests.remediations.live_cases import LIVE_CASES, LiveCase, Scene, now_of, played, seen_to_pass, shifted, where
from tests.remediations.test_every_step import FOREIGN
from tests.servers.api import JSON_PATCH
from tests.servers.cluster import Cluster as Server

cases = pytest.mark.parametrize("case", LIVE_CASES, ids=str)


def test_every_step_has_a_scene_for_each_of_its_kinds() -> None:
    assert {(case.name, case.kind) for case in LIVE_CASES} == {
        (step.name, kind) for step in CATALOGUE.values() for kind in step.kinds
    }


@pytest.mark.server
@cases
async def test_the_contract_is_kept(control_plane: Server, case: LiveCase) -> None:
    async with living(control_plane) as world, played(control_plane, world, case) as scene:
        p = params_of(case.step, scene.given)
        await refuses_what_it_must(control_plane, world, case, scene, p)
        seen = await seen_to_pass(world, case, scene, p)
        before, first = case.step.remember(seen, p), seen.thing.object
        intended = case.step.writes(seen, p)
        for write in intended[:1]:
            await a_dry_run_changes_nothing_and_neither_does_a_status(world, write)
        done = await carried_out_once_each(world, case, scene, p, before)
        assert done == list(intended), "what is done is what was rehearsed"
        acted = shifted(await case.step.look(world, scene.ref), scene)
        assert case.step.check(acted, p) is not None, "what is done is not offered again"
        assert case.step.verify(acted, p, before, now_of(scene), now_of(scene)).verdict is not Verdict.HEALED
        gone = {write.object.uid for write in intended if write.verb is not Verb.PATCH}
        assert not gone & {pod["metadata"]["uid"] for pod in staying(acted.thing)}
        if not case.back:
            assert not isinstance(case.step.undo(acted, p, before, now_of(scene)), Write)
            return
        assert diff(first, acted.thing.object, with_replicas=True)
        await undone(world, case, scene, p, before)
        after = await case.step.look(world, scene.ref)
        assert after is not None
        assert normalise(after.thing.object, with_replicas=True) == normalise(first, with_replicas=True)
        await no_undo_after_a_foreign_edit(control_plane, world, case, scene, p, before)


async def refuses_what_it_must(server: Server, world: Live, case: LiveCase, scene: Scene, p: BaseModel) -> None:
    """Another object by the same name, and what a GitOps tool holds."""
    another = scene.ref.model_copy(update={"uid": "another"})
    assert await case.step.look(world, another) is None
    if not case.step.admits:
        return
    mark = "argocd.argoproj.io/tracking-id"
    annotate(server, scene, {mark: "shop:apps/Deployment:shop/checkout"})
    refusal = case.step.check(shifted(await case.step.look(world, scene.ref), scene), p)
    annotate(server, scene, {mark: None})
    assert refusal is not None
    assert refusal.reason is Reason.GITOPS_MANAGED


def annotate(server: Server, scene: Scene, marks: dict[str, str | None]) -> None:
    server.api.patch(where(scene.ref), {"metadata": {"annotations": marks}})


async def a_dry_run_changes_nothing_and_neither_does_a_status(world: Live, write: Write) -> None:
    """Bound for approval is what is declared: it is the same after the version has moved by status alone."""
    stamped = write.model_copy(update={"key": key_of("inc-live", 9, 0, Direction.DO, write)})
    first = await dried(world, stamped)
    for _ in range(100):
        later = await dried(world, stamped)
        if later.resource_version != first.resource_version:
            break
        await asyncio.sleep(0.1)
    assert later.resource_version != first.resource_version, "nothing flaps"
    for one in (True, False):
        assert fingerprint(later.before, with_replicas=one) == fingerprint(first.before, with_replicas=one)
    assert later.before["metadata"].get("generation") == first.before["metadata"].get("generation")
    assert not carries_key(later.before, stamped.key)
    if first.after is not None and later.after is not None:
        counted = write.sets_replicas
        shown = diff(first.before, first.after, with_replicas=counted)
        assert diff(later.before, later.after, with_replicas=counted) == shown


async def dried(world: Live, write: Write) -> DryRun:
    tried = await world.tried(write)
    assert isinstance(tried, DryRun), tried
    return tried


async def carried_out_once_each(world: Live, case: LiveCase, scene: Scene, p: BaseModel, before: Raw) -> list[Write]:
    """Every write is sent twice over; a look after each is as good as the look of a new process."""
    did: list[Write] = []
    for _ in range(300):
        seen = shifted(await case.step.look(world, scene.ref), scene)
        move = case.step.next(seen, p, before, now_of(scene))
        if isinstance(move, Done):
            return did
        if isinstance(move, Write):
            did.append(move)
            await sent_twice(world, move, len(did))
        else:
            assert isinstance(move, Wait) or not did, move
            await asyncio.sleep(0.1)
    raise AssertionError(f"never done: {move}")


async def sent_twice(world: Live, write: Write, number: int) -> None:
    """The second is told apart by the key, or by the UID that is gone: nothing is applied again."""
    stamped = write.model_copy(update={"key": key_of("inc-live", 1, number, Direction.DO, write)})
    permit = await applied(world, stamped)
    once = await world.hands.read(write.object)
    again = await world.hands.send(permit)
    if write.verb is Verb.PATCH:
        assert again.answer is Answer.CONFLICT
        assert once is not None
        assert carries_key(once, stamped.key)
        twice = await world.hands.read(write.object)
        assert twice is not None
        assert twice["metadata"].get("generation") == once["metadata"].get("generation")
    else:
        assert again.answer is Answer.DONE
        assert "nothing was sent" in again.detail


async def applied(world: Live, stamped: Write) -> Permit:
    for _ in range(TRIES):
        dry = await dried(world, stamped)
        permit = Permit(incident="inc-live", write=stamped, resource_version=dry.resource_version, attempt=1)
        sent = await world.hands.send(permit)
        if sent.answer is not Answer.CONFLICT:
            break
    assert sent.answer is Answer.DONE, sent
    return permit


async def undone(world: Live, case: LiveCase, scene: Scene, p: BaseModel, before: Raw) -> None:
    move: Any = case.step.undo(await case.step.look(world, scene.ref), p, before, now_of(scene))
    assert isinstance(move, Write), move
    await world.write(move)
    move = case.step.undo(await case.step.look(world, scene.ref), p, before, now_of(scene))
    assert isinstance(move, Undone), move


async def no_undo_after_a_foreign_edit(
    server: Server, world: Live, case: LiveCase, scene: Scene, p: BaseModel, before: Raw
) -> None:
    """Done once more; then somebody edits the same place, and what is theirs stays."""
    seen = shifted(await case.step.look(world, scene.ref), scene)
    for write in case.step.writes(seen, p)[:1]:
        await world.write(write)
    server.api.patch(where(scene.ref), list(FOREIGN[case.name]), JSON_PATCH)
    since = now_of(scene) + timedelta(seconds=1)
    move = case.step.undo(await case.step.look(world, scene.ref), p, before, since)
    assert isinstance(move, CannotUndo), move
