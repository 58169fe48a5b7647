"""Every example of a wire format, with the alerts and findings it becomes or the reason why it is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from handrail.core.correlate import labelled_target
from handrail.decode import decode
from handrail.model.alert import Alert
from handrail.model.detector import Window
from handrail.model.record import Decoded, Record
from handrail_detectors import named_alert
from tests.decode.records import AT, EXAMPLES, example, record


class Row(NamedTuple):
    """What becomes of a file: the decoder's word for its format and a line per alert, or what is said instead.

    `at` is the broker's time: Kubernetes events of the past are passed over.
    """

    wire: str = ""
    alerts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    at: datetime = AT


SOON = datetime(2026, 3, 2, 9, 16, tzinfo=UTC)
X2K9Q = "KubePodCrashLooping firing Pod shop/checkout-7d9c5b8f6d-x2k9q (app) prod-eu1 warning: approve"
X2K9Q_RESOLVED = X2K9Q.replace("firing", "resolved")
M8M4TZ = "KubePodCrashLooping firing Pod shop/checkout-7d9c5b8f6d-8m4tz (app) prod-eu1 warning: approve"
PG = "KubePodCrashLooping {} Pod shop/pg-0 (app) prod-eu1 warning: approve"
PVC = "KubePersistentVolumeFillingUp firing PersistentVolumeClaim shop/data-pg-0 prod-eu1 {}: approve"
BACK_OFF = ("Event BackOff firing Pod shop/checkout-7d9c5b8f6d-x2k9q (app) warning: ignore",)
NO_REASON = ("Event Warning firing Pod shop/checkout-7d9c5b8f6d-x2k9q (app) warning: ignore",)
SPAN = ("Span with exception firing Deployment shop/checkout prod-eu1 error: diagnose",)
SAMPLE = ("KubePodCrashLooping firing Pod shop/checkout-7d9c5b8f6d-x2k9q prod-eu1 warning: approve",)
OTHER_METRICS = ("2 a metric that is not Prometheus's ALERTS",)
ROUTE = "it names no Kubernetes object; let what raised the alert (Alertmanager, Grafana) write here too"

TABLE = {
    "alertmanager_api_v2_get_alerts.json": Row("alertmanager", (X2K9Q,)),
    "alertmanager_api_v2_post_alerts.json": Row("alertmanager", (X2K9Q_RESOLVED, M8M4TZ)),
    "alertmanager_eventrecorder.jsonl": Row(
        refused=(
            "UNKNOWN_FORMAT: an Alertmanager event-recorder entry: it loses entries when its buffer is full; "
            "add a webhook receiver that writes here through a collector",
        )
    ),
    "alertmanager_webhook_v4_firing.json": Row("alertmanager", (X2K9Q,)),
    "alertmanager_webhook_v4_mixed_group.json": Row("alertmanager", (X2K9Q, M8M4TZ.replace("firing", "resolved"))),
    "alertmanager_webhook_v4_pre032.json": Row("alertmanager", (X2K9Q,)),
    "alertmanager_webhook_v4_resolved.json": Row("alertmanager", (X2K9Q_RESOLVED,)),
    "cloudevents_binary_kafka_record.json": Row("cloudevents+json", (X2K9Q,)),
    "cloudevents_structured.json": Row("cloudevents+json", (X2K9Q,)),
    "cloudwatch_eventbridge.json": Row(
        refused=(
            "UNKNOWN_FORMAT: an EventBridge event: let an input transformer write alertname, status and labels, "
            "or name its fields in alerts.mapping",
        )
    ),
    "cloudwatch_sns.json": Row(
        refused=(
            "UNKNOWN_FORMAT: a CloudWatch alarm in an SNS message: it names no Kubernetes object that can be believed; "
            "write a CloudEvent with labels, or alert from Prometheus",
        )
    ),
    "datadog_webhook.json": Row(
        refused=("UNKNOWN_FORMAT: a Datadog webhook: name its fields in alerts.mapping (status: alert_transition)",)
    ),
    "grafana_unified_webhook.json": Row(
        "grafana", ("Checkout 5xx ratio firing Deployment shop/checkout critical: diagnose",)
    ),
    "grafana_unified_webhook_nodata.json": Row("grafana", ("DatasourceNoData firing None critical: diagnose",)),
    "kafka_raw_string_body.json": Row("alertmanager", (X2K9Q,)),
    "opsgenie_webhook.json": Row(refused=(f"UNKNOWN_FORMAT: an Opsgenie webhook: {ROUTE}",)),
    "otlp_logs_alert.json": Row("otlp_json", (X2K9Q, X2K9Q_RESOLVED)),
    "otlp_logs_alert.pb": Row("otlp_proto", (X2K9Q, X2K9Q_RESOLVED)),
    "otlp_logs_k8sevents_corev1.json": Row("otlp_json+kubernetes_events", BACK_OFF, at=SOON),
    "otlp_logs_k8sevents_corev1.pb": Row("otlp_proto+kubernetes_events", BACK_OFF, at=SOON),
    "otlp_logs_k8sevents_eventsv1.json": Row("otlp_json+kubernetes_events", BACK_OFF, at=SOON),
    "otlp_logs_k8sevents_eventsv1.pb": Row("otlp_proto+kubernetes_events", BACK_OFF, at=SOON),
    "otlp_logs_k8sevents_legacy.json": Row("otlp_json+kubernetes_events", NO_REASON, at=SOON),
    "otlp_logs_k8sevents_legacy.pb": Row("otlp_proto+kubernetes_events", NO_REASON, at=SOON),
    "otlp_logs_k8sobjects_watch.json": Row("otlp_json+kubernetes_objects", BACK_OFF),
    "otlp_logs_k8sobjects_watch.pb": Row("otlp_proto+kubernetes_objects", BACK_OFF),
    "otlp_logs_webhookevent_alertmanager.json": Row("otlp_json+alertmanager", (X2K9Q,)),
    "otlp_logs_webhookevent_alertmanager.pb": Row("otlp_proto+alertmanager", (X2K9Q,)),
    "otlp_metrics_alerts.json": Row("otlp_json+metrics", SAMPLE, passed=OTHER_METRICS),
    "otlp_metrics_alerts.pb": Row("otlp_proto+metrics", SAMPLE, passed=OTHER_METRICS),
    "otlp_traces_error.json": Row("otlp_json+traces", SPAN),
    "otlp_traces_error.pb": Row("otlp_proto+traces", SPAN),
    "pagerduty_events_v2_enqueue.json": Row(refused=(f"UNKNOWN_FORMAT: a PagerDuty events v2 request: {ROUTE}",)),
    "pagerduty_webhook_v3.json": Row(refused=(f"UNKNOWN_FORMAT: a PagerDuty webhook (version 3): {ROUTE}",)),
    "prometheus_api_v1_alerts.json": Row(
        refused=(
            "UNKNOWN_FORMAT: an answer of Prometheus's alerts API: its activeAt is no start of firing and it lacks "
            "the external labels; let Alertmanager send its webhook",
        )
    ),
    "traps/am_honor_labels_false_exported.json": Row("alertmanager", (X2K9Q,)),
    "traps/am_pod_label_is_kube_state_metrics.json": Row(
        "alertmanager", ("KubeJobFailed firing Job shop/nightly-29328720 warning: approve",)
    ),
    "traps/am_reused_statefulset_pod_name.json": Row("alertmanager", (PG.format("firing"), PG.format("resolved"))),
    "traps/am_same_pvc_warning_and_critical.json": Row("alertmanager", (PVC.format("warning"), PVC.format("critical"))),
    "traps/am_truncated_group.json": Row("alertmanager", (X2K9Q,)),
    "traps/am_watchdog_no_object.json": Row("alertmanager", ("Watchdog firing None none: ignore",)),
}


def line(alert: Alert) -> str:
    """An alert in one line, with how the table of names says it is handled."""
    (finding,) = named_alert.detector.detect(Window(alerts=(alert,)), AT, named_alert.Params())
    target = labelled_target(alert)
    container = f"({target.container})" if target and target.container else ""
    words = (alert.name, alert.status, str(target), container, alert.cluster, alert.severity)
    return f"{' '.join(word for word in words if word)}: {finding.handling}"


def records_of(name: str, at: datetime = AT) -> Iterator[Record]:
    """The records that a file stands for: its lines, what it shows as JSON, else its bytes."""
    value = example(name)
    if name.endswith(".jsonl"):
        yield from (record(entry, at=at) for entry in value.splitlines())
    elif name == "cloudevents_binary_kafka_record.json":
        shown = json.loads(value)
        headers = tuple((key, text.encode()) for key, text in shown["headers"])
        yield record(shown["value"].encode(), headers, at)
    else:
        yield record(value, at=at)


def row(found: Decoded, at: datetime) -> Row:
    """What was found, as the table has it."""
    return Row(
        wire=" ".join(sorted({alert.wire for alert in found.alerts})),
        alerts=tuple(line(alert) for alert in found.alerts),
        refused=tuple(f"{part.reason}: {part.detail}" for part in found.refused),
        passed=tuple(f"{part.count} {part.what}" for part in found.passed),
        at=at,
    )


def test_every_example_file_is_in_the_table() -> None:
    files = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*") if path.is_file()}
    assert files == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_an_example_becomes_these_alerts_or_is_refused_for_this(name: str) -> None:
    expected = TABLE[name]
    for each in records_of(name, expected.at):
        found = decode(each)
        assert row(found, expected.at) == expected
        assert all(alert.seen_at == expected.at for alert in found.alerts), "the broker's time, never the clock's"


def test_a_cloud_event_in_binary_mode_that_carries_a_webhook_is_read() -> None:
    headers = (("ce_specversion", b"1.0"), ("ce_type", b"x"), ("ce_id", b"1"), ("ce_source", b"/am"))
    found = decode(record(example("alertmanager_webhook_v4_firing.json"), headers))
    assert [line(alert) for alert in found.alerts] == [X2K9Q]


@pytest.mark.parametrize("name", [name for name in TABLE if name.startswith("otlp") and name.endswith(".json")])
def test_the_two_encodings_of_one_batch_say_the_same(name: str) -> None:
    at = TABLE[name].at
    by_json = decode(record(example(name), at=at)).alerts
    by_proto = decode(record(example(name.replace(".json", ".pb")), at=at)).alerts
    assert [a.model_dump(exclude={"wire"}) for a in by_json] == [a.model_dump(exclude={"wire"}) for a in by_proto]


def test_one_alert_has_one_times_on_every_path_but_the_senders_own() -> None:
    (webhook,) = decode(record(example("alertmanager_webhook_v4_firing.json"))).alerts
    (embedded,) = decode(record(example("otlp_logs_webhookevent_alertmanager.pb"))).alerts
    (raw,) = decode(record(example("kafka_raw_string_body.json"))).alerts
    assert embedded.model_copy(update={"wire": "alertmanager"}) == webhook == raw
