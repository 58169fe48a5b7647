"""An OpenTelemetry Collector: OTLP in over gRPC and HTTP, Kafka out, and whatever else a test adds.

Decides: one topic per signal, and no batching, so that a record is there as soon as it was sent. Never
changes what passes through.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.servers import pins
from tests.servers.process import Process, accepts, drop_work_dir, free_port, new_work_dir

TOPICS = {"logs": "otlp_logs", "metrics": "otlp_metrics", "traces": "otlp_spans"}


class OtelCollector:
    """`grpc` is host:port, `http` a URL; a signal goes to `topics[signal]` in this `encoding`.

    `exporter` is merged into the Kafka exporter's settings (`auth`, `tls` for a secured broker). `logs_to` are more
    exporters by name with their settings, which get the logs too.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        topics: Mapping[str, str] | None = None,
        encoding: str = "otlp_proto",
        exporter: Mapping[str, Any] | None = None,
        logs_to: Mapping[str, Any] | None = None,
    ) -> None:
        program = str(pins.program("otel-collector"))
        self.work = new_work_dir("otel-collector")
        self.topics = {**TOPICS, **(topics or {})}
        grpc, http = free_port(), free_port()
        self.grpc, self.http = f"127.0.0.1:{grpc}", f"http://127.0.0.1:{http}"
        kafka = {
            "brokers": [bootstrap],
            **{signal: {"topic": topic, "encoding": encoding} for signal, topic in self.topics.items()},
            **(exporter or {}),
        }
        protocols = {"grpc": {"endpoint": self.grpc}, "http": {"endpoint": f"127.0.0.1:{http}"}}
        pipelines = {signal: {"receivers": ["otlp"], "exporters": ["kafka"]} for signal in self.topics}
        pipelines["logs"]["exporters"] += list(logs_to or ())
        config = {
            "receivers": {"otlp": {"protocols": protocols}},
            "exporters": {"kafka": kafka, **(logs_to or {})},
            "service": {
                "pipelines": pipelines,
                # Its own metrics would be served on a fixed port.
                "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "warn"}},
            },
        }
        path = self.work / "config.yaml"
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        command = [program, f"--config={path}"]
        self.process = Process("otel-collector", command, self.work, lambda: accepts(grpc) and accepts(http))

    def start(self) -> OtelCollector:
        self.process.start()
        return self

    def stop(self) -> None:
        self.process.stop()

    def close(self) -> None:
        self.stop()
        drop_work_dir(self.work)
