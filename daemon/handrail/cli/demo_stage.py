"""The demo's stage: broker, cluster, configuration files, the daemon itself, and the alert that starts it all."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import click
import yaml
from aiokafka import AIOKafkaProducer

from handrail.adapters.kafka.closing import close
from handrail.adapters.kafka.starting import start
from handrail.adapters.settings import load_config
from handrail.adapters.telemetry import configure_logs
from handrail.cli.client import Client
from handrail.cli.demo_alert import CLUSTER, alert_as_otlp
from handrail.main import Daemon, daemon, serve
from handrail.model.config import LogConfig
from handrail.sim.broker import EmbeddedBroker
from handrail.sim.scene import bad_rollout, healthy_shop
from handrail.sim.simulator import Simulator

TOPIC = "alerts"
PATIENCE = 50.0
POLICY = {
    "version": 1,
    "rules": [
        {"namespaces": ["shop"], "steps": {"rollout_undo": "ask", "rollout_restart": "ask", "scale_workload": "ask"}}
    ],
    "approvers": {"local": True},
    "operators": {"local": True},
}


class Stage:
    """`say` shows progress. Leaving it ends everything that it started."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._stack = contextlib.AsyncExitStack()
        self._folder = Path()
        self._client = Client("", "", "")
        self._told = 0
        self.running: asyncio.Task[None] | None = None
        """The daemon, once it is started."""

    async def __aenter__(self) -> Stage:
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="handrail-demo-")))
        self._client = Client("", str(self._folder / "handrail.sock"), "")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def set_up(self) -> None:
        """Up to the moment at which the alert is in Kafka."""
        configure_logs(LogConfig(level="warning", format="text"))
        self._say("starting an embedded Kafka broker and a simulated cluster")
        broker = await self._stack.enter_async_context(EmbeddedBroker())
        await broker.create_topics([TOPIC, "handrail.dead-letters"])
        simulator = await self._stack.enter_async_context(Simulator())
        self._say("deploying checkout 1.4.2 to namespace shop, three pods")
        await healthy_shop(simulator)
        kubeconfig = simulator.kubeconfig(self._folder / "kubeconfig")
        config = load_config(self._write_files(broker.bootstrap, kubeconfig))
        started = await self._stack.enter_async_context(daemon(config))
        await self._start(started)
        self._say("rolling out checkout 1.5.0, whose image crashes at start")
        await bad_rollout(simulator)
        self._say("its pods crash: sending the alert as OTLP protobuf to Kafka")
        await _send(broker.bootstrap)

    async def _start(self, started: Daemon) -> None:
        stop = asyncio.Event()
        running = self.running = asyncio.create_task(serve(started, stop))

        async def end() -> None:
            stop.set()
            with contextlib.suppress(asyncio.CancelledError):
                await running

        self._stack.push_async_callback(end)

    def _write_files(self, bootstrap: str, kubeconfig: Path) -> Path:
        policy = self._folder / "policy.yaml"
        policy.write_text(yaml.safe_dump(POLICY))
        config = {
            "cluster": {"name": CLUSTER},
            "kafka": {"bootstrap": [bootstrap], "topics": [{"name": TOPIC, "signal": "logs"}]},
            "kubernetes": {"mode": "kubeconfig", "kubeconfig": str(kubeconfig)},
            "store": {"url": f"sqlite:///{self._folder / 'handrail.db'}"},
            "policy": str(policy),
            "http": {"listen": "127.0.0.1:0", "socket": str(self._folder / "handrail.sock")},
            "log": {"level": "warning", "format": "text"},
            "poll_seconds": 0.5,
        }
        path = self._folder / "handrail.yaml"
        path.write_text(yaml.safe_dump(config))
        return path

    async def follow(self) -> AsyncIterator[dict[str, Any]]:
        """The incident's state at each look, its new story lines told; ends when it has ended. Gives up in time."""
        ends = time.monotonic() + PATIENCE
        beat = time.monotonic()
        while time.monotonic() < ends:
            rows = (await self.get("/api/v1/incidents?limit=1"))["incidents"]
            if rows:
                found = await self.get(f"/api/v1/incidents/{rows[0]['id']}")
                if self._tell(found["story"]):
                    beat = time.monotonic()
                yield found
                if found["card"]["state"].isupper():
                    return
            if time.monotonic() - beat > 4:
                beat = time.monotonic()
                self._say("waiting " + (f"({found['card']['status']})" if rows else "for the alert to be read"))
            await asyncio.sleep(0.3)
        now = found["card"]["status"] if rows else "no incident was opened"
        raise click.ClickException(f"the demo waits no longer than {PATIENCE:g} s for news: {now}")

    def _tell(self, story: list[dict[str, Any]]) -> bool:
        fresh = [told for told in story if told["seq"] > self._told]
        for told in fresh:
            self._say(told["line"])
            self._told = told["seq"]
        return bool(fresh)

    async def get(self, path: str) -> Any:
        return await asyncio.to_thread(self._client.get, path)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        return await asyncio.to_thread(self._client.post, path, body)

    async def text(self, path: str) -> str:
        return await asyncio.to_thread(self._client.text, path)

    def where(self) -> str:
        """The line that leads the CLI of another terminal here."""
        return f"export HANDRAIL_SOCKET={shlex.quote(str(self._folder / 'handrail.sock'))}"

    def hints(self, incident: str) -> list[str]:
        """Lines to be typed as they stand: the command by its whole path where the shell would not find it."""
        name = Path(sys.argv[0]).name
        there = shutil.which(name) == shutil.which(sys.argv[0])
        command = name if there else shlex.quote(str(Path(sys.argv[0]).absolute()))
        verbs = (
            "status",
            "incidents list",
            f"incidents show {incident}",
            f"incidents report {incident}",
            'stop --reason "trying it out"',
            "start",
            "audit verify",
        )
        kubeconfig = f"export KUBECONFIG={shlex.quote(str(self._folder / 'kubeconfig'))}"
        return [self.where(), kubeconfig, *(f"{command} {verb}" for verb in verbs)]


async def _send(bootstrap: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    try:
        await start(producer)
        await producer.send_and_wait(TOPIC, alert_as_otlp(time.time_ns()))
    finally:
        await close(producer)
