"""`make bench-store`: how fast both stores are, how soon a dead replica is replaced, what an idle daemon costs.

Progress goes to the error output; the last line is one JSON object. PostgreSQL runs as in the tests: without fsync, so
its numbers show our own cost and not a disk's. SQLite syncs at each commit.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from handrail.adapters.store import Access, Store
from handrail.adapters.store.home import LEASE_SECONDS
from handrail.model import events as ev
from handrail.model.incident import State
from tests.bench.idle import Idle, idle
from tests.factories import CLUSTER, FakeTime
from tests.servers.pins import Missing
from tests.servers.postgres import PostgresServer
from tests.store.driving import newest, walk
from tests.store.places import Template

AT_ONCE = 8
EVENTS = 60
"""Appended by each of them, a commit each."""

INCIDENTS = 5
"""Walked from the alert to the end by each of them."""

POLL_SECONDS = 2.0


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def _events(store: Store, name: str) -> None:
    incident = await walk(store, State.GATHERING, name)
    for number in range(EVENTS):
        incident = await store.append(incident, (ev.Noted(text=str(number)),))


async def _incidents(store: Store, name: str) -> None:
    for number in range(INCIDENTS):
        ended = await walk(store, State.RESOLVED, f"{name}-{number}")
        await store.let_go(ended.id)


async def speed(what: str, url: str) -> float:
    """Events per second; incidents per second are told on the way."""
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    began = time.perf_counter()
    await asyncio.gather(*(_events(store, f"e{n}") for n in range(AT_ONCE)))
    per_second = AT_ONCE * EVENTS / (time.perf_counter() - began)
    began = time.perf_counter()
    await asyncio.gather(*(_incidents(store, f"i{n}") for n in range(AT_ONCE)))
    incidents = AT_ONCE * INCIDENTS / (time.perf_counter() - began)
    await store.close()
    say(f"{what}: {per_second:.0f} events/s, {incidents:.1f} whole incidents/s ({AT_ONCE} at once)")
    return per_second


async def hold(url: str, id_: str) -> None:
    """The replica that is going to be killed."""
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    async with store.driving(await newest(store, id_)) as ours:
        print("holding" if ours else "not ours", flush=True)
        await asyncio.sleep(3600)


async def take_over(url: str) -> float:
    """Seconds from the kill of the replica that drives an incident until another one drives it."""
    store = await Store.open(url, cluster=CLUSTER, clock=FakeTime(), access=Access(lease_seconds=LEASE_SECONDS))
    incident = await walk(store, State.ASKING)
    command = [sys.executable, "-m", "tests.bench.store", "hold", url, incident.id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        line = await asyncio.to_thread(child.stdout.readline) if child.stdout else ""
        if line.strip() != "holding":
            raise RuntimeError("the other replica did not take the incident")
        await asyncio.sleep(LEASE_SECONDS / 2)
        child.send_signal(signal.SIGKILL)
    killed = time.perf_counter()
    while True:
        if incident.id in await store.open_work():
            async with store.driving(incident) as ours:
                if ours:
                    break
        await store.wait_changed(POLL_SECONDS)
    took = time.perf_counter() - killed
    await store.close()
    say(f"take-over after a kill: {took:.1f} s (lease {LEASE_SECONDS:g} s, looked at every {POLL_SECONDS:g} s)")
    return took


async def on_postgres(folder: Path) -> tuple[float | None, float | None]:
    try:
        server = await asyncio.to_thread(lambda: PostgresServer().start())
    except Missing as missing:
        say(f"no PostgreSQL: {missing}")
        return None, None
    try:
        template = await asyncio.to_thread(Template, server, folder)
        fast = await speed("PostgreSQL", template.url(template.copy().name))
        return fast, await take_over(template.url(template.copy().name))
    finally:
        await asyncio.to_thread(server.close)


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as name:
        folder = Path(name)
        sqlite = await speed("SQLite", f"sqlite:///{folder / 'speed.db'}")
        postgres, took = await on_postgres(folder)
        cost: Idle = await idle(folder)
        say(f"idle with {cost.incidents} waiting incidents: {cost.cpu_percent:.2f} % of a core, {cost.rss_mib:.0f} MiB")
    numbers = {
        "sqlite_events_per_s": round(sqlite, 1),
        "postgres_events_per_s": None if postgres is None else round(postgres, 1),
        "takeover_s": None if took is None else round(took, 1),
        "idle_cpu_percent": round(cost.cpu_percent, 2),
        "idle_rss_mib": round(cost.rss_mib, 1),
    }
    print(json.dumps(numbers))


if __name__ == "__main__":
    asyncio.run(hold(*sys.argv[2:]) if sys.argv[1:2] == ["hold"] else main())
