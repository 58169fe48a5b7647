"""Every step from its rehearsal to its end on a real API server, driven by the daemon's own moves, while all flaps.

The process dies after each kind of commit once, and one answer is lost on the way back: each write is applied once all
the same. What somebody changes in the spec between the approval and the act voids it; what the status does, never.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.adapters.kubernetes import Cluster
from handrail.adapters.store import Store
from handrail.core.correlate import arrival
from handrail.effects.desk import PeoplesDesk
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.config import ClusterConfig, Config, KafkaConfig, KubernetesConfig, TopicConfig
from handrail.model.errors import HeadMoved, Transient
from handrail.model.incident import Incident, State
from handrail.model.menu import Menu, Option
from handrail.model.reason import Reason
from handrail.model.saga import Saga, SagaStep
from handrail.model.step import Verdict
from handrail.model.target import ObjectRef
from handrail.model.write import Verb
from handrail.reconciler import advance
from tests.factories import a_batch, a_finding, a_proposal, gathered
from tests.reconciler.rig import LOCAL, Killed, _tools
from tests.reconciler.test_restarts import CountingHands
from tests.remediations.contract import params_of
from tests.remediations.live import Live, living
from tests.remediations.live_cases import LIVE_CASES, LiveCase, Scene, all_ready, calm, played, seen_to_pass
from tests.remediations.live_cases import where as path_of
from tests.servers.api import JSON_PATCH
from tests.servers.cluster import Cluster as Server
from tests.servers.process import wait_until
from tests.store.places import migrated

pytestmark = pytest.mark.server

CLUSTER = "flapping"
STORIES = 40
"""On a busy machine more passes between a look and its write than between two beats, so that most stories end in
conflicts; in one of these the write comes through."""


@dataclass
class Story:
    """What outlives the process: the file, what was applied, which commits it has died after."""

    server: Server
    case: LiveCase
    scene: Scene
    folder: Path
    ahead: timedelta
    applied: list[str] = field(default_factory=list)
    died: set[object] = field(default_factory=set)
    lose: int = 0

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Mortal:
    """A store whose process dies right after the first commit of each kind, before anybody learns of it."""

    def __init__(self, store: Store, died: set[object]) -> None:
        self._store, self._died = store, died

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("append", "commit_intent", "append_outcome"):
            return found

        async def mortal(first: Any, said: Any, *more: Any, **options: Any) -> Any:
            done = await found(first, said, *more, **options)
            kind = _kind(said)
            if kind not in self._died and not isinstance(said, ev.Attempted):  # attempts are counted: three are all
                self._died.add(kind)
                raise Killed
            return done

        return mortal


RESTLESS = (Reason.CONFLICTS_SPENT, Reason.ATTEMPTS_SPENT)


class TooRestless(Exception):
    """Three attempts in a row that the flapping answered are the most that is tried: a person is told, nothing done."""


def _kind(said: Any) -> object:
    if isinstance(said, ev.Intent):
        return ("intent", said.write.key)
    if isinstance(said, ev.Outcome):
        return ("outcome", said.key, said.result)
    return tuple(type(one).__name__ for one in said) if isinstance(said, tuple) else type(said).__name__


@asynccontextmanager
async def life(story: Story, *, mortal: bool) -> AsyncIterator[Tools]:
    story.folder.mkdir(exist_ok=True)
    policy = story.folder / "policy.yaml"
    rules = [{"namespaces": ["*"], "steps": {story.case.name: "ask"}}]
    policy.write_text(yaml.safe_dump({"version": 1, "rules": rules, "approvers": {"local": True}}))
    kubernetes = KubernetesConfig(mode="kubeconfig", kubeconfig=str(story.server.kubeconfig))
    config = Config(
        cluster=ClusterConfig(name=CLUSTER),
        kafka=KafkaConfig(bootstrap=("unused:1",), topics=(TopicConfig(name="alerts"),)),
        kubernetes=kubernetes,
        policy=str(policy),
    )
    store = await Store.open(f"sqlite:///{migrated(story.folder / 'handrail.db')}", cluster=CLUSTER, clock=story.now)
    try:
        async with Cluster(kubernetes) as cluster:
            tools = _tools(config, store, cluster, story.now, None)
            hands = CountingHands(tools.hands, story.applied, lose=story.lose)
            held: Any = Mortal(store, story.died) if mortal else store
            try:
                yield replace(tools, hands=hands, store=held)
            finally:
                story.lose = hands.lose
    finally:
        await store.close()


async def opened(story: Story) -> None:
    """An incident on its way to the rehearsal of this one step: how it is chosen is another suite's."""
    case, ref = story.case, story.scene.ref
    params = params_of(case.step, story.scene.given).model_dump(mode="json")
    async with life(story, mortal=False) as tools:
        arrived = arrival(_alert(ref, story.now()), CLUSTER, (a_finding(),))
        await tools.store.take([a_batch(arrived, at=story.now())], max_age=timedelta(hours=1))
        (id_,) = await tools.store.open_ids()
        incident = await the_incident(tools)
        step = SagaStep(index=0, step=case.name, risk=case.step.risk, target=ref, params=params, summary="as the test")
        option = Option(id="o1", step=case.name, risk=case.step.risk, target=ref, params=params, summary="as the test")
        told = (
            ev.GatheringBegun(),
            gathered(ref),
            ev.Offered(menu=Menu(options=(option,))),
            ev.Planned(planner="test", proposal=a_proposal()),
            ev.Compiled(saga=Saga(incident=id_, round=1, at=story.now(), steps=(step,))),
        )
        await tools.store.append(incident, told)


