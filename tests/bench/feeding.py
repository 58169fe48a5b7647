"""Polls of records fed to the intake, and what they cost in CPU time beyond making and committing them."""

from __future__ import annotations

import asyncio
import hashlib
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

import handrail_detectors
from handrail.adapters.kafka.letters import Batch as Poll
from handrail.adapters.kafka.session import BATCH
from handrail.adapters.store import Store
from handrail.adapters.store.recall import Stories, Story
from handrail.core.correlate import arrival, findings_of, woken
from handrail.core.grouping import place
from handrail.decode import decode
from handrail.effects.tools import Tools
from handrail.model.approval import Approvers
from handrail.model.arrival import Fate
from handrail.model.config import Config
from handrail.model.policy import Policy
from handrail.model.record import Record
from handrail.model.signs import NoSigns
from handrail.reconciler import on_records
from tests.bench.bodies import BEGAN, CLUSTER, KINDS, Body, distinct, repeated

TOPIC = "alerts"
NOW = BEGAN + timedelta(minutes=1)
MAX_AGE = timedelta(minutes=30)
REPEATED = 500
RUNS = 3

Take = Callable[[Sequence[Record]], Awaitable[object]]
CONFIG = Config.model_validate(
    {
        "cluster": {"name": CLUSTER},
        "kafka": {"bootstrap": ["unused:1"], "topics": [{"name": TOPIC}]},
        "policy": "unused.yaml",
    }
)


POLICY = Policy(version=1, rules=(), approvers=Approvers(local=True))


class Cost(NamedTuple):
    """CPU seconds of some alerts."""

    alerts: int
    seconds: float


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def yardstick() -> float:
    """Milliseconds of a fixed loop, the best of a few: how fast this core is just now."""

    def loop() -> float:
        began, total = time.process_time(), 0
        for number in range(100_000):
            total += number
        return 1000 * (time.process_time() - began)

    return min(loop() for _ in range(5))


def messages(bodies: Iterable[Body]) -> Iterator[tuple[Any, int]]:
    """As aiokafka gives them, and how many alerts each holds."""
    at = int(NOW.timestamp() * 1000)
    for offset, body in enumerate(bodies):
        size = len(body.value)
        yield ConsumerRecord(TOPIC, 0, offset, at, 0, None, body.value, None, -1, size, ()), body.alerts


async def fed(bodies: Iterable[Body], take: Take, on_poll: Callable[[int], None] = lambda _: None) -> Cost:
    """Only the polls are measured, not the making of the bodies."""
    coming = messages(bodies)
    partition = TopicPartition(TOPIC, 0)
    committed: dict[TopicPartition, int] = {}
    alerts, seconds = 0, 0.0
    while got := list(islice(coming, BATCH)):
        alerts += sum(count for _, count in got)
        began = time.process_time()
        poll = Poll()
        poll.add({partition: [message for message, _ in got]})
        await take(poll.records)
        committed.update(poll.ends)
        seconds += time.process_time() - began
        on_poll(alerts)
    return Cost(alerts, seconds)


async def nothing(_records: Sequence[Record]) -> None:
    """The baseline."""


class Matching:
    """Decode, findings, identity and the story that each belongs to, with a store's memory but without a store."""

    def __init__(self) -> None:
        self._awake = woken(handrail_detectors.catalogue())
        self._stories = Stories(CLUSTER)
        self._seen: dict[tuple[str, int, int], str] = {}

    async def __call__(self, records: Sequence[Record]) -> None:
        for record in records:
            at = (record.topic, record.partition, record.offset)
            seal = hashlib.sha256(record.value or b"").hexdigest()
            if self._seen.get(at) == seal:
                continue
            self._seen[at] = seal
            for alert in decode(record).alerts:
                self._arrive(arrival(alert, CLUSTER, findings_of(alert, self._awake, NOW)))

    def _arrive(self, came: Any) -> None:
        placed = place(came, self._stories.known(came, True, NOW, MAX_AGE))
        if placed.fate is Fate.OPENED:
            self._stories.begin(Story(id=placed.incident, identity=came.identity), came)


async def _net(name: str, bodies: Callable[[], Iterable[Body]], take: Take) -> float:
    """Alerts per CPU-second, the baseline of the same bodies subtracted."""
    base = await fed(bodies(), nothing)
    cost = await fed(bodies(), take)
    each, polled = 1e6 * cost.seconds / cost.alerts, 1e6 * base.seconds / base.alerts
    net = cost.alerts / (cost.seconds - base.seconds)
    spent = f"{each:.1f} µs an alert, of which the baseline {polled:.1f}"
    say(f"{name}: {spent}: {net:,.0f} alerts per CPU-second net (yardstick {yardstick():.1f} ms)")
    return net


async def _best(name: str, bodies: Callable[[int], Iterable[Body]], make: Callable[[], Take]) -> float:
    """Of a few runs, each with bodies of its own: what disturbs can only make it slower, and what an earlier run left
    in memory must not make it faster."""
    return max([await _net(name, partial(bodies, run), make()) for run in range(RUNS)])


def match(_folder: Path, size: float) -> Mapping[str, float]:
    records = int(40_000 * size)

    async def measured() -> Mapping[str, float]:
        for run, kind in enumerate(KINDS, start=RUNS):
            alone = partial(distinct, records, 1, (kind,), run)
            await _net(f"match, {kind} alone", alone, Matching())
            await _net(f"duplicates, {kind} alone", partial(repeated, records, 1, REPEATED, (kind,)), Matching())
        matched = await _best("match", lambda run: distinct(records, 1, run=run), Matching)
        again = await _best("duplicates", lambda _: repeated(records, 1, REPEATED), Matching)
        return {"match_per_cpu_s": round(matched), "duplicates_per_cpu_s": round(again)}

    return asyncio.run(measured())


async def opened(path: Path, now: Callable[[], datetime] = lambda: NOW) -> tuple[Store, Take]:
    """A real store, and the reconciler's own way of taking records in."""
    store = await Store.open(f"sqlite:///{path}", cluster=CLUSTER, clock=now)
    policy = SimpleNamespace(last_good=lambda: POLICY)
    wired = SimpleNamespace(
        store=store, detectors=handrail_detectors.catalogue(), config=CONFIG, policy=policy, now=now, signs=NoSigns()
    )
    tools = cast("Tools", wired)
    return store, lambda records: on_records(tools, records)


def durable(folder: Path, size: float) -> Mapping[str, float]:
    records = int(4_000 * size)

    async def measured() -> Mapping[str, float]:
        best = 0.0
        for run in range(RUNS):
            store, take = await opened(folder / f"{run}.db")
            best = max(best, await _net("durable, ten a record", partial(distinct, records, 10, run=run), take))
            await store.close()
        return {"durable_per_cpu_s": round(best)}

    return asyncio.run(measured())


def peak(folder: Path, size: float) -> Mapping[str, float]:
    alerts = int(1_000_000 * size)
    marks: list[float] = []

    def look(done: int) -> None:
        if done >= alerts / 10 * (len(marks) + 1):
            marks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    async def measured() -> None:
        store, take = await opened(folder / "peak.db")
        cost = await fed(repeated(alerts // 10, 10, 1000), take, look)
        await store.close()
        shown = ", ".join(f"{mark:.0f}" for mark in marks)
        say(f"peak: {shown} MiB after each tenth of {cost.alerts:,} alerts, {cost.seconds:.0f} CPU-seconds")
        say(f"peak: the database has {(folder / 'peak.db').stat().st_size / 2**20:.0f} MiB")

    asyncio.run(measured())
    return {"peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)}
