"""Prometheus, Alertmanagers and the installed daemon as they stand in a cluster: nothing in between but HTTP.

Decides: names, files and patience. Alerts take the way that docs/wiring.md describes.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.path.stage import CLUSTER, Daemon, Shop
from tests.servers.alertmanager import AlertmanagerServer
from tests.servers.process import free_port
from tests.servers.prometheus import MetricsPage, PrometheusServer

TOKEN = "a-token-of-thirty-two-characters"
NAME = "KubeDeploymentReplicasMismatch"
RULE = {
    "alert": NAME,
    # Over a minute: a busy machine may miss a scrape, and the alert would be over and begin anew.
    "expr": 'last_over_time(kube_deployment_spec_replicas{job="kube-state-metrics"}[1m])'
    ' > last_over_time(kube_deployment_status_replicas_available{job="kube-state-metrics"}[1m])',
    "labels": {"severity": "warning", "cluster": CLUSTER},
    "annotations": {"summary": "{{ $labels.namespace }}/{{ $labels.deployment }} has fewer pods than wanted"},
}


@dataclass
class Monitoring:
    """What watches over the shop; `exporter` stands in for kube-state-metrics."""

    prometheus: PrometheusServer
    alertmanagers: Sequence[AlertmanagerServer]
    exporter: MetricsPage
    shop: Shop

    def available(self, count: int) -> None:
        labels = f'{{namespace="{self.shop.namespace}",deployment="{self.shop.name}"}}'
        self.exporter.text = (
            f"kube_deployment_spec_replicas{labels} 3\nkube_deployment_status_replicas_available{labels} {count}\n"
        )

    def watch(self, seconds: int = 4) -> None:
        """Begins; an alert is pending for so long before it fires."""
        addresses = [one.address for one in self.alertmanagers]
        rule = {**RULE, "for": f"{seconds}s"}
        self.prometheus.configure({"kube-state-metrics": self.exporter.address}, [rule], addresses)

    def state(self) -> str:
        """Of our alert: "", "pending" or "firing", as Prometheus has it."""
        found = self.prometheus.query(f'ALERTS{{alertname="{NAME}",namespace="{self.shop.namespace}"}}')
        return str(found[0]["metric"]["alertstate"]) if found else ""


def tell(daemon_url: str, *, repeat: str = "1h", inhibit: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Alertmanager's configuration, as docs/wiring.md has it but for the waiting."""
    hook = {
        "url": f"{daemon_url}/v1/alerts/alertmanager",
        "send_resolved": True,
        "max_alerts": 0,
        "http_config": {"authorization": {"type": "Bearer", "credentials": TOKEN}},
    }
    route = {
        "receiver": "handrail",
        "group_by": ["cluster", "namespace", "alertname"],
        "group_wait": "1s",
        "group_interval": "1s",
        "repeat_interval": repeat,
    }
    return {
        "route": route,
        "inhibit_rules": list(inhibit),
        "receivers": [{"name": "handrail", "webhook_configs": [hook]}],
    }


def policy(shop: Shop) -> dict[str, Any]:
    steps = {"rollout_undo": "ask", "rollout_restart": "ask"}
    return {
        "version": 1,
        "rules": [{"namespaces": [shop.namespace], "steps": steps}],
        "approvers": {"local": True},
        "operators": {"local": True},
    }


@dataclass
class Desk:
    """The daemon from outside."""

    daemon: Daemon
    port: int = field(default_factory=free_port)

    @property
    def doors(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.daemon.port}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    async def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(await self.daemon.cli("incidents", "list", "--json"))
        return found

    async def until(self, look: Callable[[dict[str, Any]], Any], seconds: float, what: str) -> dict[str, Any]:
        """The newest incident once it is as wanted."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while True:
            shown = await self.daemon.incident()
            if shown and look(shown):
                return shown
            story = "\n".join(told["line"] for told in shown.get("story", ()))
            assert loop.time() < ends, f"waited {seconds:g} s for {what}:\n{story}\n{self.daemon.log()[-3000:]}"
            await asyncio.sleep(0.3)


def kinds(shown: dict[str, Any]) -> list[str]:
    return [entry["kind"] for entry in shown["journal"]]


def story(shown: dict[str, Any]) -> str:
    return "\n".join(told["line"] for told in shown["story"])
