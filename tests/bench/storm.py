"""How much longer a person waits for the first question while 100,000 alerts of a few owners come in."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from handrail.adapters.kafka.session import BATCH
from handrail.cli.demo_alert import alert_as_otlp
from handrail.model.record import Record
from handrail.reconciler import on_records
from handrail.sim.clock import ManualClock
from handrail.sim.simulator import Simulator
from tests.bench.feeding import say
from tests.reconciler.rig import BAD, Rig, Shop, asking, rig

OWNERS = 5
EACH = 10
NAME = "KubeDeploymentReplicasMismatch"


async def storm(folder: Path, size: float) -> Mapping[str, float]:
    alone = await _until_asked(folder / "alone", 0)
    among = await _until_asked(folder / "among", int(100_000 * size))
    say(f"storm: asked after {alone:.2f} s with one alert, after {among:.2f} s among the others")
    return {"storm_extra_s": round(max(0.0, among - alone), 2)}


async def _until_asked(folder: Path, alerts: int) -> float:
    """Seconds: CPU time, and what the simulated clock was turned meanwhile."""
    folder.mkdir()
    clock = ManualClock()
    async with Simulator(clock=clock, seed=7) as simulator:
        shop = Shop(simulator, clock)
        await shop.set_up()
        await shop.roll_out(BAD)
        await shop.live(30)
        async with rig(shop, folder) as life:
            since, began = clock.now(), time.process_time()
            await life.take(alert_as_otlp(int(since.timestamp() * 1e9)))
            pouring = asyncio.create_task(_pour(life, alerts, since))
            await life.run(lambda incident: asking(incident))
            spent = time.process_time() - began + (clock.now() - since).total_seconds()
            await pouring
            return spent


async def _pour(life: Rig, alerts: int, at: datetime) -> None:
    """As the consumer does: a poll at a time, each durable before the next."""
    coming = _records(alerts, at)
    while poll := list(islice(coming, BATCH // EACH)):
        await on_records(life.tools, poll)


def _records(alerts: int, at: datetime) -> Iterator[Record]:
    for number in range(alerts // EACH):
        value = json.dumps({"version": "4", "status": "firing", "alerts": _alerts(number, at)}).encode()
        yield Record(topic="alerts", partition=0, offset=number + 1, value=value, at=at)


def _alerts(number: int, at: datetime) -> Sequence[dict[str, object]]:
    """Of five Deployments in turn, the sick one among them; the numbers in their texts differ each time."""
    owners = ["checkout", *(f"other-{n}" for n in range(1, OWNERS))]
    return [
        {
            "status": "firing",
            "labels": {"alertname": NAME, "namespace": "shop", "deployment": owners[n % OWNERS], "severity": "warning"},
            "annotations": {"description": f"value {number * EACH + n}"},
            "startsAt": at.isoformat(),
        }
        for n in range(EACH)
    ]
