"""Grafana: what it says of missing data is about no object, and what it says for another reason is no recovery."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.core.correlate import labelled_target
from tests.decode.records import decoded, fired, webhook

LABELS = {"alertname": "Checkout 5xx ratio", "namespace": "shop", "deployment": "checkout"}


def sent(alert: dict[str, Any]) -> dict[str, Any]:
    return webhook(alert, version="1", orgId=1)


def test_its_times_carry_the_senders_own_offset() -> None:
    (alert,) = decoded(sent(fired(LABELS, startsAt="2026-03-02T10:16:00+02:00"))).alerts
    assert str(alert.starts_at) == "2026-03-02 08:16:00+00:00"
    assert str(labelled_target(alert)) == "Deployment shop/checkout"


@pytest.mark.parametrize("name", ["DatasourceNoData", "DatasourceError"])
def test_an_alert_about_missing_data_has_no_target_though_the_rule_names_an_object(name: str) -> None:
    labels = {**LABELS, "alertname": name, "rulename": "Checkout 5xx ratio"}
    (alert,) = decoded(sent(fired(labels, annotations={"grafana_state_reason": "NoData"}))).alerts
    assert labelled_target(alert) is None


@pytest.mark.parametrize("reason", ["NoData", "Error", "NoData, KeepLast"])
def test_an_alert_that_fires_because_data_is_missing_has_no_target_either(reason: str) -> None:
    (alert,) = decoded(sent(fired(LABELS, annotations={"grafana_state_reason": reason}))).alerts
    assert (alert.name, labelled_target(alert)) == ("Checkout 5xx ratio", None)


@pytest.mark.parametrize("reason", ["MissingSeries", "NoData", "Paused", "Updated", "RuleDeleted"])
def test_resolved_for_another_reason_is_no_recovery(reason: str) -> None:
    found = decoded(sent(fired(LABELS, status="resolved", annotations={"grafana_state_reason": reason})))
    assert (found.alerts, found.refused) == ((), ())
    assert [part.count for part in found.passed] == [1]


def test_resolved_without_another_reason_is_one() -> None:
    (alert,) = decoded(sent(fired(LABELS, status="resolved"))).alerts
    assert alert.status == "resolved"
