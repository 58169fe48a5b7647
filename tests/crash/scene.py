"""One workload in trouble, the people around it, and daemons that may be ended at any moment.

Decides: names, what is sent and clicked, and that whoever was killed is started again. What the end must look like is
the oracle's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from aiokafka import AIOKafkaProducer
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from handrail.model.policy import Policy
from tests.crash import published
from tests.crash.mortal import PATIENCE, Victim
from tests.fakes.messages import FakeMessages
from tests.fakes.slack import FakeSlack
from tests.path.model import sensible
from tests.path.opening import has_buttons
from tests.path.stage import CHANNEL, CLUSTER, GOOD, ONCALL, Shop, until
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer

CLICK_AGAIN = 3.0

Row = dict[str, Any]


@dataclass
class Scene:
    """`replicas` are started by `begin`; the shop's neighbour must come through untouched."""

    shop: Shop
    neighbour: Shop
    kafka: KafkaServer
    slack: FakeSlack
    model: FakeMessages
    replicas: list[Victim]
    specs: dict[str, Any] = field(default_factory=dict)
    beside: Any = None
    revives: bool = True
    clicked: dict[str, float] = field(default_factory=dict)
    many: bool = True
    """Runs, more than the default budgets allow; an older build knows of none and refuses a policy that names them."""

    @property
    def events(self) -> str:
        """The topic that its daemons publish on."""
        return _events(self.shop.namespace)

    def policy(self) -> dict[str, Any]:
        people = {"slack_users": [ONCALL], "local": True}
        rule = {"namespaces": [self.shop.namespace], "steps": {"rollout_undo": "ask"}}
        policy = {"version": 1, "rules": [rule], "approvers": people, "operators": people}
        if "storm" in Policy.model_fields:
            policy["storm"] = {"targets": 10_000}  # many at once is what is tried
        if self.many:
            wide = {"most": 1000}
            of = {"per_target": wide, "per_cluster": wide, "per_risk": {"disruptive": wide}}
            policy["budgets"] = {**of, "at_once": 1000}
        return policy

    async def prepare(self, bad: str) -> None:
        """A healthy workload, its neighbour, then a bad release; nobody is alerted yet."""
        for shop in (self.neighbour, self.shop):
            await asyncio.to_thread(shop.open)
        for replica in self.replicas:
            await asyncio.to_thread(replica.install, self.policy())
        for shop in (self.neighbour, self.shop):
            await until(shop.ready, PATIENCE, f"ready pods of {shop.name}")
        self.specs["good"] = await asyncio.to_thread(spec_of, self.shop)
        self.beside = await asyncio.to_thread(whole, self.neighbour)
        await asyncio.to_thread(self.shop.roll_out, bad)
        await until(self.shop.crashing, PATIENCE, "crash-looping pods")
        self.specs["bad"] = await asyncio.to_thread(spec_of, self.shop)

    async def alert(self, name: str = "KubePodCrashLooping", deployment: str = "checkout") -> None:
        """As the collector would write it to the topic."""
        async with AIOKafkaProducer(bootstrap_servers=self.kafka.bootstrap) as producer:
            await producer.send_and_wait(self.shop.namespace, otlp(self.shop.namespace, name, deployment))

    async def rows(self) -> list[Row] | None:
        """The incidents as the first replica that answers lists them; None while nobody does."""
        for replica in self.replicas:
            if replica.process is None or replica.dead or stopped(replica):
                continue
            with contextlib.suppress(click.ClickException):
                found: list[Row] = (await asyncio.to_thread(replica.client().get, "/api/v1/incidents?limit=1000"))[
                    "incidents"
                ]
                return found
        return None

    async def drive(self, done: Callable[[Sequence[Row]], bool], what: str, seconds: float = PATIENCE) -> list[Row]:
        """Starts again who was killed and approves what is asked, until it is done."""
        ends = time.monotonic() + seconds
        while True:
            await self._revive()
            rows = await self.rows()
            if rows is not None and done(rows):
                return rows
            await self.approve()
            states = [row["state"] for row in rows] if rows is not None else "no daemon"
            assert time.monotonic() < ends, f"waited for {what}; {states}\n{self.logs()}"
            await asyncio.sleep(0.3)

    async def _revive(self) -> None:
        for replica in self.replicas:
            if replica.dead:
                assert replica.process is not None
                assert replica.process.returncode == -signal.SIGKILL, replica.log()[-3000:]
                if self.revives:
                    await replica.start()

    async def approve(self) -> None:
        """Every question that is open on a screen; again after a while, since a click may meet a dead daemon."""
        for message in [m for m in self.slack.messages(CHANNEL) if m.thread_ts in (None, m.ts)]:
            fresh = time.monotonic() - self.clicked.get(message.ts, 0.0) < CLICK_AGAIN
            if not fresh and has_buttons(message) and self.slack.sockets.live:
                self.clicked[message.ts] = time.monotonic()
                await self.slack.click(message.ts, "approve", user=ONCALL)

    async def until_struck(self, victim: Victim) -> None:
        """Until its orders have been carried out; others, if they run, go on meanwhile."""
        ends = time.monotonic() + PATIENCE
        while not victim.struck:
            await self.approve()
            assert time.monotonic() < ends, f"its moment never came\n{self.logs()}"
            await asyncio.sleep(0.1)

    async def spoil(self) -> None:
        """Once the repair is written: its pods go, and no new one is let in (but nobody touches the workload)."""
        await until(lambda: self.shop.image() == GOOD, PATIENCE, "the repair")
        await asyncio.to_thread(_no_more_pods, self.shop)

    async def undo(self, id_: str) -> None:
        """Asked again where the daemon died over it, as a person would."""
        ends = time.monotonic() + PATIENCE
        while True:
            rows = await self.rows()
            if rows is not None and len(rows) > 1:
                return
            live = next((one for one in self.replicas if not one.dead), None)
            if live is None:
                await self.replicas[0].start()
                continue
            with contextlib.suppress(click.ClickException):
                path = f"/api/v1/incidents/{id_}/undo"
                answer = await asyncio.to_thread(live.client().post, path, {"why": "the crash suite takes it back"})
                assert answer["ok"] or answer["reason"] == "TARGET_BUSY", answer
            assert time.monotonic() < ends, f"no undo: {self.logs()}"
            await asyncio.sleep(0.2)

    def logs(self) -> str:
        return "\n".join(one.log()[-3000:] for one in self.replicas if one.process is not None)

    async def close(self) -> None:
        for replica in self.replicas:
            if replica.process is not None and not replica.dead:
                replica.wake()
            await replica.close()


