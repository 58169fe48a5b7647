"""Alerts in OTLP log records: which attributes make one, and whose object keys are believed."""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs

from handrail.core.correlate import labelled_target
from handrail.decode import decode
from handrail.model.reason import Reason
from tests.decode.records import decoded, example, fired, log, logs, record, webhook

NAMED = {"alert.name": "KubePodCrashLooping", "alert.state": "firing"}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def only(value: object) -> str:
    (refused,) = decoded(value).refused
    return f"{refused.reason}: {refused.detail}"


@pytest.mark.parametrize(
    "pairs",
    [
        {"alert.name": "A", "alert.state": "firing"},
        {"alertname": "A", "alertstate": "firing"},
        {"alert.name": "A", "event.name": "alert.firing"},
        {"alert.labels": {"alertname": "A"}, "alert.state": "Firing"},
        {"alert.labels": '{"alertname": "A"}', "alert.state": "firing"},
    ],
)
def test_a_firing_alert_is_known_by_these_attributes(pairs: dict[str, object]) -> None:
    (alert,) = decoded(logs(log(pairs))).alerts
    assert (alert.name, alert.status) == ("A", "firing")


def test_the_events_name_says_the_state_where_no_attribute_does() -> None:
    found = decoded(logs(log({"alert.name": "A"}, eventName="alert.resolved")))
    assert [alert.status for alert in found.alerts] == ["resolved"]


def test_an_alert_without_a_state_is_never_taken_for_firing() -> None:
    assert only(logs(log({"alert.name": "A"}))).startswith("MALFORMED: has no alert.state")
    assert only(logs(log({"alert.name": "A", "alert.state": "pending"}))).startswith("MALFORMED: alert.state is")


def test_a_plain_log_line_is_refused_for_itself_and_its_neighbours_go_on() -> None:
    found = decoded(logs(log({}, body={"stringValue": "GET / 200"}), log(NAMED), None, log(NAMED)))
    assert len(found.alerts) == 2
    assert [(part.reason, part.index) for part in found.refused] == [
        (Reason.NO_ALERT_NAME, 0),
        (Reason.MALFORMED, 2),
    ]


def test_the_last_of_two_attributes_with_one_key_counts() -> None:
    twice = log({"alert.name": "A"})
    twice["attributes"] = [*log(NAMED)["attributes"], *log({"alert.state": "resolved"})["attributes"]]  # type: ignore[misc]
    (alert,) = decoded(logs(twice)).alerts
    assert alert.status == "resolved"


def test_object_keys_fill_up_what_the_labels_lack() -> None:
    keys = {"k8s.cluster.name": "prod-eu1", "k8s.namespace.name": "shop", "k8s.deployment.name": "checkout"}
    for batch in (logs(log({**NAMED, **keys})), logs(log(NAMED), resource=dict(keys))):
        (alert,) = decoded(batch).alerts
        assert alert.labels == {"cluster": "prod-eu1", "namespace": "shop", "deployment": "checkout"}
        assert alert.cluster == "prod-eu1"
        assert str(labelled_target(alert)) == "Deployment shop/checkout"


def test_the_records_own_object_keys_win_over_the_resources() -> None:
    resource: dict[str, object] = {"k8s.namespace.name": "monitoring", "k8s.pod.name": "collector-0"}
    (alert,) = decoded(
        logs(log({**NAMED, "k8s.namespace.name": "shop", "k8s.pod.name": "api-0"}), resource=resource)
    ).alerts
    assert str(labelled_target(alert)) == "Pod shop/api-0"


def test_a_job_key_is_a_kubernetes_job_and_never_the_scrape_job() -> None:
    (alert,) = decoded(logs(log({**NAMED, "k8s.namespace.name": "shop", "k8s.job.name": "nightly-1"}))).alerts
    assert (alert.labels["job_name"], "job" in alert.labels) == ("nightly-1", False)


