"""Kubernetes events: three layouts of a receiver and two API groups, one meaning; copies and old ones are noise."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handrail.core.correlate import arrival, labelled_target
from handrail.decode import decode
from handrail.decode.kubernetes_events import container_of
from handrail.model.alert import Alert
from handrail.model.arrival import Arrival
from handrail.model.record import Decoded
from tests.decode.records import attributes, decoded, example, log, logs, record

SOON = datetime(2026, 3, 2, 9, 16, tzinfo=UTC)
LAYOUTS = ["otlp_logs_k8sevents_corev1.json", "otlp_logs_k8sevents_eventsv1.json", "otlp_logs_k8sevents_legacy.json"]
RECORD = {"k8s.event.uid": "e-1", "k8s.event.reason": "BackOff", "k8s.event.count": 3, "k8s.namespace.name": "shop"}
OBJECT = {"k8s.object.kind": "Pod", "k8s.object.name": "api-0", "k8s.object.uid": "0b7d4f2e-6d0c"}
JUST_NOW = "1772444690000000000"
EVENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "api-0.1", "namespace": "shop", "uid": "e-1", "creationTimestamp": "2026-03-02T09:00:00Z"},
    "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "api-0", "uid": "0b7d4f2e-6d0c"},
    "type": "Warning",
    "reason": "BackOff",
    "message": "Back-off",
    "count": 3,
    "lastTimestamp": "2026-03-02T09:44:00Z",
}


def received(resource: dict[str, Any] | None = None, over: dict[str, Any] | None = None, **more: Any) -> Decoded:
    """A record of k8seventsreceiver, core/v1 layout."""
    entry = log({**RECORD, **(over or {})}, **{"timeUnixNano": JUST_NOW, "severityNumber": 13, **more})
    return decoded(logs(entry, resource={**OBJECT, **(resource or {})}))


def watched(event: dict[str, Any], kind: str = "MODIFIED") -> Decoded:
    """A record of k8sobjectsreceiver, watching."""
    (body,) = attributes({"body": {"type": kind, "object": event}})
    return decoded(logs(log({"k8s.resource.name": "events"}, body=body["value"])))


def came(found: Decoded) -> Arrival:
    (alert,) = found.alerts
    return arrival(alert, "prod-eu1", ())


def passed(found: Decoded) -> str:
    assert (found.alerts, found.refused) == ((), ())
    (part,) = found.passed
    return part.what


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_names_the_same_object_and_message(name: str) -> None:
    (alert,) = decode(record(example(name), at=SOON)).alerts
    target = labelled_target(alert)
    assert target is not None
    assert (str(target), target.container) == ("Pod shop/checkout-7d9c5b8f6d-x2k9q", "app")
    assert target.uid == "0b7d4f2e-6d0c-4b0e-9a8e-2f1f6a3f9d11"
    assert alert.message == "7a0b0c0d-1111-4222-8333-444455556666 14"
    assert alert.annotations["summary"].startswith("Back-off restarting failed container")


def test_the_legacy_layout_has_the_reason_in_a_name_that_logs_no_longer_have() -> None:
    batch = json.loads(example(LAYOUTS[2]))
    batch["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["name"] = "BackOff"
    (alert,) = decode(record(json.dumps(batch).encode(), at=SOON)).alerts
    assert (alert.name, alert.labels["reason"]) == ("Event BackOff", "BackOff")


def test_no_event_passes_for_an_alert_of_the_tables() -> None:
    (alert,) = received(over={"k8s.event.reason": "KubePodCrashLooping"}).alerts
    assert alert.name == "Event KubePodCrashLooping"


def test_a_copy_is_the_same_episode_and_so_is_a_higher_count_of_the_same_event() -> None:
    one, copy, more = came(received()), came(received()), came(received(over={"k8s.event.count": 4}))
    assert (one.identity, one.episode) == (copy.identity, copy.episode)
    assert (one.identity == more.identity, one.episode == more.episode) == (True, True)
    assert one.alert.message != more.alert.message


def test_the_object_its_reason_and_its_container_make_the_identity() -> None:
    one = came(received())
    others = [
        received({"k8s.object.uid": "0b7d4f2e-ffff"}),
        received(over={"k8s.event.reason": "Failed"}),
        received({"k8s.object.fieldpath": "spec.containers{app}"}),
    ]
    assert len({one.identity, *(came(other).identity for other in others)}) == 4


def test_the_same_event_by_the_watch_and_by_the_receiver_is_one_thing() -> None:
    assert came(watched(EVENT)).identity == came(received()).identity
    assert came(watched(EVENT)).episode == came(received()).episode


def test_objects_that_can_be_no_target_are_told_apart_by_their_uid() -> None:
    def replica_set(uid: str) -> Arrival:
        return came(received({"k8s.object.kind": "ReplicaSet", "k8s.object.uid": uid}))

    one = replica_set("0b7d4f2e-0001")
    assert one.target is None
    assert one.identity != replica_set("0b7d4f2e-0002").identity


@pytest.mark.parametrize(
    ("number", "text", "severity"),
    [(13, "Warning", "warning"), (17, "Error", "error"), (21, "Critical", "critical"), (0, "Strange", "")],
)
def test_the_severity_is_that_of_the_type(number: int, text: str, severity: str) -> None:
    (alert,) = received(severityNumber=number, severityText=text).alerts
    assert alert.severity == severity


def test_normal_events_and_those_without_a_type_are_passed_over() -> None:
    assert passed(received(severityNumber=9, severityText="Normal")) == "a Kubernetes event of type Normal"
    assert passed(received(severityNumber=0)) == "a Kubernetes event without a type"
    assert passed(watched({**EVENT, "type": "Normal"})) == "a Kubernetes event of type Normal"


def test_an_old_event_is_passed_over_by_the_brokers_time_and_the_configured_age() -> None:
    value = record(example(LAYOUTS[0]))
    assert "too long ago" in passed(decode(value))
    assert len(decode(value, event_age=timedelta(hours=1)).alerts) == 1


@pytest.mark.parametrize("nothing", ["0", "18446681949973552616"])
def test_an_event_of_no_time_counts_from_its_start_and_without_that_is_refused(nothing: str) -> None:
    """events.k8s.io/v1 without eventTime: zero, or negative in an unsigned field (contrib k8seventsreceiver)."""
    assert "too long ago" in passed(
        received(timeUnixNano=nothing, over={"k8s.event.start_time": "2026-03-02 09:15:30 +0000 UTC"})
    )
    fresh = received(timeUnixNano=nothing, over={"k8s.event.start_time": "2026-03-02 09:40:30 +0000 UTC"})
    assert len(fresh.alerts) == 1
    (refused,) = received(timeUnixNano=nothing).refused
    assert refused.detail == "a Kubernetes event without a time: it may be hours old"


def test_an_event_that_names_no_object_is_refused() -> None:
    (refused,) = received({"k8s.object.name": ""}).refused
    assert "names no object" in refused.detail


@pytest.mark.parametrize(
    ("path", "container"),
    [
        ("spec.containers{app}", "app"),
        ("spec.initContainers{migrate}", "migrate"),
        ("spec.ephemeralContainers{debug}", "debug"),
        ("spec.containers{app", ""),
        ("spec.containers{}", ""),
        ("", ""),
        ("spec.volumes{data}", ""),
    ],
)
def test_the_container_is_parsed_from_the_field_path(path: str, container: str) -> None:
    assert container_of(path) == container


def test_deleted_means_that_the_event_expired_and_is_no_end() -> None:
    assert "gone" in passed(watched(EVENT, "DELETED"))


def test_other_objects_and_notices_of_a_watch_are_passed_over() -> None:
    assert passed(watched({**EVENT, "kind": "Pod"})) == "a Kubernetes object that is no event"
    assert "gone" in passed(watched(EVENT, "BOOKMARK"))


def test_both_api_groups_and_both_ways_of_reading_them_say_the_same() -> None:
    new = {
        **{key: EVENT[key] for key in ("metadata", "kind", "type", "reason")},
        "apiVersion": "events.k8s.io/v1",
        "eventTime": None,
        "regarding": EVENT["involvedObject"],
        "note": EVENT["message"],
        "deprecatedCount": 3,
        "deprecatedLastTimestamp": EVENT["lastTimestamp"],
    }
    series = {**new, "deprecatedCount": None, "series": {"count": 3, "lastObservedTime": EVENT["lastTimestamp"]}}
    (pulled,) = attributes({"body": EVENT})
    alerts: list[Alert] = [
        *watched(EVENT).alerts,
        *watched(new).alerts,
        *watched(series).alerts,
        *decoded(logs(log({"k8s.resource.name": "events"}, body=pulled["value"]))).alerts,
        *decoded({"type": "ADDED", "object": EVENT}).alerts,
    ]
    assert len(alerts) == 5
    assert len({alert.model_copy(update={"wire": ""}).model_dump_json() for alert in alerts}) == 1


def test_the_cluster_of_the_collector_is_the_events() -> None:
    (alert,) = received({"k8s.cluster.name": "prod-eu1"}).alerts
    assert alert.cluster == "prod-eu1"
