"""What `make bench-intake` sends: half Alertmanager webhooks of kube-prometheus alerts, half OTLP log batches.

Record by record in turn. A webhook is the text that Alertmanager 0.32 writes (about 1.8 KB with one alert), a batch
the protobuf of a collector's log record that carries an alert as attributes (about 1.2 KB). Each alert of `distinct`
is about a workload or a pod of its own; `repeated` are a few alerts that are sent again and again: webhooks to the
letter, as at each `repeat_interval`, log records with a time of their own, as each one has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, SeverityNumber

CLUSTER = "demo"
BEGAN = datetime(2026, 3, 2, 9, 30, 30, 123000, tzinfo=UTC)
NAMESPACES = 40
KINDS = ("alertmanager", "otlp_proto")


class Rule(NamedTuple):
    """One of kube-prometheus: its alert's name, the label that names the object, and its texts."""

    name: str
    label: str
    summary: str
    severity: str = "warning"


RULES = (
    Rule("KubePodCrashLooping", "pod", "Pod is crash looping."),
    Rule("KubeDeploymentReplicasMismatch", "deployment", "Deployment has not matched the expected number of replicas."),
    Rule("KubePodNotReady", "pod", "Pod has been in a non-ready state for more than 15 minutes."),
    Rule("KubeDeploymentRolloutStuck", "deployment", "Deployment rollout is not progressing."),
    Rule("KubeStatefulSetReplicasMismatch", "statefulset", "StatefulSet has not matched the expected replicas."),
)


class Body(NamedTuple):
    """A record's value and how many alerts it holds."""

    value: bytes
    alerts: int


def distinct(records: int, each: int, kinds: tuple[str, ...] = KINDS, run: int = 0) -> Iterator[Body]:
    """`each` alerts a record, none of them twice, nor in another `run`."""
    first = run * records * each
    for number in range(records):
        begin = first + number * each
        yield _body(kinds[number % len(kinds)], range(begin, begin + each), number)


def repeated(records: int, each: int, alerts: int, kinds: tuple[str, ...] = KINDS) -> Iterator[Body]:
    """The same `alerts` in turn, `each` of them a record."""
    for number in range(records):
        turn = number // len(kinds) * each
        yield _body(kinds[number % len(kinds)], [(turn + n) % alerts for n in range(each)], number)


def _body(kind: str, numbers: Any, sent: int) -> Body:
    alerts = [_labels(number) for number in numbers]
    value = _webhook(alerts) if kind == "alertmanager" else _batch(alerts, sent)
    return Body(value, len(alerts))


def _labels(number: int) -> dict[str, str]:
    """As kube-state-metrics and the rule give them, its own address among them."""
    rule = RULES[number % len(RULES)]
    workload = f"checkout-{number // NAMESPACES}"
    name = f"{workload}-7d9c5b8f6d-x2k9q" if rule.label == "pod" else workload
    labels = {
        "alertname": rule.name,
        "cluster": CLUSTER,
        "container": "app" if rule.label == "pod" else "kube-rbac-proxy-main",
        "instance": "10.0.7.21:8443",
        "job": "kube-state-metrics",
        "namespace": f"shop-{number % NAMESPACES}",
        rule.label: name,
        "prometheus": "monitoring/k8s",
        "severity": rule.severity,
    }
    if rule.label == "pod":
        return {**labels, "reason": "CrashLoopBackOff", "uid": f"0b7d4f2e-6d0c-4b0e-9a8e-{number:012x}"}
    return labels


def _texts(labels: dict[str, str]) -> dict[str, str]:
    rule = next(rule for rule in RULES if rule.name == labels["alertname"])
    about = f"{labels['namespace']}/{labels[rule.label]}"
    return {
        "summary": rule.summary,
        "description": f"{rule.label} {about} (app) has been so for 15 minutes on cluster {CLUSTER}.",
        "runbook_url": f"https://runbooks.prometheus-operator.dev/runbooks/kubernetes/{rule.name.lower()}",
    }


def _webhook(alerts: list[dict[str, str]]) -> bytes:
    common = dict(set(alerts[0].items()).intersection(*(labels.items() for labels in alerts)))
    texts = [_texts(labels) for labels in alerts]
    body = {
        "receiver": "handrail",
        "status": "firing",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": said,
                "startsAt": "2026-03-02T09:30:30.123Z",
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": "http://prometheus-k8s-0:9090/graph?g0.expr=max_over_time%28kube_pod_container_status_"
                "waiting_reason%7Breason%3D%22CrashLoopBackOff%22%7D%5B5m%5D%29+%3E%3D+1&g0.tab=1",
                "fingerprint": f"{hash(tuple(labels.values())) & 0xFFFFFFFFFFFFFFFF:016x}",
            }
            for labels, said in zip(alerts, texts, strict=True)
        ],
        "notification_reason": "repeat interval",
        "groupLabels": {"namespace": alerts[0]["namespace"]},
        "commonLabels": common,
        "commonAnnotations": texts[0] if len(alerts) == 1 else {},
        "routeLabels": {},
        "externalURL": "http://alertmanager-main-0:9093",
        "version": "4",
        "groupKey": '{}/{team="shop"}:{namespace="shop"}',
        "truncatedAlerts": 0,
    }
    return json.dumps(body, separators=(",", ":")).encode()


def _batch(alerts: list[dict[str, str]], sent: int) -> bytes:
    data = LogsData()
    each = data.resource_logs.add()
    each.resource.attributes.extend(
        [
            _text("service.name", "alert-gateway"),
            _text("k8s.cluster.name", CLUSTER),
            _text("k8s.namespace.name", "monitoring"),
            _text("k8s.deployment.name", "alert-gateway"),
            _text("k8s.pod.name", "alert-gateway-6c5d9b7f8-j2x4z"),
            _text("k8s.node.name", "ip-10-0-3-17.eu-west-1.compute.internal"),
        ]
    )
    scope = each.scope_logs.add()
    scope.scope.name, scope.scope.version = "alert-gateway", "1.4.0"
    scope.log_records.extend([_log_record(labels, sent) for labels in alerts])
    return data.SerializeToString()


def _log_record(labels: dict[str, str], sent: int) -> LogRecord:
    texts = _texts(labels)
    at = int((BEGAN + timedelta(milliseconds=sent)).timestamp() * 1e9)
    return LogRecord(
        time_unix_nano=at,
        observed_time_unix_nano=at + 2_000_000,
        severity_number=SeverityNumber.SEVERITY_NUMBER_WARN,
        severity_text=labels["severity"],
        event_name="alert.firing",
        body=AnyValue(string_value=texts["description"]),
        attributes=[
            _text("alert.name", labels["alertname"]),
            _text("alert.state", "firing"),
            _text("alert.severity", labels["severity"]),
            _text("alert.starts_at", "2026-03-02T09:30:30.123Z"),
            _map("alert.labels", labels),
            _map("alert.annotations", texts),
        ],
        trace_id=bytes.fromhex("4bf92f3577b34da6a3ce929d0e0e4736"),
        span_id=bytes.fromhex("00f067aa0ba902b7"),
    )


def _text(key: str, text: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=text))


def _map(key: str, words: dict[str, str]) -> KeyValue:
    pairs = KeyValueList(values=[_text(name, text) for name, text in words.items()])
    return KeyValue(key=key, value=AnyValue(kvlist_value=pairs))
