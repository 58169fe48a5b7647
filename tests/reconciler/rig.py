"""The daemon's inside on the simulated cluster, with the hands of the clock turned by the test.

Real: store, decode, detectors, gathering, planners, steps, gate, hands, over HTTP to the simulator. Left out: Kafka,
Slack, and the waiting. One `Rig` is one life of the process; a test may end it anywhere and start another.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import yaml

import handrail_detectors
import handrail_remediations
from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.http import Reply
from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands
from handrail.adapters.runbooks import RunbookPlanner
from handrail.adapters.settings import PolicyFile
from handrail.adapters.store import Access, Store
from handrail.effects.desk import PeoplesDesk
from handrail.effects.tools import Model, Tools
from handrail.model.approval import Person
from handrail.model.config import ClusterConfig, Config, KafkaConfig, KubernetesConfig, PlannerConfig, TopicConfig
from handrail.model.errors import HeadMoved, Transient
from handrail.model.incident import Incident, State
from handrail.model.record import Record
from handrail.reconciler import advance, on_records
from handrail.sim.clock import ManualClock
from handrail.sim.simulator import Simulator
from tests.store.places import migrated

GOOD = "registry.example/checkout:1.4.2"
BAD = "registry.example/checkout:1.5.0-crash"
LEASE_SECONDS = 3.0
LOCAL = Person(via="local", name="tester")
POLICY = {
    "version": 1,
    "rules": [
        {"namespaces": ["shop"], "steps": {"rollout_undo": "ask", "rollout_restart": "ask", "scale_workload": "act"}}
    ],
    "approvers": {"local": True},
    "operators": {"local": True},
}


class Shop:
    """Deployment shop/checkout in the simulator, spoken to over its HTTP API."""

    def __init__(self, simulator: Simulator, clock: ManualClock) -> None:
        self.simulator = simulator
        self.clock = clock

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self.simulator.token}", "Content-Type": kind}
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.simulator.url + path, json=body, headers=headers) as answer,
        ):
            assert answer.status < 300, await answer.text()
            return await answer.json()

    async def patch(self, *ops: dict[str, Any]) -> Any:
        return await self.call("PATCH", DEPLOYMENT, list(ops), "application/json-patch+json")

    async def deployment(self) -> Any:
        return await self.call("GET", DEPLOYMENT)

    async def image(self) -> str:
        found = await self.deployment()
        return str(found["spec"]["template"]["spec"]["containers"][0]["image"])

    async def roll_out(self, image: str) -> None:
        await self.patch({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image})

    async def live(self, seconds: float) -> None:
        """Lets that much time pass in the cluster."""
        for _ in range(math.ceil(seconds * 2)):
            self.clock.advance(0.5)
            self.simulator.cluster.settle()
        await asyncio.sleep(0)

    async def set_up(self) -> None:
        labels = {"app": "checkout"}
        spec = {
            "replicas": 3,
            "progressDeadlineSeconds": 20,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": GOOD}]},
            },
        }
        await self.call(
            "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        )
        meta = {"name": "checkout", "namespace": "shop"}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
        await self.call("POST", DEPLOYMENT.rsplit("/", 1)[0], body)
        await self.live(10)


DEPLOYMENT = "/apis/apps/v1/namespaces/shop/deployments/checkout"


class Killed(BaseException):
    """What a SIGKILL looks like from inside: no `except Exception` sees it."""


class Rig:
    """One life of the process."""

    def __init__(self, tools: Tools, shop: Shop) -> None:
        self.tools = tools
        self.shop = shop
        self.desk = PeoplesDesk(tools)

    async def take(self, value: bytes, *, offset: int = 0) -> None:
        record = Record(topic="alerts", partition=0, offset=offset, value=value, at=self.tools.now())
        await on_records(self.tools, [record])

    async def incidents(self) -> list[Incident]:
        rows = await self.tools.store.rows(50)
        found = [await self.tools.store.incident(row.id) for row in rows]
        return [incident for incident in found if incident is not None]

    async def the_incident(self) -> Incident:
        (incident,) = await self.incidents()
        return incident

    async def answer(self, verb: str) -> Reply:
        incident = await self.the_incident()
        return await self.desk.decide(incident.id, verb, LOCAL, incident.request.id if incident.request else None)

    async def run(self, until: Callable[[Incident], bool], *, minutes: float = 30, approve: bool = False) -> Incident:
        """Moves everything and turns the clock, until the one incident is as wanted or time is up."""
        ends = self.tools.now().timestamp() + minutes * 60
        while self.tools.now().timestamp() < ends:
            wait = await self._looked()
            for incident in await self.incidents():
                if until(incident):
                    return incident
                if approve and incident.state is State.ASKING:
                    await self.answer("approve")
            await self.shop.live(wait)
            if self.tools.store.replica and wait:
                await asyncio.sleep(0.02)  # a lease ends by the database's clock, which nobody turns
        raise AssertionError(f"time is up: {[(i.state, i.end) for i in await self.incidents()]}")

    async def _round(self) -> bool:
        """Moves each once; whether any of them is worth another look at once."""
        return await self._looked() == 0.0

    async def _looked(self) -> float:
        """Moves each once. The seconds until one is worth another look: as long as the daemon would wait."""
        waits = [60.0]
        for id_ in await self.tools.store.open_ids():
            try:
                wait = await advance(self.tools, id_)
            except HeadMoved:
                wait = 0.0
            except Transient:
                wait = 1.0
            if wait is not None:
                waits.append(wait)
        return min(waits)


def ended(incident: Incident) -> bool:
    return incident.state.terminal


def asking(incident: Incident) -> bool:
    return incident.state is State.ASKING


@asynccontextmanager
async def rig(
    shop: Shop, folder: Path, *, model: Model | None = None, planner: PlannerConfig | None = None, url: str = ""
) -> AsyncIterator[Rig]:
    """A life of the process over the files in `folder`; entering it again later is a restart. `url` names a server's
    database instead of a file there: then it is one replica of perhaps several."""
    policy = folder / "policy.yaml"
    if not policy.exists():
        policy.write_text(yaml.safe_dump(POLICY))
    kubernetes = KubernetesConfig(mode="kubeconfig", kubeconfig=str(shop.simulator.kubeconfig(folder / "kubeconfig")))
    config = Config(
        cluster=ClusterConfig(name="demo"),
        kafka=KafkaConfig(bootstrap=("unused:1",), topics=(TopicConfig(name="alerts"),)),
        kubernetes=kubernetes,
        planner=planner or PlannerConfig(),
        policy=str(policy),
    )
    clock = shop.clock.now
    url = url or f"sqlite:///{migrated(folder / 'handrail.db')}"
    store = await Store.open(url, cluster="demo", clock=clock, access=Access(lease_seconds=LEASE_SECONDS))
    try:
        async with Cluster(kubernetes) as cluster:
            yield Rig(_tools(config, store, cluster, clock, model), shop)
    finally:
        await store.close()


def _tools(config: Config, store: Store, cluster: Cluster, clock: Callable[[], datetime], model: Model | None) -> Tools:
    eyes = KubernetesEyes(cluster, clock)
    numbers = itertools.count(1)
    return Tools(
        store=store,
        eyes=eyes,
        hands=KubernetesHands(cluster),
        gatherer=ClusterGatherer(eyes),
        runbooks=RunbookPlanner(),
        model=model,
        steps=handrail_remediations.catalogue(),
        detectors=handrail_detectors.catalogue(),
        policy=PolicyFile(Path(config.policy)),
        config=config,
        now=clock,
        new_id=lambda: f"request-{next(numbers)}-{clock():%H%M%S%f}",
        listens_since=clock(),
    )


def killed_after(rig_: Rig, commits: int) -> Rig:
    """The same life, ended by a kill right after so many journal commits of the reconciler."""
    tools = replace(rig_.tools, store=_Mortal(rig_.tools.store, commits))  # type: ignore[arg-type]
    return Rig(tools, rig_.shop)


class _Mortal:
    """A store whose process dies right after a commit, before anybody learns that it was made."""

    def __init__(self, store: Store, commits: int) -> None:
        self._store = store
        self._left = commits

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("append", "claim", "commit_intent", "append_outcome", "answer_model"):
            return found

        async def mortal(*args: Any, **options: Any) -> Any:
            done = await found(*args, **options)
            self._left -= 1
            if self._left <= 0:
                _forget_leases(self._store)
                raise Killed
            return done

        return mortal


def _forget_leases(store: Store) -> None:
    """The dead give nothing back: what they held is theirs until its time is over."""
    leases = store._database.leases
    if leases is not None:
        for id_ in leases.held():
            leases.forget(id_)
