"""Alerts in OTLP metrics: Prometheus's own series `ALERTS{alertname, alertstate}`, sampled while an alert fires.

A sample says "fires now" and nothing else: when it began is not in it, and that no sample comes is no end (a scrape
that fails marks every series of its target as stale). So there are no edges here, and nothing is ever resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from handrail.decode.object_keys import cluster_of
from handrail.decode.otlp_values import inner, items, json_attributes, known_only, number_of, proto_attributes
from handrail.decode.parts import Origin, Part, named, passed, refuse
from handrail.decode.severity import severity_of
from handrail.decode.text import text_of, words_of
from handrail.model.alert import made
from handrail.model.reason import Reason

ALERTS = "ALERTS"
NO_RECORDED_VALUE = 1
"""The flag of a staleness marker (bit 0)."""

LAST_FIELD = 12
"""Highest field number of Metric (metadata)."""


class Sample(NamedTuple):
    """One point of an ALERTS gauge."""

    labels: dict[str, object]
    value: float
    flags: int


def from_protobuf(data: MetricsData, origin: Origin) -> Iterator[Part]:
    """One part per sample of ALERTS, and one per other metric."""
    for resource_metrics in data.resource_metrics:
        resource = proto_attributes(resource_metrics.resource.attributes)
        for scope in resource_metrics.scope_metrics:
            for metric in scope.metrics:
                if not known_only(metric, LAST_FIELD):
                    yield refuse(Reason.WRONG_SIGNAL, "OTLP logs or traces where metrics were expected")
                    continue
                yield from _of_metric(_proto_samples(metric), resource, origin)


def _proto_samples(metric: Any) -> list[Sample] | None:
    if metric.name != ALERTS:
        return None
    points = metric.gauge.data_points
    return [Sample(proto_attributes(p.attributes), p.as_double or p.as_int, p.flags) for p in points]


def from_json(data: Mapping[str, object], origin: Origin) -> Iterator[Part]:
    """As `from_protobuf`, of parsed OTLP JSON."""
    for resource_metrics in items(data, "resourceMetrics"):
        if not isinstance(resource_metrics, dict):
            yield refuse(Reason.MALFORMED, "an entry of resourceMetrics is no object")
            continue
        resource = json_attributes(inner(resource_metrics, "resource"))
        for scope in items(resource_metrics, "scopeMetrics"):
            for metric in items(scope, "metrics"):
                yield from _of_metric(_json_samples(metric), resource, origin)


def _json_samples(metric: object) -> list[Sample] | None:
    if not isinstance(metric, dict) or metric.get("name") != ALERTS:
        return None
    points = items(metric.get("gauge"), "dataPoints")
    return [
        Sample(
            json_attributes(point),
            number_of(point.get("asDouble")) or number_of(point.get("asInt")),
            int(number_of(point.get("flags"))),
        )
        for point in points
        if isinstance(point, dict)
    ]


def _of_metric(samples: list[Sample] | None, resource: dict[str, object], origin: Origin) -> Iterator[Part]:
    if not samples:
        yield passed("a metric that is not Prometheus's ALERTS")
        return
    within = origin.within("metrics", cluster_of(resource, {}))
    for sample in samples:
        yield _of_sample(sample, resource, within)


def _of_sample(sample: Sample, resource: dict[str, object], origin: Origin) -> Part:
    state = text_of(sample.labels.get("alertstate"))
    if sample.flags & NO_RECORDED_VALUE or not sample.value:
        return passed("a sample of ALERTS without a value: its absence is no end")
    if state != "firing":
        return passed("a sample of ALERTS that does not fire")
    name = named(text_of(sample.labels.get("alertname")))
    if not name:
        return refuse(Reason.NO_ALERT_NAME, "a sample of ALERTS without alertname")
    labels = _labels(sample, resource)
    return made(
        name=name,
        status="firing",
        labels=labels,
        seen_at=origin.at,
        cluster=labels.get("cluster", "") or origin.cluster,
        severity=severity_of(labels.get("severity", "")),
        wire=origin.wire,
    )


def _labels(sample: Sample, resource: Mapping[str, object]) -> dict[str, str]:
    """The receiver moves `job` and `instance` to the resource; without them an exporter's pod passes for the sick."""
    scraped = {"job": resource.get("service.name"), "instance": resource.get("service.instance.id")}
    labels = words_of({**scraped, **sample.labels})
    labels.pop("alertstate", None)
    return labels
