"""What the real daemon costs while a hundred incidents wait for an answer: a process of its own, seen from outside."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

from handrail.adapters.store import Store
from handrail.model.incident import State
from handrail.reconciler import NOW_AND_THEN
from handrail.sim.broker import EmbeddedBroker
from handrail.sim.simulator import Simulator
from tests.factories import CLUSTER, a_target, an_alert, story_to
from tests.store.driving import arrive, drive, newest

WAITING = 100
WARM_SECONDS = 15.0
LOOK_SECONDS = NOW_AND_THEN
"""A whole round: every incident that waits is looked at once."""
TOPIC = "alerts"


@dataclass(frozen=True)
class Idle:
    incidents: int
    cpu_percent: float
    rss_mib: float


async def _fill(url: str) -> None:
    store = await Store.open(url, cluster=CLUSTER)
    for number in range(WAITING):
        now = datetime.now(UTC)
        id_ = await arrive(store, an_alert(workload=f"w{number}", seen_at=now, starts_at=now), offset=number)
        await drive(store, await newest(store, id_), story_to(State.ASKING, id_, a_target(f"w{number}"), now))
    await store.close()


def _files(folder: Path, url: str, bootstrap: str, kubeconfig: Path) -> Path:
    policy = folder / "policy.yaml"
    policy.write_text(yaml.safe_dump({"version": 1, "rules": [], "approvers": {"local": True}}))
    config = {
        "cluster": {"name": CLUSTER},
        "kafka": {"bootstrap": [bootstrap], "topics": [{"name": TOPIC, "signal": "logs"}]},
        "kubernetes": {"mode": "kubeconfig", "kubeconfig": str(kubeconfig)},
        "store": {"url": url},
        "policy": str(policy),
        "http": {"listen": "127.0.0.1:0", "socket": str(folder / "handrail.sock")},
        "log": {"level": "warning"},
    }
    path = folder / "handrail.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


async def idle(folder: Path) -> Idle:
    url = f"sqlite:///{folder / 'idle.db'}"
    await _fill(url)
    async with EmbeddedBroker() as broker, Simulator() as simulator:
        await broker.create_topics([TOPIC, "handrail.dead-letters"])
        config = _files(folder, url, broker.bootstrap, simulator.kubeconfig(folder / "kubeconfig"))
        command = [sys.executable, "-c", "from handrail.cli import main; main()", "run", "--config", str(config)]
        with subprocess.Popen(command) as daemon:
            try:
                await asyncio.sleep(WARM_SECONDS)
                before = _cpu_seconds(daemon.pid)
                await asyncio.sleep(LOOK_SECONDS)
                used = _cpu_seconds(daemon.pid) - before
                rss = _rss_mib(daemon.pid)
            finally:
                daemon.terminate()
    return Idle(WAITING, 100 * used / LOOK_SECONDS, rss)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
