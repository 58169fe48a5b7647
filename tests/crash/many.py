"""One of two replicas is killed in the middle of many incidents; the other one finishes all of them.

Small workloads that can't pull their new image: an incident each, a question each, a write each.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer

from tests.crash.faults import Postgres
from tests.crash.kills import Stage, over
from tests.crash.mortal import PATIENCE
from tests.crash.oracle import Verdict, all_published
from tests.crash.scene import Scene, otlp, scene
from tests.path.stage import GOOD, Shop, until

BAD = "registry.example/checkout:1.5.0-nopull"
IN_FLIGHT = 8
"""Incidents that a replica moves at once: so many calls of a model may be on their way when it is killed."""


@dataclass
class Small(Shop):
    """One pod, and the bad one beside it."""

    def body(self, image: str) -> dict[str, object]:
        labels = {"app": self.name}
        container = {"name": "app", "image": image}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": 1, "progressDeadlineSeconds": 20, "selector": {"matchLabels": labels}, "template": template}
        meta = {"name": self.name, "namespace": self.namespace}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


async def one_of_two(stage: Stage, base: Postgres, incidents: int, commits: int = 0) -> Verdict:
    """The first is killed after so many commits; of a few incidents it may not make many more than one for each."""
    began = time.monotonic()
    name = stage.shop("many")
    _, url = base.database()
    async with scene(stage.plane, stage.kafka, stage.folder / name, (url, url)) as at:
        at.revives = False
        shops = [Small(stage.plane, name, f"shop-{number:03}") for number in range(incidents)]
        await _prepare(at, shops)
        first = at.replicas[0]
        await asyncio.gather(*(one.start() for one in at.replicas))
        first.arm("commit", commits or 3 * incidents)
        await _alert_all(at, shops)
        patience = PATIENCE + 4 * incidents
        rows = await at.drive(lambda rows: over(rows, incidents), f"the end of {incidents} incidents", patience)
        verdict = Verdict(f"one of two replicas is killed under {incidents} incidents")
        verdict.ask(first.struck, "the one to be killed never came so far")
        verdict.stranded = sum(not row["state"].isupper() for row in rows)
        ends = Counter(row["state"] for row in rows)
        verdict.ask(ends == {"RESOLVED": incidents}, f"ended as {dict(ends)}")
        await _judge(verdict, at, shops)
        verdict.wrong += await all_published(at, rows)
    verdict.seconds = time.monotonic() - began
    return verdict


async def _prepare(at: Scene, shops: list[Small]) -> None:
    plane, namespace = at.shop.plane, at.shop.namespace
    await asyncio.to_thread(plane.ensure_namespace, namespace)
    for replica in at.replicas:
        await asyncio.to_thread(replica.install, at.policy())
    for shop in shops:
        await asyncio.to_thread(plane.api.apply, shop.path, shop.body(GOOD))
    await until(lambda: sum(_is_ready(one) for one in at.shop.pods()) == len(shops), PATIENCE, "all pods")
    for shop in shops:
        await asyncio.to_thread(shop.roll_out, BAD)
    await until(lambda: len(at.shop.pods()) == 2 * len(shops), PATIENCE, "the pods of the bad release")
    await until(lambda: all(_looked_at(one) for one in at.shop.pods()), PATIENCE, "their trouble")


def _is_ready(pod: dict[str, object]) -> bool:
    return '"type": "Ready", "status": "True"' in _text(pod)


def _looked_at(pod: dict[str, object]) -> bool:
    return _is_ready(pod) or "ImagePull" in _text(pod)


def _text(pod: dict[str, object]) -> str:
    status: object = pod.get("status") or {}
    conditions = status.get("conditions", ()) if isinstance(status, dict) else ()
    short = [{"type": one["type"], "status": one["status"]} for one in conditions]
    return json.dumps(short) + json.dumps(status)


async def _alert_all(at: Scene, shops: list[Small]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=at.kafka.bootstrap) as producer:
        for shop in shops:
            await producer.send_and_wait(shop.namespace, otlp(shop.namespace, "KubePodImagePullFailing", shop.name))


async def _judge(verdict: Verdict, at: Scene, shops: list[Small]) -> None:
    images = Counter([await asyncio.to_thread(shop.image) for shop in shops])
    verdict.ask(images == {GOOD: len(shops)}, f"the images are {dict(images)}")
    writes = Counter((one.verb, one.name) for one in await asyncio.to_thread(at.replicas[0].applied))
    verdict.repeated_effects = writes.total() - len(writes)
    verdict.ask(writes == Counter(("patch", shop.name) for shop in shops), f"applied {writes.most_common(3)}")
    asked = Counter(request.raw for request in at.model.requests)
    again = asked.total() - len(asked)
    verdict.repeated_model_calls = max(0, again - IN_FLIGHT)
    verdict.ask(again <= IN_FLIGHT and max(asked.values()) <= 2, f"{again} calls of the model were repeated")
