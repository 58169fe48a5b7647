"""The main path's stage: real servers, the installed daemon as a process, and the people around it.

Decides: names, files and patience. It never reaches into the daemon: everything is seen from outside, as its
operator, its on-call engineer and the cluster see it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource

import handrail_remediations
from handrail.core.rbac import objects
from handrail.model.policy import Policy
from tests.helm.chart import collection
from tests.servers.audit import Request
from tests.servers.control_plane import ControlPlane
from tests.servers.process import free_port

CLUSTER = "prod-eu1"
CHANNEL = "C0INCIDENTS"
ONCALL = "U0ONCALL"
GOOD = "registry.example/checkout:1.4.2"
BAD = "registry.example/checkout:1.5.0-crash"

T = TypeVar("T")


async def until(look: Callable[[], T], seconds: float, what: str) -> T:
    """The first truthy answer of `look`; fails with `what` when patience ends."""
    ends = time.monotonic() + seconds
    while True:
        found = await asyncio.to_thread(look)
        if found:
            return found
        assert time.monotonic() < ends, f"waited {seconds:g} s for {what}"
        await asyncio.sleep(0.25)


@dataclass
class Shop:
    """A namespace with a Deployment on the real API server, whose pods do what their image says."""

    plane: ControlPlane
    namespace: str
    name: str = "checkout"

    @property
    def path(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{self.name}"

    def open(self) -> None:
        self.plane.ensure_namespace(self.namespace)
        labels = {"app": self.name}
        container = {"name": "app", "image": GOOD}
        spec = {
            "replicas": 3,
            "progressDeadlineSeconds": 20,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        }
        meta = {"name": self.name, "namespace": self.namespace}
        self.plane.api.apply(self.path, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})

    def deployment(self) -> Any:
        return self.plane.api.get(self.path)

    def image(self) -> str:
        return str(self.deployment()["spec"]["template"]["spec"]["containers"][0]["image"])

    def roll_out(self, image: str) -> None:
        patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]
        self.plane.api.patch(self.path, patch, "application/json-patch+json")

    def change_spec(self) -> None:
        """Somebody touches the spec by hand: the fingerprint of what was approved is gone."""
        patch = [{"op": "replace", "path": "/spec/progressDeadlineSeconds", "value": 25}]
        self.plane.api.patch(self.path, patch, "application/json-patch+json")

    def pods(self) -> list[Any]:
        return list(self.plane.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"])

    def ready(self) -> bool:
        status = self.deployment().get("status", {})
        return bool(status.get("readyReplicas") == 3 and status.get("updatedReplicas") == 3)

    def crashing(self) -> bool:
        restarts = [
            container.get("restartCount", 0)
            for pod in self.pods()
            for container in pod.get("status", {}).get("containerStatuses", ())
        ]
        return max(restarts, default=0) >= 2


@dataclass
class Daemon:
    """`handrail run` as a process, with a service account that has the rights of `handrail rbac` and no others."""

    plane: ControlPlane
    folder: Path
    settings: dict[str, Any]
    account: str
    process: asyncio.subprocess.Process | None = None
    port: int = field(default_factory=free_port)

    @property
    def program(self) -> str:
        return str(Path(sys.executable).parent / "handrail")

    @property
    def config(self) -> Path:
        return self.folder / "handrail.yaml"

    @property
    def user(self) -> str:
        return f"system:serviceaccount:handrail:{self.account}"

    def install(self, policy: dict[str, Any]) -> None:
        """Account, roles and files; nothing runs yet."""
        for namespace in ("handrail", *policy["rules"][0]["namespaces"]):
            self.plane.ensure_namespace(namespace)
        meta = {"name": self.account, "namespace": "handrail"}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        self.plane.api.apply(f"/api/v1/namespaces/handrail/serviceaccounts/{self.account}", account)
        steps = handrail_remediations.catalogue()
        for right in objects(Policy.model_validate(policy), steps, self.account, "handrail", self.account):
            self.plane.api.apply(f"{collection(right)}/{right['metadata']['name']}", right)
        token = self.plane.service_account_token("handrail", self.account)
        kubeconfig = self.plane.kubeconfig_for(token, self.account)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "policy.yaml").write_text(yaml.safe_dump(policy))
        config = {
            "cluster": {"name": CLUSTER},
            "kubernetes": {"mode": "kubeconfig", "kubeconfig": str(kubeconfig)},
            "store": {"url": f"sqlite:///{self.folder / 'handrail.db'}"},
            "policy": str(self.folder / "policy.yaml"),
            "http": {"listen": f"127.0.0.1:{self.port}", "socket": str(self.folder / "s")},
            "log": {"level": "info", "format": "json"},
            "poll_seconds": 0.5,
            **self.settings,
        }
        self.config.write_text(yaml.safe_dump(config))

    async def start(self) -> None:
        with (self.folder / "daemon.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                self.program, "run", "--config", str(self.config), stdout=log, stderr=log, env=_quiet_env()
            )
        ends = time.monotonic() + 60
        while not await asyncio.to_thread(self._answers):
            assert self.process.returncode is None, f"ended with {self.process.returncode}: {self.log()[-3000:]}"
            assert time.monotonic() < ends, f"no daemon within a minute: {self.log()[-3000:]}"
            await asyncio.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    async def until_journalled(self, kind: str, seconds: float) -> None:
        """Returns within milliseconds of the commit: read from the file itself, while the daemon runs."""
        ends = time.monotonic() + seconds
        with closing(sqlite3.connect(f"file:{self.folder / 'handrail.db'}?mode=ro", uri=True)) as db:
            while not db.execute("select 1 from journal where kind = ?", (kind,)).fetchone():
                assert time.monotonic() < ends, f"no {kind} within {seconds:g} s"
                await asyncio.sleep(0.002)

    async def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def stop(self) -> int:
        """SIGTERM, and the exit code; a process that does not end within 20 s has broken its promise."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self.process.wait(), 20)
            except TimeoutError:
                await self.kill()
                raise AssertionError("SIGTERM did not end it within 20 s: " + self.log()[-3000:]) from None
        assert self.process.returncode is not None
        if self.process.returncode != 0:
            print(self.log()[-5000:])
        return self.process.returncode

    async def close(self) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                await self.kill()

    def log(self) -> str:
        return (self.folder / "daemon.log").read_text()

    async def cli(self, *arguments: str) -> str:
        """The CLI through the daemon's socket; fails the test with the command's own words."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**_quiet_env(), "HANDRAIL_SOCKET": str(self.folder / "s")},
        )
        out, err = await process.communicate()
        assert process.returncode == 0, f"handrail {' '.join(arguments)}: {err.decode()}\n{self.log()[-3000:]}"
        return out.decode()

    async def incident(self) -> dict[str, Any]:
        """The newest incident as `handrail incidents show --json` prints it; {} while there is none."""
        rows = json.loads(await self.cli("incidents", "list", "--json"))
        if not rows:
            return {}
        shown: dict[str, Any] = json.loads(await self.cli("incidents", "show", rows[0]["id"], "--json"))
        return shown

    async def until_state(self, state: str, seconds: float) -> dict[str, Any]:
        ends = time.monotonic() + seconds
        while True:
            found = await self.incident()
            now = found.get("card", {}).get("state", "none")
            if now == state:
                return found
            story = "\n".join(told["line"] for told in found.get("story", ()))
            assert time.monotonic() < ends, f"{now}, not {state}:\n{story}\n{self.log()[-3000:]}"
            assert not now.isupper(), f"ended {now}, not {state}:\n{story}\n{self.log()[-3000:]}"
            await asyncio.sleep(0.3)

    def applied(self) -> list[Request]:
        """Writes of the daemon that were accepted, were no dry run, and changed an object."""
        return self.plane.audit.changes(self.user)


def _quiet_env() -> dict[str, str]:
    return {key: text for key, text in os.environ.items() if not key.startswith(("ANTHROPIC_", "HANDRAIL_S"))}


def send_alert(grpc: str, shop: Shop, name: str = "KubePodCrashLooping") -> None:
    """As an alert gateway does: a log record through the OpenTelemetry SDK, naming one of the crashing pods."""
    worst = max(
        shop.pods(),
        key=lambda pod: sum(c.get("restartCount", 0) for c in pod.get("status", {}).get("containerStatuses", ())),
    )
    resource = Resource.create({"service.name": "alert-gateway", "k8s.cluster.name": CLUSTER})
    provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPLogExporter(endpoint=f"http://{grpc}", insecure=True)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    provider.get_logger("alert-gateway").emit(
        timestamp=time.time_ns(),
        severity_number=SeverityNumber.WARN,
        severity_text="warning",
        event_name="alert.firing",
        body=f"Pod {shop.namespace}/{worst['metadata']['name']} is crash looping",
        attributes={
            "alert.name": name,
            "alert.state": "firing",
            "k8s.namespace.name": shop.namespace,
            "k8s.pod.name": worst["metadata"]["name"],
            "k8s.pod.uid": worst["metadata"]["uid"],
            "k8s.container.name": "app",
        },
    )
    provider.force_flush()
    provider.shutdown()
