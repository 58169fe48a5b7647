"""Alerts in metrics and traces: samples that say "fires now", spans that failed once, and no edge in either."""

from __future__ import annotations

import random
from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, MetricsData, ResourceMetrics, ScopeMetrics

from handrail.core.correlate import arrival, labelled_target
from handrail.decode import decode
from handrail.model.alert import Alert
from handrail.model.detector import Window
from handrail.model.finding import Handling
from handrail.model.reason import Reason
from handrail.model.record import Decoded
from handrail_detectors import named_alert
from tests.decode.records import AT, attributes, decoded, example, log, logs, record

FIRING = {"alertname": "KubeJobFailed", "alertstate": "firing", "namespace": "shop", "job_name": "nightly-1"}
SPAN: dict[str, Any] = {
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    "spanId": "00f067aa0ba902b7",
    "name": "POST /checkout",
    "events": [{"name": "exception", "attributes": attributes({"exception.type": "KeyError"})}],
    "status": {"code": 2},
}
RESOURCE: dict[str, object] = {"k8s.namespace.name": "shop", "k8s.deployment.name": "checkout", "service.name": "c"}


def point(labels: dict[str, object], **over: object) -> dict[str, object]:
    return {"attributes": attributes(labels), "asDouble": 1, **over}


def gauge(*points: object, name: str = "ALERTS", resource: dict[str, object] | None = None) -> Decoded:
    metric = {"name": name, "gauge": {"dataPoints": list(points)}}
    scopes = [{"metrics": [metric]}]
    return decoded(
        {"resourceMetrics": [{"resource": {"attributes": attributes(resource or {})}, "scopeMetrics": scopes}]}
    )


def spans(*items: object) -> Decoded:
    scopes = [{"spans": list(items)}]
    return decoded({"resourceSpans": [{"resource": {"attributes": attributes(RESOURCE)}, "scopeSpans": scopes}]})


def passed(found: Decoded) -> list[str]:
    assert (found.alerts, found.refused) == ((), ())
    return [part.what for part in found.passed]


def test_a_sample_of_alerts_fires_and_says_no_beginning() -> None:
    (alert,) = gauge(point(dict(FIRING)), resource={"k8s.cluster.name": "prod-eu1"}).alerts
    assert (alert.name, alert.status, alert.cluster, alert.starts_at) == ("KubeJobFailed", "firing", "prod-eu1", None)
    assert "alertstate" not in alert.labels
    assert str(labelled_target(alert)) == "Job shop/nightly-1"


def test_the_scrape_job_that_the_receiver_moved_to_the_resource_is_read_there() -> None:
    """Without it the exporter's own pod would pass for the sick one (ankhmorpork#548)."""
    labels: dict[str, object] = {"alertname": "Any", "alertstate": "firing", "namespace": "shop", "pod": "exporter-1"}
    (alert,) = gauge(point(labels), resource={"service.name": "kube-state-metrics"}).alerts
    assert alert.labels["job"] == "kube-state-metrics"
    assert labelled_target(alert) is None


@pytest.mark.parametrize("over", [{"flags": 1}, {"asDouble": 0}, {"asDouble": "NaN"}, {"flags": 1, "asDouble": 0}])
def test_a_stale_sample_and_one_without_a_value_end_nothing(over: dict[str, object]) -> None:
    assert passed(gauge(point(dict(FIRING), **over))) == ["a sample of ALERTS without a value: its absence is no end"]


def test_a_pending_alert_and_other_metrics_are_passed_over() -> None:
    assert passed(gauge(point({**FIRING, "alertstate": "pending"}))) == ["a sample of ALERTS that does not fire"]
    assert passed(gauge(point(dict(FIRING)), name="up")) == ["a metric that is not Prometheus's ALERTS"]


def test_one_bad_sample_costs_no_neighbour() -> None:
    found = gauge(
        point(dict(FIRING)), 7, point({"alertstate": "firing"}), point(dict(FIRING), asDouble=None, asInt="1")
    )
    assert len(found.alerts) == 2
    assert [part.reason for part in found.refused] == [Reason.NO_ALERT_NAME]


def test_samples_of_one_alert_are_one_thing_whenever_they_are_taken() -> None:
    one, again = gauge(point(dict(FIRING))).alerts[0], gauge(point(dict(FIRING), timeUnixNano="7")).alerts[0]
    assert arrival(one, "prod-eu1", ()).identity == arrival(again, "prod-eu1", ()).identity


