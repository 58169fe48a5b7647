"""A scene on the real API server for each step and kind in which it may act, whose status never stands still.

The pods of the workload in question flap for ever, every second or two; what has no pods (a node, an autoscaler) has
its own status written anew all the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import BaseModel

from handrail.model.step import Seen, Sight, Step
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import pod_is_ready
from tests.remediations.contract import params_of
from tests.remediations.live import CATALOGUE, GOOD, Live, budgeted, hang, made, path, settled, stuck
from tests.servers.api import MERGE, STRATEGIC
from tests.servers.cluster import Cluster as Server
from tests.servers.kwok_stages import FLAPPING, NODE_DOWN
from tests.servers.process import wait_until

LONG_AGO = "2026-01-01T00:00:00Z"
MISSING = "registry.example/checkout:1.1-missing"
ALL, RESTARTS = "all", "restarts"
BEAT = 0.3
"""Seconds between two statuses of what has no pods, at least."""


class Scene(NamedTuple):
    """`given` are the step's parameters there; `ahead` is how far the clock must be for the step to act."""

    ref: ObjectRef
    given: dict[str, Any]
    ahead: timedelta = timedelta(0)


class LiveCase(NamedTuple):
    name: str
    kind: str
    back: bool
    play: Callable[[Server, Live, LiveCase], Awaitable[Scene]]

    @property
    def step(self) -> Step:
        return CATALOGUE[self.name]

    @property
    def namespace(self) -> str:
        return f"flap-{self.name.replace('_', '-')}-{self.kind.lower()}"[:60]

    def __str__(self) -> str:
        return f"{self.name}-{self.kind}"


async def serving(server: Server, world: Live, case: LiveCase, how: str = ALL) -> Scene:
    ref = made(server, case.kind, case.namespace, flapping=how)
    await settled(world, ref)
    return Scene(ref, {})


async def scaled(server: Server, world: Live, case: LiveCase) -> Scene:
    return (await serving(server, world, case))._replace(given={"replicas": 4})


async def badly_rolled_out(server: Server, world: Live, case: LiveCase) -> Scene:
    if case.kind == "Deployment":
        return Scene(await stuck(server, world, case.namespace, flapping=ALL), {"to_revision": 1})
    how = RESTARTS if case.kind == "DaemonSet" else ALL  # its controller takes old pods that are not ready first of all
    scene = await serving(server, world, case, how)
    made(server, case.kind, case.namespace, MISSING, flapping=how)
    await world.until(scene.ref, lambda w: bool(case.step.propose(Seen(workload=w))), "a bad rollout")
    return scene._replace(given={"to_revision": 1})


async def hanging(server: Server, world: Live, case: LiveCase) -> Scene:
    """One pod hangs and only restarts; the others flap, as far as a budget over them lets any go."""
    ref = made(server, case.kind, case.namespace, flapping=RESTARTS if case.name == "evict_pod" else ALL)
    pod = (await settled(world, ref)).pods[-1]
    hang(server, pod)
    uid = str(pod["metadata"]["uid"])
    if case.name == "evict_pod":
        budgeted(server, case.namespace, 1)
    await world.until(ref, lambda w: w.ready < len(w.pods), "its controller to see it")
    return Scene(ref, {"uid": uid})


async def paused(server: Server, world: Live, case: LiveCase) -> Scene:
    """By a bot; nobody can date that back, so the clock must be ahead."""
    scene = await serving(server, world, case)
    made(server, case.kind, case.namespace, f"{GOOD}.1", flapping=ALL)
    await world.until(scene.ref, lambda w: len(w.replica_sets) == 2, "the new ReplicaSet")
    where, patch = path(case.kind, case.namespace), {"spec": {"paused": True}}
    server.api.call("PATCH", where, patch, MERGE, fieldManager="deploy-bot")
    await world.until(scene.ref, lambda w: w.current is not None and bool(w.pods_of(w.current)), "a new pod")
    return scene._replace(ahead=timedelta(minutes=40))


def node_name(case: LiveCase) -> str:
    return f"node-{case.namespace}"


async def sick(server: Server, world: Live, case: LiveCase) -> Scene:
    name = node_name(case)
    server.add_node(name)
    where = f"/api/v1/nodes/{name}"
    server.api.patch(where, {"metadata": {"annotations": {NODE_DOWN: "yes"}}})
    ready_since_long(server, where, "False")
    return Scene(ObjectRef.of({"apiVersion": "v1", "kind": "Node", **server.api.get(where)}), {})


async def well_again(server: Server, world: Live, case: LiveCase) -> Scene:
    scene = await sick(server, world, case)
    cordon, where = CATALOGUE["cordon"], f"/api/v1/nodes/{scene.ref.name}"
    (write,) = cordon.writes(await cordon.look(world, scene.ref), params_of(cordon, {}))
    await world.write(write)
    server.api.patch(where, {"metadata": {"annotations": {NODE_DOWN: None}}})
    ready_since_long(server, where, "True")
    return scene


async def at_its_most(server: Server, world: Live, case: LiveCase) -> Scene:
    await settled(world, made(server, "Deployment", case.namespace, flapping=ALL))
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout"}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": case.kind,
        "metadata": {"name": "checkout", "namespace": case.namespace},
        "spec": {"scaleTargetRef": scaled, "minReplicas": 2, "maxReplicas": 3},
    }
    return Scene(ObjectRef.of(server.api.apply(autoscaler(case), body)), {"max_replicas": 5, "min_replicas": 3})


