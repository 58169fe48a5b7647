"""2,000 alerts through a broker while each incident's handling takes 100 ms: how many of them are lost."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Producer

import handrail_detectors
import handrail_remediations
from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.kafka import KafkaIntake
from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands
from handrail.adapters.runbooks import RunbookPlanner
from handrail.adapters.store import Store
from handrail.effects.tools import Tools
from handrail.loop import Reconciler
from handrail.model.alert import Alert
from handrail.model.config import Config
from handrail.model.gathering import Gathering
from handrail.model.policy import Policy, StormLimit
from handrail.model.reason import Refusal
from handrail.model.target import LabelledTarget
from handrail.reconciler import on_records
from handrail.sim.broker import EmbeddedBroker
from handrail.sim.simulator import Simulator
from tests.bench.bodies import CLUSTER, distinct
from tests.bench.feeding import POLICY, TOPIC, say

HANDLING_SECONDS = 0.1
PATIENCE_SECONDS = 900.0
NO_STORM = POLICY.model_copy(update={"storm": StormLimit(targets=10_000)})
"""Each of them is about another object: else they would wait for the storm's end, unhandled."""


class Slowly:
    """The gatherer, as slow as a busy API server makes it."""

    def __init__(self, gatherer: ClusterGatherer) -> None:
        self._gatherer = gatherer

    async def gather(self, target: LabelledTarget | None, alert: Alert, now: datetime) -> Gathering | Refusal:
        await asyncio.sleep(HANDLING_SECONDS)
        return await self._gatherer.gather(target, alert, now)


class Always:
    """The same policy whenever it is read."""

    def __call__(self) -> Policy:
        return NO_STORM

    def last_good(self) -> Policy:
        return NO_STORM


async def lost(folder: Path, size: float) -> Mapping[str, float]:
    alerts = int(2000 * size)
    async with EmbeddedBroker() as broker, _daemon(folder, broker.bootstrap) as store:
        await broker.create_topics([TOPIC, "handrail.dead-letters"])
        await asyncio.to_thread(_produce, broker.bootstrap, alerts)
        handled = await _handled(store, alerts)
        say(f"lost: {handled} incidents of {alerts} alerts were taken to their end")
    return {"lost": alerts - handled}


def _produce(bootstrap: str, alerts: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for body in distinct(alerts, 1):
        producer.produce(TOPIC, body.value)
        producer.poll(0)
    producer.flush(60)


async def _handled(store: Store, alerts: int) -> int:
    """Once all are there and nothing is open any more, or patience ends."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        counted = await store.count_by_state()
        if sum(counted.values()) >= alerts and not await store.open_heads():
            break
        await asyncio.sleep(1)
    rows = await store.rows(alerts * 2)
    return sum(row.ended_at is not None for row in rows)


@asynccontextmanager
async def _daemon(folder: Path, bootstrap: str) -> AsyncIterator[Store]:
    """Intake, store and reconciler as they run in one process."""
    async with Simulator() as simulator:
        config = Config.model_validate(
            {
                "cluster": {"name": CLUSTER},
                "kafka": {"bootstrap": [bootstrap], "topics": [{"name": TOPIC}]},
                "kubernetes": {
                    "mode": "kubeconfig",
                    "kubeconfig": str(simulator.kubeconfig(folder / "kubeconfig")),
                },
                "policy": "unused.yaml",
            }
        )
        store = await Store.open(f"sqlite:///{folder / 'lost.db'}", cluster=CLUSTER)
        async with Cluster(config.kubernetes) as cluster:
            tools = _tools(config, store, cluster)
            intake = KafkaIntake(config.kafka, lambda records: on_records(tools, records), time.monotonic)
            running = [asyncio.create_task(one) for one in (intake.run(), Reconciler(tools).run())]
            try:
                yield store
            finally:
                for task in running:
                    task.cancel()
                await asyncio.wait(running)
        await store.close()


def _tools(config: Config, store: Store, cluster: Cluster) -> Tools:
    eyes = KubernetesEyes(cluster)
    numbers = itertools.count(1)
    return Tools(
        store=store,
        eyes=eyes,
        hands=KubernetesHands(cluster),
        gatherer=Slowly(ClusterGatherer(eyes)),
        runbooks=RunbookPlanner(),
        model=None,
        steps=handrail_remediations.catalogue(),
        detectors=handrail_detectors.catalogue(),
        policy=Always(),
        config=config,
        now=lambda: datetime.now(UTC),
        new_id=lambda: f"request-{next(numbers)}",
    )
