"""Every example of a wire format, with the alerts it holds or the reason why it is refused."""

from __future__ import annotations

import json

import pytest

from handrail.core.correlate import labelled_target
from handrail.decode import decode
from handrail.model.alert import Alert
from handrail.model.reason import Reason
from tests.decode.records import AT, EXAMPLES, decoded, example, record

X2K9Q = "KubePodCrashLooping firing Pod shop/checkout-7d9c5b8f6d-x2k9q (app) prod-eu1 warning"
X2K9Q_RESOLVED = X2K9Q.replace("firing", "resolved")
M8M4TZ = "KubePodCrashLooping firing Pod shop/checkout-7d9c5b8f6d-8m4tz (app) prod-eu1 warning"
PG = "KubePodCrashLooping {} Pod shop/pg-0 (app) prod-eu1 warning"
PVC = "KubePersistentVolumeFillingUp firing PersistentVolumeClaim shop/data-pg-0 prod-eu1 {}"

ALERTS = {
    "alertmanager_api_v2_get_alerts.json": ("alertmanager", [X2K9Q]),
    "alertmanager_api_v2_post_alerts.json": ("alertmanager", [X2K9Q_RESOLVED, M8M4TZ]),
    "alertmanager_webhook_v4_firing.json": ("alertmanager", [X2K9Q]),
    "alertmanager_webhook_v4_mixed_group.json": ("alertmanager", [X2K9Q, M8M4TZ.replace("firing", "resolved")]),
    "alertmanager_webhook_v4_pre032.json": ("alertmanager", [X2K9Q]),
    "alertmanager_webhook_v4_resolved.json": ("alertmanager", [X2K9Q_RESOLVED]),
    "kafka_raw_string_body.json": ("alertmanager", [X2K9Q]),
    "otlp_logs_alert.json": ("otlp_json", [X2K9Q, X2K9Q_RESOLVED]),
    "otlp_logs_alert.pb": ("otlp_proto", [X2K9Q, X2K9Q_RESOLVED]),
    "otlp_logs_webhookevent_alertmanager.json": ("otlp_json+alertmanager", [X2K9Q]),
    "otlp_logs_webhookevent_alertmanager.pb": ("otlp_proto+alertmanager", [X2K9Q]),
    "traps/am_honor_labels_false_exported.json": ("alertmanager", [X2K9Q]),
    "traps/am_pod_label_is_kube_state_metrics.json": (
        "alertmanager",
        ["KubeJobFailed firing Job shop/nightly-29328720 warning"],
    ),
    "traps/am_reused_statefulset_pod_name.json": ("alertmanager", [PG.format("firing"), PG.format("resolved")]),
    "traps/am_same_pvc_warning_and_critical.json": ("alertmanager", [PVC.format("warning"), PVC.format("critical")]),
    "traps/am_truncated_group.json": ("alertmanager", [X2K9Q]),
    "traps/am_watchdog_no_object.json": ("alertmanager", ["Watchdog firing None none"]),
}

REFUSALS = {
    "cloudevents_structured.json": (Reason.UNKNOWN_FORMAT, "a CloudEvent (structured mode)"),
    "cloudwatch_eventbridge.json": (Reason.UNKNOWN_FORMAT, "an EventBridge event"),
    "cloudwatch_sns.json": (Reason.UNKNOWN_FORMAT, "an SNS message"),
    "datadog_webhook.json": (Reason.UNKNOWN_FORMAT, "a Datadog webhook"),
    "grafana_unified_webhook.json": (Reason.UNKNOWN_FORMAT, "a Grafana alerting webhook"),
    "grafana_unified_webhook_nodata.json": (Reason.UNKNOWN_FORMAT, "a Grafana alerting webhook"),
    "opsgenie_webhook.json": (Reason.UNKNOWN_FORMAT, "an Opsgenie webhook"),
    "otlp_logs_k8sevents_corev1.json": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_logs_k8sevents_corev1.pb": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_logs_k8sevents_eventsv1.json": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_logs_k8sevents_eventsv1.pb": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_logs_k8sevents_legacy.json": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_logs_k8sevents_legacy.pb": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_logs_k8sobjects_watch.json": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_logs_k8sobjects_watch.pb": (Reason.NO_ALERT_NAME, "a Kubernetes event, not an alert"),
    "otlp_metrics_alerts.json": (Reason.WRONG_SIGNAL, "OTLP metrics where logs were expected"),
    "otlp_metrics_alerts.pb": (Reason.WRONG_SIGNAL, "OTLP metrics where logs were expected"),
    "otlp_traces_error.json": (Reason.WRONG_SIGNAL, "OTLP traces where logs were expected"),
    "otlp_traces_error.pb": (Reason.WRONG_SIGNAL, "OTLP traces where logs were expected"),
    "pagerduty_events_v2_enqueue.json": (Reason.UNKNOWN_FORMAT, "a PagerDuty events v2 request"),
    "pagerduty_webhook_v3.json": (Reason.UNKNOWN_FORMAT, "a PagerDuty webhook (version 3)"),
    "prometheus_api_v1_alerts.json": (Reason.UNKNOWN_FORMAT, "an answer of Prometheus's alerts API"),
}

