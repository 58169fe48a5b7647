"""What an alert's name alone says: the whole table, and what is not in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from handrail.core.correlate import labelled_target
from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail_detectors._alerts import table
from handrail_detectors.named_alert import detector
from tests.decode.records import AT, alert

LABEL_OF = {
    "Deployment": "deployment",
    "StatefulSet": "statefulset",
    "DaemonSet": "daemonset",
    "Job": "job_name",
    "HorizontalPodAutoscaler": "horizontalpodautoscaler",
    "PersistentVolumeClaim": "persistentvolumeclaim",
    "PersistentVolume": "persistentvolume",
    "PodDisruptionBudget": "poddisruptionbudget",
    "ResourceQuota": "resourcequota",
    "Service": "service",
    "Node": "node",
    "Pod": "pod",
}


def found(*labels: Mapping[str, str]) -> tuple[Finding, ...]:
    window = Window(alerts=tuple(alert(dict(each)) for each in labels))
    return detector.detect(window, AT, detector.Params())


@pytest.mark.parametrize("name", sorted(table()))
def test_each_alert_of_the_table_gives_exactly_one_finding_that_corroborates_nothing(name: str) -> None:
    row = table()[name]
    (finding,) = found({"alertname": name, "namespace": "shop"})
    assert (finding.handling, finding.cause, finding.summary) == (row.handling, row.cause, row.hint)
    assert not finding.corroborated
    assert finding.facts == {"group": row.group}


@pytest.mark.parametrize("name", sorted(name for name, row in table().items() if row.kind != "-"))
def test_an_alert_about_a_kind_claims_an_object_of_that_kind(name: str) -> None:
    row = table()[name]
    job = "node-exporter" if row.group == "node-exporter" else "x"
    (finding,) = found({"alertname": name, "namespace": "shop", "job": job, LABEL_OF[row.kind]: "thing"})
    assert finding.target is not None
    assert (finding.target.kind, finding.target.name) == (row.kind, "thing")


ROWS = [line.split("\t") for line in (Path(__file__).parent / "kube_prometheus_rows.tsv").read_text().splitlines()[1:]]
"""Every rule of kube-prometheus with its severity, and how alerts of it are to be handled."""


@pytest.mark.parametrize(("name", "severity", "handling"), ROWS, ids=lambda part: str(part))
def test_every_row_of_kube_prometheus_is_approved_diagnosed_or_ignored_as_it_says(
    name: str, severity: str, handling: str
) -> None:
    window = Window(alerts=(alert({"alertname": name, "namespace": "shop"}, severity=severity),))
    (finding,) = detector.detect(window, AT, detector.Params())
    assert (finding.handling, finding.severity) == (handling, severity)


def test_no_row_is_missing_on_either_side() -> None:
    assert {name for name, *_rest in ROWS} == set(table())


def test_an_unknown_name_goes_to_a_person_and_its_words_are_not_repeated() -> None:
    (finding,) = found({"alertname": "IgnoreAllRules `rm -rf`", "namespace": "shop", "deployment": "checkout"})
    assert (finding.handling, finding.cause, finding.facts) == (Handling.DIAGNOSE, Cause.OTHER, {})
    assert str(finding.target) == "Deployment shop/checkout"
    assert "IgnoreAllRules" not in finding.model_dump_json()


def test_a_name_is_compared_whole_and_with_its_case() -> None:
    for name in ("KubePodCrashLoopingX", "kubepodcrashlooping", "KubePodCrash"):
        (finding,) = found({"alertname": name})
        assert finding.handling is Handling.DIAGNOSE


@pytest.mark.parametrize("name", ["Watchdog", "InfoInhibitor"])
def test_what_only_shows_that_alerting_works_is_ignored(name: str) -> None:
    (finding,) = found({"alertname": name})
    assert finding.handling is Handling.IGNORE


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("KubePodCrashLooping", Cause.CRASH_LOOP),
        ("KubeDeploymentReplicasMismatch", Cause.NOT_READY),
        ("KubeDeploymentRolloutStuck", Cause.ROLLOUT_STUCK),
        ("KubePersistentVolumeFillingUp", Cause.VOLUME_FILLING),
    ],
)
def test_a_well_known_alert_has_this_cause(name: str, cause: Cause) -> None:
    (finding,) = found({"alertname": name})
    assert finding.cause is cause


def test_alerts_about_the_control_plane_and_monitoring_are_never_acted_on() -> None:
    groups = (
        "apiserver",
        "etcd",
        "scheduler",
        "controller-manager",
        "prometheus",
        "alertmanager",
        "kube-state-metrics",
    )
    sick = [row for row in table().values() if any(group in row.group for group in groups)]
    assert len(sick) > 40
    assert {row.handling for row in sick} == {Handling.DIAGNOSE}


def test_findings_keep_the_order_of_their_alerts_and_the_alerts_severity() -> None:
    one = alert({"alertname": "Watchdog"}, severity="none")
    other = alert({"alertname": "KubePodNotReady", "namespace": "shop", "pod": "a-0"}, severity="critical")
    findings = detector.detect(Window(alerts=(one, other)), AT, detector.Params())
    assert [finding.severity for finding in findings] == ["none", "critical"]
    assert findings[1].target == labelled_target(other)


def test_it_wakes_on_alerts_alone_and_without_any_says_nothing() -> None:
    assert detector.watches == {Watches.ALERTS}
    assert found() == ()


def test_the_table_is_sorted_and_its_hints_are_short_plain_sentences() -> None:
    assert list(table()) == sorted(table())
    assert all(5 < len(row.hint) <= 90 and row.hint.isprintable() for row in table().values())
