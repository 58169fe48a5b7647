"""The contract that every step keeps, whatever world it is judged in.

`World` is how a test looks and writes. `Recorded` holds one object and applies JSON patches to it; a world that
talks to an API server has the same shape, so that one suite judges both.
"""

from __future__ import annotations

import asyncio
import copy
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import jsonpatch
from pydantic import BaseModel

from handrail.core.fingerprint import diff, normalise
from handrail.model.autoscaler import Autoscaler
from handrail.model.node import Node
from handrail.model.params import fill
from handrail.model.step import Done, Sight, Step, Thing, Undone, Wait
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload
from handrail.model.write import Verb, Write
from tests.remediations.workloads import NOW

T = TypeVar("T", Workload, Node, Autoscaler)


class World(Protocol):
    """What the suite needs: eyes, and a way to carry out one write."""

    async def get(self, ref: ObjectRef) -> Raw | None: ...

    async def workload(self, ref: ObjectRef) -> Workload | None: ...

    async def node(self, ref: ObjectRef) -> Node | None: ...

    async def autoscaler(self, ref: ObjectRef) -> Autoscaler | None: ...

    async def list(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> tuple[Raw, ...]: ...

    async def write(self, write: Write) -> None: ...


class Recorded:
    """A recorded thing whose object can be patched, and whose pods can be taken away; status stays as it was.

    `others` stand around it: budgets, nodes, Services.
    """

    def __init__(self, thing: Thing, *others: Raw) -> None:
        self.now: Any = thing
        self.others = others

    async def get(self, ref: ObjectRef) -> Raw | None:
        known = (self.now.object, *self.others)
        return next((one for one in known if (one["kind"], one["metadata"]["name"]) == (ref.kind, ref.name)), None)

    async def workload(self, ref: ObjectRef) -> Workload | None:
        return self._it(Workload, ref)

    async def node(self, ref: ObjectRef) -> Node | None:
        return self._it(Node, ref)

    async def autoscaler(self, ref: ObjectRef) -> Autoscaler | None:
        return self._it(Autoscaler, ref)

    async def list(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> tuple[Raw, ...]:
        return tuple(one for one in self.others if one["kind"] == kind)

    async def write(self, write: Write) -> None:
        if write.verb is Verb.PATCH:
            assert write.object == self.now.ref
            self.now = self.now.model_copy(update={"object": patched(self.now.object, write)})
            return
        stay = tuple(pod for pod in self.now.pods if ObjectRef.of(pod) != write.object)
        assert len(stay) == len(self.now.pods) - 1
        self.now = self.now.model_copy(update={"pods": stay})

    def _it(self, kind: type[T], ref: ObjectRef) -> T | None:
        return self.now if isinstance(self.now, kind) and ref == self.now.ref else None


def patched(raw: Raw, write: Write) -> Raw:
    assert write.verb is Verb.PATCH
    result: Raw = jsonpatch.apply_patch(copy.deepcopy(raw), list(write.ops))
    return result


def params_of(step: Step, given: dict[str, Any]) -> BaseModel:
    """As compile does it: times filled in, then validated, then through JSON as the journal keeps them."""
    first = step.Params.model_validate(fill(step.Params, given, NOW))
    return step.Params.model_validate(first.model_dump(mode="json"))


async def seen_by(step: Step, world: World, ref: ObjectRef) -> Sight:
    seen = await step.look(world, ref)
    assert seen is not None
    return seen


async def does_and_undoes(step: Step, world: World, ref: ObjectRef, given: dict[str, Any], *, back: bool) -> None:
    """Check, act until Done, be Done again, undo until Undone; `back` says whether it can be taken back at all."""
    p = params_of(step, given)
    seen = await seen_by(step, world, ref)
    assert step.check(seen, p) is None
    before, first = step.remember(seen, p), seen.thing.object
    intended = step.writes(seen, p)

    did = await _carry_out(step, world, ref, p, before)
    assert did == list(intended), "what was done is what was rehearsed"
    acted = await seen_by(step, world, ref)
    assert isinstance(step.next(acted, p, before, NOW + timedelta(hours=1)), Done)
    assert step.check(acted, p) is not None, "what is done is not offered again"
    counted = any(write.sets_replicas for write in intended)
    named = {write.object.uid for write in intended if write.verb is not Verb.PATCH}
    changed = diff(first, acted.thing.object, with_replicas=counted)
    assert changed or named, "the write changes something that counts"
    assert not named & {pod["metadata"]["uid"] for pod in staying(acted.thing)}, "what was named is gone or going"

    move = step.undo(acted, p, before, NOW)
    if not back:
        assert not isinstance(move, (Write, Undone))
        return
    assert isinstance(move, Write)
    await world.write(move)
    after = await seen_by(step, world, ref)
    assert isinstance(step.undo(after, p, before, NOW), Undone)
    assert normalise(after.thing.object, with_replicas=True) == normalise(first, with_replicas=True)


def staying(thing: Thing) -> tuple[Raw, ...]:
    found = () if isinstance(thing, Autoscaler) else thing.pods
    return tuple(pod for pod in found if "deletionTimestamp" not in pod["metadata"])


async def _carry_out(step: Step, world: World, ref: ObjectRef, p: BaseModel, before: Raw) -> list[Write]:
    did: list[Write] = []
    for _ in range(600):
        move = step.next(await seen_by(step, world, ref), p, before, NOW)
        if isinstance(move, Wait):
            await asyncio.sleep(0.1)
            continue
        if not isinstance(move, Write):
            break
        did.append(move)
        await world.write(move)
        assert len(did) < 30, "a step ends"
    assert isinstance(move, Done)
    return did
