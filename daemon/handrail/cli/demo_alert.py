"""The alert of the demo, in the form in which a gateway would send it."""

from __future__ import annotations

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

CLUSTER = "demo"


def alert_as_otlp(now_ns: int) -> bytes:
    """The alert that a rule on stuck rollouts would send, as one OTLP log record (alert-formats, section 1.2)."""
    resource = Resource(attributes=[_text("k8s.cluster.name", CLUSTER), _text("k8s.namespace.name", "shop")])
    record = LogRecord(
        time_unix_nano=now_ns,
        observed_time_unix_nano=now_ns,
        severity_text="warning",
        event_name="alert.firing",
        body=AnyValue(string_value="Rollout of deployment shop/checkout is stuck"),
        attributes=[
            _text("alert.name", "KubeDeploymentRolloutStuck"),
            _text("alert.state", "firing"),
            _text("alert.severity", "warning"),
            _text("k8s.deployment.name", "checkout"),
        ],
    )
    scope = ScopeLogs(log_records=[record])
    return ExportLogsServiceRequest(
        resource_logs=[ResourceLogs(resource=resource, scope_logs=[scope])]
    ).SerializeToString()


def _text(key: str, text: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=text))
