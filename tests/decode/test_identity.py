"""Who an alert is, however it came and whatever churns around it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from handrail.core.correlate import arrival, episode, identity, labelled_target
from handrail.decode import decode
from handrail.model.alert import Alert
from tests.decode.quiet import QUIETLY
from tests.decode.records import AT, alert, example, record

SINCE = datetime(2026, 3, 2, 9, 30, 30, 123000, tzinfo=UTC)
POD = {
    "alertname": "KubePodCrashLooping",
    "namespace": "shop",
    "pod": "checkout-7d9-x2k9q",
    "container": "app",
    "uid": "0b7d4f2e-6d0c-4b0e",
    "job": "kube-state-metrics",
    "severity": "warning",
    "reason": "CrashLoopBackOff",
}
DEPLOYMENT = {"alertname": "KubeDeploymentReplicasMismatch", "namespace": "shop", "deployment": "api"}
CHURN = st.fixed_dictionaries(
    {},
    optional={
        key: st.text(min_size=1, max_size=12)
        for key in ("instance", "endpoint", "service", "prometheus", "prometheus_replica", "replica", "__replica__")
    },
)


def who(alert_: Alert) -> str:
    return identity(alert_, labelled_target(alert_), "prod-eu1")


def same(one: Alert, other: Alert) -> bool:
    return who(one) == who(other) and episode(one) == episode(other)


@QUIETLY
@given(CHURN, CHURN, st.randoms(use_true_random=False))
def test_churning_labels_and_their_order_change_nothing(
    one: dict[str, str], other: dict[str, str], dice: Random
) -> None:
    shuffled = list({**DEPLOYMENT, **other, "pod": "kps-kube-state-metrics-2"}.items())
    dice.shuffle(shuffled)
    first = alert({**DEPLOYMENT, **one, "pod": "kps-kube-state-metrics-1"}, starts_at=SINCE)
    assert same(first, alert(dict(shuffled), starts_at=SINCE))


@QUIETLY
@given(CHURN, CHURN)
def test_the_same_pods_alert_from_another_exporter_is_the_same(one: dict[str, str], other: dict[str, str]) -> None:
    one, other = ({**churn, "service": "kps-kube-state-metrics"} for churn in (one, other))
    assert same(alert({**POD, **one}, starts_at=SINCE), alert({**POD, **other}, starts_at=SINCE))


def test_a_new_address_of_state_metrics_starts_no_second_incident() -> None:
    """kubernetes-mixin #843: all old KubeJobFailed alerts fired again."""
    labels = {"alertname": "KubeJobFailed", "namespace": "shop", "job_name": "nightly-1", "job": "kube-state-metrics"}
    one, other = (alert({**labels, "instance": ip}, starts_at=SINCE) for ip in ("10.0.0.1:8443", "10.0.0.9:8443"))
    assert same(one, other)


def test_pods_of_one_name_in_two_namespaces_differ() -> None:
    assert who(alert(POD)) != who(alert({**POD, "namespace": "bank"}))


def test_deployments_of_one_name_in_two_namespaces_differ() -> None:
    assert who(alert(DEPLOYMENT)) != who(alert({**DEPLOYMENT, "namespace": "bank"}))


def test_a_name_that_begins_with_another_differs() -> None:
    assert who(alert(DEPLOYMENT)) != who(alert({**DEPLOYMENT, "deployment": "api-v2"}))


def test_two_alerts_of_one_object_and_one_alert_of_two_clusters_differ() -> None:
    assert who(alert(DEPLOYMENT)) != who(alert(DEPLOYMENT, name="KubeDeploymentRolloutStuck"))
    assert who(alert({**DEPLOYMENT, "cluster": "prod-us1"})) != who(alert(DEPLOYMENT))


def test_an_alert_without_a_cluster_is_of_the_daemons_own() -> None:
    assert who(alert({**DEPLOYMENT, "cluster": "prod-eu1"})) == who(alert(DEPLOYMENT))


def test_an_older_pod_of_the_same_name_is_another_story() -> None:
    firing, resolved = decode(record(example("traps/am_reused_statefulset_pod_name.json"))).alerts
    assert who(firing) != who(resolved)


def test_a_warning_that_becomes_critical_is_the_same_thing_in_another_episode() -> None:
    warning, critical = decode(record(example("traps/am_same_pvc_warning_and_critical.json"))).alerts
    assert who(warning) == who(critical)
    assert episode(warning) != episode(critical)


def test_firing_and_resolved_are_of_one_episode() -> None:
    firing, resolved = decode(record(example("otlp_logs_alert.pb"))).alerts
    assert same(firing, resolved)


def test_without_a_target_two_services_are_not_one_thing() -> None:
    """keep #5370: a fingerprint of the name alone merged them."""
    one, other = (alert({"alertname": "HighErrorRate", "namespace": "shop", "service": s}) for s in ("api", "cart"))
    probes = [
        alert({"alertname": "ProbeFailed", "job": "blackbox", "instance": url}) for url in ("http://a", "http://b")
    ]
    assert len({who(each) for each in (one, other, *probes)}) == 4


def test_the_start_counts_to_the_whole_second() -> None:
    def began(at: datetime) -> str:
        return episode(alert(DEPLOYMENT, starts_at=at))

    assert began(SINCE) == began(SINCE.replace(microsecond=999999))
    assert began(SINCE) != began(SINCE + timedelta(seconds=1))


def test_without_a_start_the_time_it_was_seen_stands_in() -> None:
    assert episode(alert(DEPLOYMENT)) == episode(alert(DEPLOYMENT, starts_at=AT))


def test_an_arrival_says_all_of_it_at_once() -> None:
    one = alert(POD, starts_at=SINCE)
    came = arrival(one, "prod-eu1", ())
    assert (came.alert, came.target) == (one, labelled_target(one))
    assert (came.identity, came.episode) == (who(one), episode(one))