KINDS = ("Deployment", "StatefulSet", "DaemonSet")
LIVE_CASES: tuple[LiveCase, ...] = (
    *(LiveCase("rollout_undo", kind, True, badly_rolled_out) for kind in KINDS),
    *(LiveCase("rollout_restart", kind, False, serving) for kind in KINDS),
    *(LiveCase("scale_workload", kind, True, scaled) for kind in KINDS[:2]),
    *(LiveCase("delete_pod", kind, False, hanging) for kind in KINDS),
    *(LiveCase("evict_pod", kind, False, hanging) for kind in KINDS[:2]),
    *(LiveCase("annotate", kind, True, serving) for kind in KINDS),
    LiveCase("cordon", "Node", True, sick),
    LiveCase("uncordon", "Node", True, well_again),
    LiveCase("set_hpa_bounds", "HorizontalPodAutoscaler", True, at_its_most),
    LiveCase("resume_rollout", "Deployment", True, paused),
)


@asynccontextmanager
async def played(server: Server, world: Live, case: LiveCase) -> AsyncIterator[Scene]:
    """The scene, for as long as the block lasts: its pods go on flapping, and so does its own status."""
    scene = await case.play(server, world, case)
    beating = asyncio.create_task(_beats(server, case))
    try:
        yield scene
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
        for one in (f"/api/v1/nodes/{node_name(case)}", *(path(kind, case.namespace) for kind in KINDS)):
            server.api.call("DELETE", one)


async def seen_to_pass(world: Live, case: LiveCase, scene: Scene, p: BaseModel) -> Sight:
    """What is flapping is refused now and then: the first look on which the check lets it pass."""
    for _ in range(200):
        seen: Sight = shifted(await case.step.look(world, scene.ref), scene)
        refusal = case.step.check(seen, p)
        if refusal is None:
            return seen
        await asyncio.sleep(0.1)
    raise AssertionError(f"never passed: {refusal}")


def shifted(seen: Any, scene: Scene) -> Any:
    """As if it had been seen that much later."""
    if not scene.ahead:
        return seen
    w = seen.workload
    return seen.model_copy(update={"workload": w.model_copy(update={"observed_at": w.observed_at + scene.ahead})})


def calm(server: Server, case: LiveCase) -> None:
    """Its pods stop flapping, and whatever made them hang is over."""
    for pod in server.api.get(f"/api/v1/namespaces/{case.namespace}/pods")["items"]:
        where = f"/api/v1/namespaces/{case.namespace}/pods/{pod['metadata']['name']}"
        server.api.call("PATCH", where, {"metadata": {"annotations": {FLAPPING: None}}}, "application/merge-patch+json")


def all_ready(server: Server, case: LiveCase) -> bool:
    return all(map(pod_is_ready, server.api.get(f"/api/v1/namespaces/{case.namespace}/pods")["items"]))


def where(ref: ObjectRef) -> str:
    """The path of any object of a scene."""
    root = "/api" if ref.api_version == "v1" else "/apis"
    inside = f"/namespaces/{ref.namespace}" if ref.namespace else ""
    return f"{root}/{ref.api_version}{inside}/{ref.kind.lower()}s/{ref.name}"


def autoscaler(case: LiveCase) -> str:
    return f"/apis/autoscaling/v2/namespaces/{case.namespace}/horizontalpodautoscalers/checkout"


LIMITED = (
    ("AbleToScale", "True", "Ok"),
    ("ScalingActive", "True", "Valid"),
    ("ScalingLimited", "True", "TooManyReplicas"),
)


async def _beats(server: Server, case: LiveCase) -> None:
    """What moves by itself where pods do not move it: a node, an autoscaler, a DaemonSet whose pods only restart."""
    beat, loop = 0, asyncio.get_running_loop()
    while beats := _status_of(case):
        beat, begun = beat + 1, loop.time()
        if case.kind == "HorizontalPodAutoscaler":
            wants_more(server, case, beat)
        else:
            told = {"type": "Beating", "status": str(bool(beat % 2)), "reason": f"Beat{beat}"}
            patch: Raw = {"status": {"conditions": [told]}}
            await asyncio.to_thread(server.api.call, "PATCH", beats, patch, STRATEGIC)
        # As slow as the machine is: what is written between two beats takes several requests.
        await asyncio.sleep(max(BEAT, 5 * (loop.time() - begun)))


def _status_of(case: LiveCase) -> str:
    if case.kind == "Node":
        return f"/api/v1/nodes/{node_name(case)}/status"
    if case.kind == "HorizontalPodAutoscaler":
        return f"{autoscaler(case)}/status"
    return f"{path(case.kind, case.namespace)}/status" if (case.name, case.kind) == RESTING else ""


RESTING = ("rollout_undo", "DaemonSet")


def wants_more(server: Server, case: LiveCase, beat: int) -> None:
    """What the controller would say with metrics; without them it says otherwise every fifteen seconds."""
    told = [
        {"type": kind, "status": status, "reason": reason, "lastTransitionTime": LONG_AGO, "message": f"beat {beat}"}
        for kind, status, reason in LIMITED
    ]
    body: dict[str, Any] = {"currentReplicas": 2 + beat % 2, "desiredReplicas": 3, "conditions": told}
    server.api.patch(_status_of(case), {"status": body})


def ready_since_long(server: Server, where: str, status: str) -> None:
    """Waits for this readiness, then dates it back."""

    def told() -> list[Raw]:
        found: list[Raw] = (server.api.get(where).get("status") or {}).get("conditions") or []
        return found

    wait_until(lambda: any(c["type"] == "Ready" and c["status"] == status for c in told()), 60, f"Ready is {status}")
    old = [{**c, "lastTransitionTime": LONG_AGO} if c["type"] == "Ready" else c for c in told()]
    server.api.patch(f"{where}/status", {"status": {"conditions": old}})


def now_of(scene: Scene) -> datetime:
    return datetime.now(UTC) + scene.ahead