@pytest.mark.parametrize(
    "collector",
    [
        {"k8s.namespace.name": "monitoring", "k8s.deployment.name": "otel-collector"},
        {"k8s.deployment.name": "otel-collector"},
        {"k8s.namespace.name": "shop", "k8s.deployment.name": "otel-collector", "k8s.pod.uid": "11111111"},
        {"k8s.pod.name": "otel-collector-x", "k8s.pod.uid": "11111111", "k8s.node.name": "n1"},
    ],
)
def test_keys_that_describe_the_sender_are_not_mixed_into_the_alerts_own_object(collector: dict[str, object]) -> None:
    own = {"alertname": "KubePodCrashLooping", "namespace": "shop", "pod": "checkout-x", "container": "app"}
    resource = {**collector, "k8s.cluster.name": "prod-eu1"}
    (alert,) = decoded(logs(log({**NAMED, "alert.labels": dict(own)}), resource=resource)).alerts
    assert alert.labels == {**own, "cluster": "prod-eu1"}


def test_an_embedded_webhook_takes_only_the_cluster_from_its_resource() -> None:
    body = {"stringValue": json.dumps(webhook(fired()))}
    resource: dict[str, object] = {"cluster": "prod-eu1", "k8s.namespace.name": "otel", "k8s.pod.name": "collector-0"}
    (alert,) = decoded(logs(log({}, body=body), resource=resource)).alerts
    assert alert.cluster == "prod-eu1"
    assert str(labelled_target(alert)) == "Deployment shop/checkout"
    assert alert.wire == "otlp_json+alertmanager"


def test_a_webhook_that_came_as_a_map_is_read_like_one_that_came_as_text() -> None:
    body = log({"body": webhook(fired())})["attributes"][0]["value"]  # type: ignore[index]
    assert len(decoded(logs(log({}, body=body))).alerts) == 1


def test_another_formats_body_is_refused_by_its_name() -> None:
    body = {"stringValue": example("opsgenie_webhook.json").decode()}
    assert only(logs(log({}, body=body))).startswith("UNKNOWN_FORMAT: the log record's body is an Opsgenie webhook")


@pytest.mark.parametrize("name", ["grafana_unified_webhook.json", "cloudevents_structured.json"])
def test_other_documents_that_came_through_a_collector_are_read(name: str) -> None:
    body = {"stringValue": example(name).decode()}
    resource: dict[str, object] = {"cluster": "prod-eu1"}
    (alert,) = decoded(logs(log({}, body=body), resource=resource)).alerts
    assert alert.cluster == "prod-eu1"
    assert alert.wire.startswith(("otlp_json+grafana", "otlp_json+cloudevents"))


def test_a_torn_body_is_only_a_log_line_and_says_how_it_was_torn() -> None:
    said = only(logs(log({}, body={"stringValue": '{"receiver": "handrail",'})))
    assert said.startswith("NO_ALERT_NAME: a log record without alert.name, whose body is a piece of JSON")
    assert said.endswith("(split_logs_at_newline)")


def test_bodies_that_were_split_at_json_boundaries_are_read_each_by_itself() -> None:
    body = {"stringValue": json.dumps(webhook(fired()))}
    assert len(decoded(logs(log({}, body=body), log({}, body=body))).alerts) == 2


def test_a_batch_without_records_holds_no_alert() -> None:
    assert only(logs()).startswith("NO_ALERT:")
    assert only({"resourceLogs": []}).startswith("NO_ALERT:")
    assert only({"resourceLogs": None}).startswith("MALFORMED:")


def test_unknown_keys_are_ignored_and_snake_case_is_unknown() -> None:
    batch = logs({**log(NAMED), "someFutureField": {"x": 1}})
    assert len(decoded({**batch, "another": 1}).alerts) == 1
    assert only({"resource_logs": batch["resourceLogs"]}).startswith("UNKNOWN_FORMAT")


