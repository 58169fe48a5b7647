"""CloudEvents: the envelope is opened, and what is inside is decoded as what it is."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from handrail.core.correlate import episode
from handrail.decode import decode
from handrail.model.alert import Alert
from handrail.model.record import Decoded
from tests.decode.records import decoded, example, fired, log, logs, record, webhook

ATTRIBUTES = {"id": "1", "source": "/am", "specversion": "1.0", "type": "com.example.alert.firing.v1"}
PLAIN = {"alertname": "KubePodNotReady", "labels": {"namespace": "shop", "pod": "api-0"}}


def event(data: Any = PLAIN, **over: Any) -> dict[str, Any]:
    return {**ATTRIBUTES, "data": data, **over}


def binary(value: bytes, **over: str) -> Decoded:
    words = {**{f"ce_{key}": text for key, text in ATTRIBUTES.items()}, **over}
    headers = tuple((key.replace("_type_", "-"), text.encode()) for key, text in words.items() if text)
    return decode(record(value, headers))


def one(found: Decoded) -> Alert:
    assert found.refused == ()
    (alert,) = found.alerts
    return alert


def test_the_type_says_the_state_where_the_data_does_not() -> None:
    assert one(decoded(event())).status == "firing"
    assert one(decoded(event(type="io.example.RESOLVED"))).status == "resolved"
    assert one(decoded(event({**PLAIN, "state": "resolved"}))).status == "resolved"
    (refused,) = decoded(event(type="com.example.alert")).refused
    assert refused.detail == "has no status"


@pytest.mark.parametrize(
    ("data", "wire"),
    [
        (webhook(fired()), "cloudevents+alertmanager"),
        (json.dumps(webhook(fired())), "cloudevents+alertmanager"),
        (webhook(fired(), version="1", orgId=1), "cloudevents+grafana"),
        ([fired()], "cloudevents+alertmanager"),
        ([PLAIN], "cloudevents+json"),
        (logs(log({"alert.name": "A", "alert.state": "firing"})), "cloudevents+otlp_json"),
    ],
)
def test_the_data_is_decoded_as_what_it_is(data: Any, wire: str) -> None:
    assert one(decoded(event(data))).wire == wire
    if not isinstance(data, str):
        assert one(binary(json.dumps(data).encode())).wire == wire


def test_data_in_base64_is_read() -> None:
    packed = base64.b64encode(json.dumps(PLAIN).encode()).decode()
    assert one(decoded({**ATTRIBUTES, "data_base64": packed})).name == "KubePodNotReady"
    (refused,) = decoded({**ATTRIBUTES, "data_base64": "%%%"}).refused
    assert refused.detail == "a CloudEvent whose data_base64 is no base64"


def test_otlp_protobuf_in_an_event_is_read() -> None:
    headers = {"content-type": "application/x-protobuf"}
    found = binary(example("otlp_logs_alert.pb"), **headers)
    assert [alert.wire for alert in found.alerts] == ["cloudevents+otlp_proto"] * 2


@pytest.mark.parametrize("kind", ["application/json", "application/vnd.x+json; charset=utf-8", "TEXT/JSON", ""])
def test_data_is_json_by_its_content_type_or_without_one(kind: str) -> None:
    assert one(binary(json.dumps(PLAIN).encode(), **{"content-type": kind})).name == "KubePodNotReady"


def test_data_of_another_type_is_refused_with_the_types_that_are_read() -> None:
    (refused,) = binary(b"<xml/>", **{"content-type": "application/xml"}).refused
    assert refused.detail == "a CloudEvent with data of type 'application/xml': JSON and OTLP protobuf are read"


@pytest.mark.parametrize("missing", ["id", "source", "type"])
def test_an_event_without_a_required_attribute_is_malformed(missing: str) -> None:
    (refused,) = decoded(event(**{missing: None})).refused
    assert str(refused.reason) == "MALFORMED"
    (same,) = binary(b"{}", **{f"ce_{missing}": ""}).refused
    assert refused.detail == same.detail == f"a CloudEvent without {missing}"


def test_another_version_and_an_event_in_an_event_are_refused() -> None:
    (version,) = decoded(event(specversion="0.3")).refused
    assert version.detail == "a CloudEvent of specversion '0.3': 1.0 is read"
    (nested,) = decoded(event(event())).refused
    assert nested.detail == "a CloudEvent whose data is another CloudEvent"


@pytest.mark.parametrize("value", [None, b""])
def test_an_event_without_data_is_no_alert(value: bytes | None) -> None:
    headers = tuple((f"ce_{key}", text.encode()) for key, text in ATTRIBUTES.items())
    (refused,) = decode(record(value, headers)).refused
    assert refused.detail == "a CloudEvent without data"
    (structured,) = decoded(ATTRIBUTES).refused
    assert structured.detail == "a CloudEvent without data"


def test_the_same_event_is_the_same_episode_whenever_it_is_delivered() -> None:
    def delivered(minute: int, **over: str) -> str:
        value = json.dumps(event(**over)).encode()
        at = record(b"").at.replace(minute=minute)
        (alert,) = decode(record(value, at=at)).alerts
        return episode(alert)

    assert delivered(1) == delivered(7)
    assert delivered(1) != delivered(1, id="2")
    assert delivered(1) != delivered(1, source="/other")


def test_firing_and_resolved_of_one_start_are_one_episode_though_they_are_two_events() -> None:
    since = {**PLAIN, "startsAt": "2026-03-02T09:30:30Z"}
    fires, ends = one(decoded(event(since))), one(decoded(event({**since, "status": "resolved"}, id="2")))
    assert episode(fires) == episode(ends)


def test_the_traceparent_names_the_trace() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert one(decoded(event(traceparent=f"00-{trace}-00f067aa0ba902b7-01"))).trace_id == trace
    assert one(decoded(event(traceparent="nonsense"))).trace_id == ""