def _alert(ref: ObjectRef, now: datetime) -> Alert:
    labels = {"alertname": "KubePodCrashLooping", ref.kind.lower(): ref.name}
    if ref.namespace:
        labels["namespace"] = ref.namespace
    said = {"name": "KubePodCrashLooping", "status": "firing", "labels": labels, "starts_at": now, "seen_at": now}
    return Alert.model_validate({**said, "cluster": CLUSTER, "severity": "warning", "wire": "test"})


async def the_incident(tools: Tools) -> Incident:
    (row,) = await tools.store.rows(5)
    found = await tools.store.incident(row.id)
    assert found is not None
    return found


async def moved(story: Story, until: Callable[[Incident], bool], *, mortal: bool = True) -> Incident:
    """Lives one after the other, until the incident is as wanted."""
    for _ in range(60):
        with suppress(Killed):
            async with life(story, mortal=mortal) as tools:
                return await _moved(tools, until)
    raise AssertionError(f"it dies and dies: {story.died}")


async def _moved(tools: Tools, until: Callable[[Incident], bool]) -> Incident:
    for _ in range(400):
        incident = await the_incident(tools)
        if until(incident):
            return incident
        if incident.end and incident.end[0] in RESTLESS and not incident.done_writes:
            raise TooRestless(incident.end[1])
        assert not incident.state.terminal, incident.end
        try:
            wait = await advance(tools, incident.id)
        except (HeadMoved, Transient):
            wait = 0.1
        await asyncio.sleep(min(wait or 0.0, 0.1))
    raise AssertionError(f"it stands still in {incident.state}: {incident.failure}")


def asking(incident: Incident) -> bool:
    return incident.state is State.ASKING


async def approved(story: Story, incident: Incident) -> None:
    assert incident.request is not None
    async with life(story, mortal=False) as tools:
        reply = await PeoplesDesk(tools).decide(incident.id, "approve", LOCAL, incident.request.id)
        assert reply.ok, reply


async def the_status_moves(world: Live, ref: ObjectRef) -> None:
    """The version of what will be written, by nothing but status."""
    first = await world.get(ref)
    for _ in range(100):
        later = await world.get(ref)
        assert first is not None
        assert later is not None
        if later["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{ref} does not flap")


