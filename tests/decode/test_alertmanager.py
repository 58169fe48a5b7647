"""Alertmanager's webhooks and lists: the traps that made others lose, or misread, a whole group."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from handrail.model.reason import Reason
from tests.decode.records import decoded, fired, webhook


@pytest.mark.parametrize(
    "missing",
    ["fingerprint", "endsAt", "startsAt", "generatorURL", "annotations"],
)
def test_an_alert_without_that_field_or_with_a_null_is_read(missing: str) -> None:
    bare = {key: value for key, value in fired().items() if key != missing}
    found = decoded(webhook(bare, {**bare, missing: None}))
    assert [alert.name for alert in found.alerts] == ["KubeDeploymentReplicasMismatch"] * 2
    assert found.refused == ()


def test_a_group_without_group_key_or_version_is_read() -> None:
    group = webhook(fired())
    del group["groupKey"], group["version"]
    assert len(decoded(group).alerts) == 1


def test_a_fingerprint_that_is_no_ascii_does_no_harm() -> None:
    assert len(decoded(webhook(fired(fingerprint="fïngérprint"))).alerts) == 1


@pytest.mark.parametrize("bad", [None, 7, "text", [], {}, {"labels": None}, {"labels": {"alertname": ""}}])
def test_one_bad_alert_does_not_cost_its_neighbours(bad: object) -> None:
    found = decoded(webhook(fired(), bad, fired()))
    assert len(found.alerts) == 2
    (refused,) = found.refused
    assert refused.index == 1
    assert refused.reason in (Reason.MALFORMED, Reason.NO_ALERT_NAME)


def test_an_alert_without_a_name_is_refused_for_that() -> None:
    (refused,) = decoded(webhook(fired({"namespace": "shop"}))).refused
    assert refused.reason is Reason.NO_ALERT_NAME


def test_each_alert_has_its_own_status_whatever_the_group_says() -> None:
    found = decoded(webhook(fired(), fired(status="resolved", endsAt="2026-03-02T09:40:00Z"), status="firing"))
    assert [alert.status for alert in found.alerts] == ["firing", "resolved"]


def test_a_status_word_is_read_in_any_case_and_an_unknown_one_refused() -> None:
    found = decoded(webhook(fired(status="RESOLVED"), fired(status="pending")))
    assert [alert.status for alert in found.alerts] == ["resolved"]
    assert [(part.reason, part.index) for part in found.refused] == [(Reason.MALFORMED, 1)]


def test_an_alert_without_a_status_in_a_resolved_group_never_counts_as_firing() -> None:
    bare = fired()
    del bare["status"]
    (alert,) = decoded(webhook(bare, status="resolved")).alerts
    assert alert.status == "resolved"


def test_without_a_status_an_end_that_has_passed_is_a_resolve_and_one_to_come_is_not() -> None:
    past, future = ({"labels": {"alertname": "A"}, "endsAt": f"2026-03-02T{clock}:00Z"} for clock in ("09:44", "09:46"))
    found = decoded([past, future])
    assert [(alert.status, alert.ends_at) for alert in found.alerts] == [
        ("resolved", datetime(2026, 3, 2, 9, 44, tzinfo=UTC)),
        ("firing", None),
    ]


def test_a_silenced_alert_of_the_api_is_no_alert() -> None:
    silenced = {"labels": {"alertname": "A"}, "status": {"state": "suppressed", "silencedBy": ["x"]}}
    (refused,) = decoded([silenced]).refused
    assert (refused.reason, refused.detail) == (Reason.NO_ALERT, "silenced or inhibited in Alertmanager")


def test_an_empty_group_holds_no_alert() -> None:
    (refused,) = decoded(webhook()).refused
    assert refused.reason is Reason.NO_ALERT


def test_a_list_of_webhooks_is_read_as_one_batch() -> None:
    assert len(decoded([webhook(fired()), webhook(fired(), fired())]).alerts) == 3


def test_a_webhook_of_another_version_is_named_and_refused() -> None:
    (refused,) = decoded(webhook(fired(), version="5")).refused
    assert refused.reason is Reason.UNKNOWN_FORMAT
    assert refused.detail.startswith("an alert group of version '5': version 4 of Alertmanager's")


@pytest.mark.parametrize(
    ("said", "kept"),
    [("Warning", "warning"), ("CRITICAL", "critical"), (" warn ", "warning"), ("page-me", ""), (None, ""), (3, "")],
)
def test_severity_is_one_of_our_words_or_empty(said: object, kept: str) -> None:
    (alert,) = decoded(webhook(fired({"alertname": "A", "severity": said}))).alerts
    assert alert.severity == kept


def test_values_of_other_types_become_text_and_empty_labels_are_no_labels() -> None:
    labels = {"alertname": "A", "n": 7, "f": 1.5, "yes": True, "none": None, "empty": "", "map": {"a": [1]}}
    (alert,) = decoded(webhook(fired(labels))).alerts
    assert alert.labels == {"alertname": "A", "n": "7", "f": "1.5", "yes": "true", "map": '{"a": [1]}'}


def test_the_cluster_is_that_of_the_alert() -> None:
    one, other = fired({"alertname": "A", "cluster": "prod-eu1"}), fired({"alertname": "A", "cluster": ""})
    assert [alert.cluster for alert in decoded(webhook(one, other)).alerts] == ["prod-eu1", ""]


def test_json_in_a_json_string_is_read_twice_and_not_three_times() -> None:
    once = json.dumps(webhook(fired()))
    assert len(decoded(json.dumps(once).encode()).alerts) == 1
    (refused,) = decoded(json.dumps(json.dumps(once)).encode()).refused
    assert (refused.reason, refused.detail) == (Reason.UNKNOWN_FORMAT, "a JSON str")


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n", b"\n  ", b"\r\n\t"])
def test_json_after_a_byte_order_mark_or_an_empty_line_is_read(before: bytes) -> None:
    assert len(decoded(before + json.dumps(webhook(fired())).encode()).alerts) == 1


@pytest.mark.parametrize(
    ("said", "left_out"),
    [(0, 0), (3, 3), (10**30, 1_000_000), (-1, 0), ("3", 0), (True, 0), (2.5, 0), (None, 0), ([3], 0)],
)
def test_how_many_alerts_were_cut_off_is_a_bounded_number_or_nothing(said: object, left_out: int) -> None:
    found = decoded({**webhook(fired(), fired()), "truncatedAlerts": said})
    assert [alert.left_out for alert in found.alerts] == [left_out, left_out]