def test_a_span_with_an_exception_is_diagnosed_and_never_resolved() -> None:
    (alert,) = spans(SPAN).alerts
    (finding,) = named_alert.detector.detect(Window(alerts=(alert,)), AT, named_alert.Params())
    assert (alert.status, finding.handling) == ("firing", Handling.DIAGNOSE)
    assert alert.labels["exception_type"] == "KeyError"
    assert alert.annotations["summary"] == "POST /checkout: KeyError"


def test_other_spans_are_passed_over() -> None:
    assert passed(spans({**SPAN, "status": {}}, {**SPAN, "status": {"code": 1}}, {**SPAN, "events": []})) == [
        "a span without an error",
        "a failed span without an exception",
    ]


def test_the_same_span_twice_is_one_episode_and_another_span_another_of_the_same_thing() -> None:
    one, again, other = (
        arrival(spans({**SPAN, "spanId": id_}).alerts[0], "prod-eu1", ()) for id_ in ("0a" * 8, "0A" * 8, "0b" * 8)
    )
    assert one.episode == again.episode
    assert (one.identity == other.identity, one.episode == other.episode) == (True, False)


@pytest.mark.parametrize("signal", ["logs", "metrics", "traces"])
@pytest.mark.parametrize("suffix", ["json", "pb"])
@pytest.mark.parametrize(
    ("name", "own"), [("otlp_logs_alert", "logs"), ("otlp_metrics_alerts", "metrics"), ("otlp_traces_error", "traces")]
)
def test_a_topics_signal_is_read_and_every_other_refused(name: str, own: str, suffix: str, signal: str) -> None:
    found = decode(record(example(f"{name}.{suffix}")), signal=signal)
    if signal == own:
        assert found.alerts
    else:
        assert found.alerts == ()
        assert {part.reason for part in found.refused} == {Reason.WRONG_SIGNAL}


def test_a_broken_item_is_refused_in_its_place() -> None:
    found = spans(None, SPAN)
    assert (len(found.alerts), [part.index for part in found.refused]) == (1, [0])
    for key in ("resourceMetrics", "resourceSpans"):
        assert [part.reason for part in decoded({key: [7]}).refused] == [Reason.MALFORMED]
        assert [part.reason for part in decoded({key: []}).refused] == [Reason.NO_ALERT]
    assert [part.reason for part in decoded({"resourceProfiles": []}).refused] == [Reason.WRONG_SIGNAL]


LOGS = ["otlp_logs_alert", "otlp_logs_k8sobjects_watch", "otlp_logs_webhookevent_alertmanager"]


@pytest.mark.parametrize("name", LOGS)
def test_logs_that_can_be_parsed_as_another_signal_are_told_by_their_times(name: str) -> None:
    """k8sobjects logs parse cleanly as metrics, and a log without a body as a span (measured)."""
    at = record(b"").at
    assert all(alert.wire.startswith("otlp_proto") for alert in decode(record(example(f"{name}.pb"), at=at)).alerts)
    assert decode(record(example(f"{name}.pb"), at=at)).alerts


def timeless(text: str) -> bytes:
    entry = LogRecord(attributes=[KeyValue(key="alert.name", value=AnyValue(string_value=text))])
    entry.attributes.append(KeyValue(key="alert.state", value=AnyValue(string_value="firing")))
    return LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[entry])])]).SerializeToString()


def test_logs_without_any_time_are_never_taken_for_another_signal() -> None:
    dice = random.Random(7)
    for _ in range(300):
        text = "".join(chr(dice.randrange(32, 0x2FF)) for _ in range(dice.randrange(1, 40)))
        alerts: tuple[Alert, ...] = decode(record(timeless(text))).alerts
        assert [alert.status for alert in alerts] in ([], ["firing"])
        assert all(alert.wire == "otlp_proto" for alert in alerts)


def test_bytes_that_may_be_two_signals_are_refused_with_what_to_set() -> None:
    metric = Metric(name="as_long_as_an_id", description="8 chars!", gauge=Gauge())
    batch = MetricsData(resource_metrics=[ResourceMetrics(scope_metrics=[ScopeMetrics(metrics=[metric])])])
    value = record(batch.SerializeToString())
    (refused,) = decode(value).refused
    assert refused.detail == "OTLP protobuf that may be metrics or traces: set the topic's `signal`"
    assert passed(decode(value, signal="metrics")) == ["a metric that is not Prometheus's ALERTS"]


def test_json_logs_keep_their_signal_whatever_the_others_are() -> None:
    assert decoded(logs(log({"alert.name": "A", "alert.state": "firing"})), signal="logs").alerts