SPEC: dict[str, dict[str, Any]] = {
    "Pod": {"op": "add", "path": "/metadata/labels/touched", "value": "yes"},
    "Node": {"op": "add", "path": "/spec/taints/-", "value": {"key": "x", "effect": "PreferNoSchedule"}},
    "HorizontalPodAutoscaler": {"op": "add", "path": "/spec/behavior", "value": {"scaleUp": {"selectPolicy": "Min"}}},
    "": {"op": "add", "path": "/spec/revisionHistoryLimit", "value": 9},
}
"""What somebody changes: no step cares, and none of it is what was approved. A pod's spec can't be changed."""


async def told_to_change(story: Story, ref: ObjectRef) -> None:
    edit = SPEC.get(ref.kind, SPEC[""])
    if ref.kind == "Node" and "taints" not in story.server.api.get(f"/api/v1/nodes/{ref.name}")["spec"]:
        edit = {**edit, "path": "/spec/taints", "value": [edit["value"]]}
    where = path_of(ref)
    story.server.api.patch(where, [edit], JSON_PATCH)


@pytest.mark.parametrize("case", LIVE_CASES, ids=str)
async def test_it_acts_once_whatever_the_status_does_and_never_on_another_spec(
    control_plane: Server, case: LiveCase, tmp_path: Path
) -> None:
    async with living(control_plane) as world, played(control_plane, world, case) as scene:
        await a_changed_spec_voids(Story(control_plane, case, scene, tmp_path / "void", scene.ahead), world)
        for number in range(STORIES):
            story = Story(control_plane, case, scene, tmp_path / f"acts-{number}", scene.ahead, lose=1)
            with suppress(TooRestless):
                await acts_once(story, world)
                break
        else:
            raise AssertionError(f"too restless for {STORIES} stories")
        if case.kind not in ("Node", "HorizontalPodAutoscaler"):
            await ends_when_it_is_calm(story)


async def a_changed_spec_voids(story: Story, world: Live) -> None:
    await seen_to_pass(world, story.case, story.scene, params_of(story.case.step, story.scene.given))
    await opened(story)
    asked = await moved(story, asking, mortal=False)
    assert asked.rehearsal is not None
    await told_to_change(story, asked.rehearsal.writes[0].write.object)
    await approved(story, asked)
    after = await moved(story, lambda i: i.voids > 0, mortal=False)
    assert after.state is State.GATHERING
    assert story.applied == []


async def acts_once(story: Story, world: Live) -> None:
    await seen_to_pass(world, story.case, story.scene, params_of(story.case.step, story.scene.given))
    await opened(story)
    asked = await moved(story, asking)
    assert asked.rehearsal is not None
    shown = [one.write for one in asked.rehearsal.writes]
    await the_status_moves(world, shown[0].object)
    await approved(story, asked)
    acted = await moved(story, lambda i: i.state is State.VERIFYING)
    assert acted.voids == 0
    assert story.applied == [write.key for write in shown]
    assert {run.intent.write.key for run in acted.writes} == {write.key for write in shown}
    assert story.lose == 0, "an answer was lost on the way"
    for write in shown:
        assert ("intent", write.key) in story.died
        assert ("outcome", write.key, ev.Result.DONE) in story.died
        live = await world.hands.read(write.object)
        gone = live is None or live["metadata"]["uid"] != write.object.uid or "deletionTimestamp" in live["metadata"]
        assert gone == (write.verb is not Verb.PATCH)


async def ends_when_it_is_calm(story: Story) -> None:
    """Flapping is never taken for health, however long it is looked at; when it is over, it is."""
    if not story.ahead:
        async with life(story, mortal=False) as tools:
            for _ in range(3):
                incident = await the_incident(tools)
                await advance(tools, incident.id)
                assert (await the_incident(tools)).state is State.VERIFYING
                await asyncio.sleep(0.2)
    calm(story.server, story.case)
    wait_until(lambda: all_ready(story.server, story.case), 60, "calm")
    story.ahead += timedelta(seconds=65)
    ended = await moved(story, lambda i: i.state.terminal, mortal=False)
    assert ended.state is State.RESOLVED, ended.end
    assert ended.verified is not None
    assert ended.verified.verdict is Verdict.HEALED
