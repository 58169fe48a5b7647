"""Prometheus on loopback, and a page of metrics for it to scrape.

Decides: one second between scrapes and evaluations. Never invents a sample: what it knows comes from pages
that the test writes.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlencode

from tests.servers import pins
from tests.servers.process import Process, accepts, drop_work_dir, free_port, new_work_dir


class MetricsPage:
    """Serves `text` (Prometheus' text format) on loopback; set it to change what is scraped."""

    def __init__(self, text: str = "") -> None:
        page = self
        self.text = text

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = page.text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Quiet: a line per scrape helps nobody."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class PrometheusServer:
    """`url` for clients. Call `configure` at any time to change targets, rules and Alertmanagers."""

    def __init__(self) -> None:
        program = str(pins.program("prometheus"))
        self.work = new_work_dir("prometheus")
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._config = self.work / "prometheus.yml"
        self._write({}, (), ())
        command = [
            program,
            f"--config.file={self._config}",
            f"--storage.tsdb.path={self.work / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--web.enable-lifecycle",
            "--log.level=warn",
        ]
        self.process = Process("prometheus", command, self.work, self._is_up)

    def start(self) -> PrometheusServer:
        self.process.start()
        return self

    def configure(
        self,
        targets: Mapping[str, str],
        rules: Iterable[Mapping[str, Any]] = (),
        alertmanagers: Iterable[str] = (),
    ) -> None:
        """Scrape `targets` (job -> host:port), evaluate `rules` (one group), send alerts to host:port."""
        self._write(targets, rules, alertmanagers)
        status, text = self._call("POST", "/-/reload")
        if status != 200:
            raise ValueError(f"prometheus does not take this configuration: {text.strip()}")

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an instant query, as Prometheus gives it."""
        status, text = self._call("GET", f"/api/v1/query?{urlencode({'query': expression})}")
        if status != 200:
            raise ValueError(f"prometheus: {text.strip()}")
        return list(json.loads(text)["data"]["result"])

    def stop(self) -> None:
        self.process.stop()

    def close(self) -> None:
        self.stop()
        drop_work_dir(self.work)

    def _is_up(self) -> bool:
        return accepts(self._port) and self._call("GET", "/-/ready")[0] == 200

    def _call(self, method: str, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def _write(
        self, targets: Mapping[str, str], rules: Iterable[Mapping[str, Any]], alertmanagers: Iterable[str]
    ) -> None:
        rules_file = self.work / "rules.yml"
        group = {"name": "test", "interval": "1s", "rules": [dict(rule) for rule in rules]}
        rules_file.write_text(json.dumps({"groups": [group]}), encoding="utf-8")
        jobs = [{"job_name": job, "static_configs": [{"targets": [at]}]} for job, at in targets.items()]
        to = [{"static_configs": [{"targets": list(alertmanagers)}]}]
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules_file)],
            "scrape_configs": jobs,
            "alerting": {"alertmanagers": to},
        }
        self._config.write_text(json.dumps(config), encoding="utf-8")
