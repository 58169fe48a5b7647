"""What befalls the daemon from outside: frozen beyond its lease, its database restarted or cut off, no brokers.

Each is done at the worst moment that can be named: the daemon stands still (SIGSTOP) right after a commit or an answer,
the fault is done, and it goes on (SIGCONT) without having seen a thing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from tests.crash.kills import REPAIRED, TAKEN_BACK, Stage, over
from tests.crash.mortal import PATIENCE, Victim
from tests.crash.oracle import Expected, Verdict, judged
from tests.crash.scene import Row, Scene, scene
from tests.path.stage import BAD, until
from tests.servers.postgres import PostgresServer
from tests.store.places import Template

What = Literal["frozen", "restarted", "cut off", "gone"]
WORDS: dict[What, str] = {
    "frozen": "a replica is frozen beyond its lease",
    "restarted": "PostgreSQL is restarted",
    "cut off": "PostgreSQL cuts every connection",
    "gone": "PostgreSQL is gone for a while",
}

AFTERWARDS = 4.0
"""Seconds for one that wakes up to do what it should not."""

ASKED = "model_asked"
"""Who asked is replaced, and its successor may repeat the call once: neither knows what the other heard."""

AWAY = 20.0
"""Seconds: longer than a lease."""


@dataclass(frozen=True)
class Fault:
    """`at` is an event's kind, whose commit it follows, or "sent": the API server has answered, nobody knows yet."""

    what: What
    at: str

    def __str__(self) -> str:
        moment = "the API server's answer" if self.at == "sent" else f"`{self.at}`"
        return f"{WORDS[self.what]} after {moment}"

    def arm(self, victim: Victim) -> None:
        if self.at == "sent":
            victim.arm("sent", 1, do="freeze")
        else:
            victim.arm("commit", kind=self.at, do="freeze")


@dataclass(frozen=True)
class Postgres:
    """A server, and databases of the newest schema."""

    server: PostgresServer
    template: Template

    def database(self) -> tuple[str, str]:
        """Name and URL."""
        name = self.template.copy().name
        return name, self.template.url(name)

    def stop(self) -> None:
        self.server.stop()

    def start(self) -> None:
        self.server.process.start()

    def cut(self, name: str) -> None:
        self.server.psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")


@asynccontextmanager
async def postgres(stage: Stage) -> AsyncIterator[Postgres]:
    """Of this suite's own: it is going to be restarted."""
    folder = stage.folder / stage.shop("postgres")
    folder.mkdir()
    server = await asyncio.to_thread(lambda: PostgresServer().start())
    try:
        yield Postgres(server, await asyncio.to_thread(Template, server, folder))
    finally:
        await asyncio.to_thread(server.close)


async def replicas(stage: Stage, base: Postgres, main: Fault, back: Fault | None = None) -> list[Verdict]:
    """One fault on the way to the repair, another one on the way back."""
    name = stage.shop("fault")
    database, url = base.database()
    async with scene(stage.plane, stage.kafka, stage.folder / name, (url, url)) as at:
        await at.prepare(BAD)
        await at.replicas[0].start()
        repaired = replace(REPAIRED, asks=2) if main.at == ASKED else REPAIRED
        verdicts = [await _befallen(at, (base, database), main, (at.alert, repaired))]
        if back is not None:
            await _alone(at)
            rows = await at.drive(lambda rows: over(rows, 1), "the repair")
            told = rows[0]["id"]
            verdicts.append(await _befallen(at, (base, database), back, (lambda: at.undo(told), TAKEN_BACK)))
        return verdicts


async def _alone(at: Scene) -> None:
    """Whoever took over goes, in peace: the moment on the way back is that of the first one again."""
    over = at.replicas[1]
    if over.process is not None:
        assert await over.stop() == 0
        over.process = None


async def _befallen(
    at: Scene, where: tuple[Postgres, str], fault: Fault, then: tuple[Callable[[], Awaitable[None]], Expected]
) -> Verdict:
    began = time.monotonic()
    base, database = where
    begin, expected = then
    victim = at.replicas[0]
    fault.arm(victim)
    await begin()
    await at.until_struck(victim)
    match fault.what:
        case "restarted":
            await asyncio.to_thread(base.stop)
            await asyncio.to_thread(base.start)
            victim.wake()
        case "gone":
            await asyncio.to_thread(base.stop)
            victim.wake()
            before = victim.applied()
            await asyncio.sleep(AWAY)
            idle = victim.applied() == before
            await asyncio.to_thread(base.start)
            assert idle, "it wrote without its database"
        case "cut off":
            await asyncio.to_thread(base.cut, database)
            victim.wake()
        case "frozen":
            await at.replicas[1].start()
    rows = await at.drive(lambda rows: over(rows, len(expected.states)), f"the end after: {fault}")
    if fault.what == "frozen":
        victim.wake()
        await until(victim._answers, PATIENCE, "the frozen one to answer")
        await asyncio.sleep(AFTERWARDS)
        rows = await at.rows() or []
    verdict = await judged(str(fault), at, rows, expected)
    verdict.seconds = time.monotonic() - began
    return verdict


HEARD = Expected(states=("RESOLVED", "HANDED_OVER"))
"""The second alert is about a workload that is well by then: nothing is on the menu, so a person gets it."""


async def without_kafka(stage: Stage, seconds: float) -> Verdict:
    """The brokers go while somebody is asked: the repair goes on without them, and the next alert is heard after."""
    began = time.monotonic()
    name = stage.shop("no-kafka")
    async with scene(stage.plane, stage.kafka, stage.folder / name) as at:
        await at.prepare(BAD)
        await at.replicas[0].start()
        await at.alert()
        await _until_asking(at)
        await asyncio.to_thread(stage.kafka.stop)
        gone = time.monotonic()
        try:
            await at.drive(lambda rows: over(rows, 1), "the repair without Kafka")
            await asyncio.sleep(max(0.0, seconds - (time.monotonic() - gone)))
        finally:
            await asyncio.to_thread(stage.kafka.start)
        await at.alert("KubeDeploymentReplicasMismatch")
        rows = await at.drive(lambda rows: over(rows, 2), "the alert after Kafka came back")
        verdict = await judged(f"{seconds:g} s without Kafka", at, rows, HEARD)
    verdict.seconds = time.monotonic() - began
    return verdict


async def _until_asking(at: Scene) -> list[Row]:
    ends = time.monotonic() + PATIENCE
    while True:
        rows = await at.rows() or []
        if rows and rows[0]["state"] == "asking":
            return rows
        assert time.monotonic() < ends, at.logs()
        await asyncio.sleep(0.2)