def stopped(replica: Victim) -> bool:
    """Frozen by its orders: it would let whoever asks it wait."""
    assert replica.process is not None
    try:
        stat = Path(f"/proc/{replica.process.pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has died, perhaps between two looks
    return stat.rpartition(")")[2].split()[0] in "Tt"


def _no_more_pods(shop: Shop) -> None:
    pods = f"/api/v1/namespaces/{shop.namespace}/pods"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": shop.namespace}}
    where = f"/api/v1/namespaces/{shop.namespace}/resourcequotas/none"
    shop.plane.api.apply(where, {**quota, "spec": {"hard": {"pods": "0"}}})
    for pod in shop.pods():
        if pod["metadata"]["labels"]["app"] == shop.name:
            shop.plane.api.call("DELETE", f"{pods}/{pod['metadata']['name']}")


def spec_of(shop: Shop) -> Any:
    return shop.deployment()["spec"]


def whole(shop: Shop) -> Any:
    """A workload's spec, how often it was changed, and its pods."""
    found = shop.deployment()
    mine = sorted(pod["metadata"]["uid"] for pod in shop.pods() if pod["metadata"]["labels"]["app"] == shop.name)
    return found["spec"], found["metadata"]["generation"], found["metadata"].get("annotations"), mine


def otlp(namespace: str, name: str, deployment: str) -> bytes:
    def text(key: str, value: str) -> KeyValue:
        return KeyValue(key=key, value=AnyValue(string_value=value))

    said = {"alert.name": name, "alert.state": "firing", "k8s.deployment.name": deployment}
    record = LogRecord(
        time_unix_nano=time.time_ns(),
        severity_text="warning",
        event_name="alert.firing",
        body=AnyValue(string_value=f"{namespace}/{deployment} is in trouble"),
        attributes=[text(key, value) for key, value in said.items()],
    )
    resource = Resource(attributes=[text("k8s.cluster.name", CLUSTER), text("k8s.namespace.name", namespace)])
    logs = ResourceLogs(resource=resource, scope_logs=[ScopeLogs(log_records=[record])])
    return ExportLogsServiceRequest(resource_logs=[logs]).SerializeToString()


@asynccontextmanager
async def scene(
    plane: ControlPlane, kafka: KafkaServer, folder: Path, databases: Sequence[str] = ("",)
) -> AsyncIterator[Scene]:
    """With a replica for each of `databases`: "" is a file of its own, else a URL. `folder` is made; its name is that
    of the namespace, too."""
    name = folder.name
    async with FakeSlack() as slack, FakeMessages() as model:
        slack.add_channel(CHANNEL, "incidents")
        model.answer_with(sensible)
        folder.mkdir(parents=True)
        for secret, text in (("bot", slack.bot_token), ("app", slack.app_token), ("key", model.api_key)):
            (folder / secret).write_text(text)
        await published.make(kafka.bootstrap, _events(name))
        replicas = []
        for number, url in enumerate(databases):
            settings = _settings(kafka.bootstrap, (slack, model), folder, url, number)
            replicas.append(Victim(plane, folder / f"r{number}", settings, f"sa-{name}"))
        found = Scene(Shop(plane, name), Shop(plane, name, "neighbour"), kafka, slack, model, replicas)
        try:
            yield found
        finally:
            await found.close()


def _events(name: str) -> str:
    return f"{name}.events"


def _settings(
    bootstrap: str, fakes: tuple[FakeSlack, FakeMessages], folder: Path, url: str, number: int
) -> dict[str, Any]:
    """Of one replica; group and topic are named as the scene's folder is."""
    slack, model = fakes
    name = folder.name
    topic = {"name": name, "signal": "logs", "encoding": "otlp_proto"}
    member = f"{name}-{number}"
    kafka = {"bootstrap": [bootstrap], "group": name, "group_instance_id": member, "topics": [topic]}
    settings: dict[str, Any] = {
        "kafka": {**kafka, "events_topic": _events(name)},
        "slack": {
            "channel": CHANNEL,
            "bot_token": {"file": str(folder / "bot")},
            "app_token": {"file": str(folder / "app")},
            "base_url": slack.base_url,
        },
        "planner": {"mode": "model", "model": {"key": {"file": str(folder / "key")}, "base_url": model.url}},
    }
    if url:
        settings["store"] = {"url": url, "lease_seconds": 15}
    return settings
