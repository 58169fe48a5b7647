"""An intake as the daemon has it, up to the store: a real broker, the real decoders and a store in a file."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import handrail_detectors
from handrail.adapters.kafka import KafkaIntake
from handrail.adapters.store import IncidentRow, Store
from handrail.effects.tools import PolicySource, Tools
from handrail.model.config import ClusterConfig, Config, KafkaConfig
from handrail.model.policy import Policy
from handrail.model.record import Record, Undecoded
from handrail.reconciler import on_records
from tests.decode.records import fired, webhook
from tests.store.places import migrated

AGE_MINUTES = 30
Before = Callable[[], Any]


def utc_now() -> datetime:
    return datetime.now(UTC)


def an_alert(workload: str, **over: object) -> bytes:
    """A webhook with one alert, of now, about a Deployment."""
    labels = {"alertname": "KubeDeploymentReplicasMismatch", "namespace": "shop", "deployment": workload}
    starts = (utc_now() - timedelta(minutes=1)).isoformat()
    return json.dumps(webhook(fired(labels, startsAt=starts, **over))).encode()


@dataclass
class Room:
    """`intake` may be made any number of times over one store: each is a life of the daemon, or a replica."""

    store: Store
    settings: KafkaConfig
    tools: Tools

    def intake(self, settings: KafkaConfig | None = None) -> KafkaIntake:
        async def take(records: Sequence[Record]) -> Sequence[tuple[Record, Undecoded]]:
            return await on_records(self.tools, records)

        return KafkaIntake(settings or self.settings, take, time.monotonic)

    async def rows(self) -> tuple[IncidentRow, ...]:
        return await self.store.rows(1000)

    async def workloads(self) -> list[str]:
        return sorted(row.target.rpartition("/")[2] for row in await self.rows())


@asynccontextmanager
async def room(folder: Path, settings: KafkaConfig) -> AsyncIterator[Room]:
    store = await Store.open(f"sqlite:///{migrated(folder / 'handrail.db')}", cluster="prod")
    config = Config(cluster=ClusterConfig(name="prod"), kafka=settings, policy="unused")
    policy = Policy(version=1, alert_age_minutes=AGE_MINUTES)
    untouched: Any = None
    tools = Tools(
        store=store,
        eyes=untouched,
        hands=untouched,
        gatherer=untouched,
        runbooks=untouched,
        model=None,
        steps={},
        detectors=handrail_detectors.catalogue(),
        policy=cast("PolicySource", SimpleNamespace(last_good=lambda: policy)),
        config=config,
        now=utc_now,
        new_id=lambda: "unused",
    )
    try:
        yield Room(store, settings, tools)
    finally:
        await store.close()