BY_PARTS = {"alertmanager_eventrecorder.jsonl", "cloudevents_binary_kafka_record.json"}
"""Files that are no record's value as they stand; each has a test of its own below."""


def line(alert: Alert) -> str:
    target = labelled_target(alert)
    container = f"({target.container})" if target and target.container else ""
    words = (alert.name, alert.status, str(target), container, alert.cluster, alert.severity)
    return " ".join(word for word in words if word)


def test_every_example_file_is_in_a_table() -> None:
    files = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*") if path.is_file()}
    assert files == {*ALERTS, *REFUSALS, *BY_PARTS}


@pytest.mark.parametrize("name", ALERTS)
def test_an_example_holds_these_alerts_and_nothing_is_refused(name: str) -> None:
    found = decode(record(example(name)))
    wire, lines = ALERTS[name]
    assert [line(alert) for alert in found.alerts] == lines
    assert {alert.wire for alert in found.alerts} == {wire}
    assert found.refused == ()
    assert all(alert.seen_at == AT for alert in found.alerts), "the broker's time, never the clock's"


@pytest.mark.parametrize("name", REFUSALS)
def test_an_example_of_another_format_is_refused_by_its_name(name: str) -> None:
    found = decode(record(example(name)))
    assert found.alerts == ()
    assert [(part.reason, part.detail, part.index) for part in found.refused] == [(*REFUSALS[name], 0)]


def test_each_entry_of_the_event_recorder_is_refused_by_its_name() -> None:
    for entry in example("alertmanager_eventrecorder.jsonl").splitlines():
        (refused,) = decoded(entry).refused
        assert (refused.reason, refused.detail) == (Reason.UNKNOWN_FORMAT, "an Alertmanager event-recorder entry")


def test_a_cloud_event_in_binary_mode_is_named_by_its_headers() -> None:
    shown = json.loads(example("cloudevents_binary_kafka_record.json"))
    headers = tuple((key, text.encode()) for key, text in shown["headers"])
    (refused,) = decode(record(shown["value"].encode(), headers)).refused
    assert (refused.reason, refused.detail) == (Reason.UNKNOWN_FORMAT, "a CloudEvent (binary mode)")


def test_a_cloud_event_in_binary_mode_that_carries_a_webhook_is_read() -> None:
    headers = (("ce_specversion", b"1.0"), ("ce_type", b"x"), ("ce_id", b"1"), ("ce_source", b"/am"))
    found = decode(record(example("alertmanager_webhook_v4_firing.json"), headers))
    assert [line(alert) for alert in found.alerts] == [X2K9Q]


@pytest.mark.parametrize("name", [name for name in ALERTS if name.startswith("otlp") and name.endswith(".json")])
def test_the_two_encodings_of_one_batch_say_the_same(name: str) -> None:
    by_json = decode(record(example(name))).alerts
    by_proto = decode(record(example(name.replace(".json", ".pb")))).alerts
    assert [a.model_dump(exclude={"wire"}) for a in by_json] == [a.model_dump(exclude={"wire"}) for a in by_proto]


def test_one_alert_has_one_times_on_every_path_but_the_senders_own() -> None:
    (webhook,) = decode(record(example("alertmanager_webhook_v4_firing.json"))).alerts
    (embedded,) = decode(record(example("otlp_logs_webhookevent_alertmanager.pb"))).alerts
    (raw,) = decode(record(example("kafka_raw_string_body.json"))).alerts
    assert embedded.model_copy(update={"wire": "alertmanager"}) == webhook == raw
