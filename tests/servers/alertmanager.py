"""Alertmanager on loopback, telling one webhook.

Decides: one second to gather a group and between its notices, unless a test has a configuration of its own. Never talks
to other Alertmanagers.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.servers import pins
from tests.servers.process import Process, accepts, drop_work_dir, free_port, new_work_dir

NOWHERE = "http://127.0.0.1:9/"


class AlertmanagerServer:
    """`url` for clients, `address` (host:port) for Prometheus; `notify` names the webhook."""

    def __init__(self) -> None:
        program = str(pins.program("alertmanager"))
        self.work = new_work_dir("alertmanager")
        self._port = free_port()
        self.address = f"127.0.0.1:{self._port}"
        self.url = f"http://{self.address}"
        self._config = self.work / "alertmanager.yml"
        self._write(NOWHERE, {})
        command = [
            program,
            f"--config.file={self._config}",
            f"--storage.path={self.work / 'data'}",
            f"--web.listen-address={self.address}",
            # Empty: a lone one must not wait for others to be heard of.
            "--cluster.listen-address=",
            "--log.level=warn",
        ]
        self.process = Process("alertmanager", command, self.work, self._is_up)

    def start(self) -> AlertmanagerServer:
        self.process.start()
        return self

    def notify(self, webhook: str, *, http_config: Mapping[str, Any] | None = None) -> None:
        """Send every notice to this URL from now on."""
        self._write(webhook, http_config or {})
        self._call("POST", "/-/reload")

    def configure(self, config: Mapping[str, Any]) -> None:
        """A whole configuration of the test's own."""
        self._config.write_text(json.dumps(config), encoding="utf-8")
        self._call("POST", "/-/reload")

    def silence(self, labels: Mapping[str, str], seconds: float, *, by: str, comment: str) -> str:
        """Keep quiet about alerts with these labels from now on; returns the silence's id."""
        now = datetime.now(UTC)
        body = {
            "matchers": [{"name": key, "value": text, "isRegex": False} for key, text in labels.items()],
            "startsAt": now.isoformat(),
            "endsAt": (now + timedelta(seconds=seconds)).isoformat(),
            "createdBy": by,
            "comment": comment,
        }
        return str(json.loads(self._call("POST", "/api/v2/silences", body))["silenceID"])

    def send(self, alerts: Iterable[Mapping[str, Any]]) -> None:
        """Hand in alerts as Prometheus does: each with `labels`, and `annotations`, `startsAt`, `endsAt`."""
        self._call("POST", "/api/v2/alerts", [dict(alert) for alert in alerts])

    def alerts(self) -> list[dict[str, Any]]:
        return list(json.loads(self._call("GET", "/api/v2/alerts")))

    def stop(self) -> None:
        self.process.stop()

    def close(self) -> None:
        self.stop()
        drop_work_dir(self.work)

    def _is_up(self) -> bool:
        return accepts(self._port) and self._call("GET", "/-/ready") != ""

    def _call(self, method: str, path: str, body: object = None) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        payload = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != 200:
            raise ValueError(f"alertmanager answered {answer.status}: {text.strip()}")
        return text

    def _write(self, webhook: str, http_config: Mapping[str, Any]) -> None:
        hook: dict[str, Any] = {"url": webhook, "send_resolved": True}
        if http_config:
            hook["http_config"] = dict(http_config)
        route = {
            "receiver": "hook",
            "group_by": ["alertname"],
            "group_wait": "1s",
            "group_interval": "1s",
            "repeat_interval": "1h",
        }
        config = {"route": route, "receivers": [{"name": "hook", "webhook_configs": [hook]}]}
        self._config.write_text(json.dumps(config), encoding="utf-8")