@pytest.mark.parametrize("number", ["7", 7])
def test_integers_come_as_text_or_as_numbers(number: object) -> None:
    entry = log(NAMED)
    labels = {"kvlistValue": {"values": [{"key": "count", "value": {"intValue": number}}]}}
    entry["attributes"] = [*entry["attributes"], {"key": "alert.labels", "value": labels}]  # type: ignore[misc]
    (alert,) = decoded(logs(entry)).alerts
    assert alert.labels == {"count": "7"}


def test_nanoseconds_do_not_pass_through_a_float() -> None:
    (alert,) = decoded(logs(log({**NAMED, "alert.starts_at": 1772442930123456789}))).alerts
    assert alert.starts_at is not None
    assert alert.starts_at.microsecond == 123456


@pytest.mark.parametrize(
    ("said", "kept"),
    [(TRACE, TRACE), (TRACE.upper(), TRACE), ("0" * 32, ""), ("", ""), (TRACE[:16], ""), ("x" * 32, ""), (7, "")],
)
def test_a_trace_id_is_hex_and_anything_else_is_no_trace(said: object, kept: str) -> None:
    (alert,) = decoded(logs(log(NAMED, traceId=said))).alerts
    assert alert.trace_id == kept


def test_bytes_in_attributes_are_base64_and_shown_as_hex() -> None:
    entry = log(NAMED)
    labels = {"kvlistValue": {"values": [{"key": "raw", "value": {"bytesValue": "AQI="}}]}}
    entry["attributes"] = [*entry["attributes"], {"key": "alert.labels", "value": labels}]  # type: ignore[misc]
    (alert,) = decoded(logs(entry)).alerts
    assert alert.labels == {"raw": "0102"}


def test_the_body_is_the_summary_where_the_sender_has_none() -> None:
    body = {"stringValue": "it crashes"}
    annotated = {**NAMED, "alert.annotations": {"summary": "own words"}}
    found = decoded(logs(log(NAMED, body=body), log(annotated, body=body)))
    assert [alert.annotations["summary"] for alert in found.alerts] == ["it crashes", "own words"]


def proto(*records: LogRecord) -> bytes:
    return LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=list(records))])]).SerializeToString()


def text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def test_protobuf_without_any_time_is_still_a_log() -> None:
    bare = LogRecord(attributes=[text("alert.name", "A"), text("alert.state", "firing")])
    assert [alert.name for alert in decoded(proto(bare)).alerts] == ["A"]


def test_protobuf_values_nested_past_the_bound_are_dropped_and_the_alert_is_kept() -> None:
    deep = AnyValue(string_value="x")
    for _ in range(30):
        deep = AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="k", value=deep)]))
    entry = LogRecord(attributes=[text("alert.name", "A"), text("alert.state", "firing")])
    entry.attributes.append(KeyValue(key="alert.labels", value=deep))
    (alert,) = decoded(proto(entry)).alerts
    assert alert.labels["k"].startswith('{"k": {"k"')


def test_metrics_and_traces_are_refused_even_on_a_topic_configured_for_logs() -> None:
    for name in ("otlp_metrics_alerts.pb", "otlp_traces_error.pb"):
        (refused,) = decode(record(example(name)), signal="logs", encoding="otlp_proto").refused
        assert refused.reason is Reason.WRONG_SIGNAL


def test_a_signal_that_this_build_does_not_read_is_refused() -> None:
    (refused,) = decode(record(example("otlp_logs_alert.pb")), signal="metrics").refused
    assert refused.reason is Reason.WRONG_SIGNAL


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("otlp_logs_alert.pb", "otlp_proto"),
        ("otlp_logs_alert.json", "otlp_json"),
        ("alertmanager_webhook_v4_firing.json", "alertmanager"),
        ("kafka_raw_string_body.json", "alertmanager"),
    ],
)
def test_a_configured_encoding_reads_its_own_and_refuses_the_others(name: str, encoding: str) -> None:
    value = record(example(name))
    assert decode(value, encoding=encoding).alerts
    for other in {"otlp_proto", "otlp_json", "alertmanager"} - {encoding}:
        found = decode(value, encoding=other)
        assert found.alerts == ()
        assert found.refused
