"""Public cases in which a concrete input made automation misbehave: the part of each that intake decides.

What follows of an identity, an episode and a state (one run per episode, hold-down, owners) is tested where it is done.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from handrail.core.correlate import arrival
from handrail.decode import decode
from handrail.model.arrival import Arrival
from handrail.model.record import Record
from tests.decode.records import AT, decoded, example, fired, record, webhook

LABELS = {
    "alertname": "KubePodCrashLooping",
    "namespace": "shop",
    "pod": "checkout-7d9c-x2k9q",
    "container": "app",
    "uid": "0b7d4f2e-6d0c",
    "job": "kube-state-metrics",
    "instance": "10.0.0.1:8443",
}
SOON = datetime(2026, 3, 2, 9, 16, tzinfo=UTC)


def came(value: Any, at: datetime = AT) -> list[Arrival]:
    """What intake makes of a document, or of a record."""
    one = value if isinstance(value, Record) else record(json.dumps(value).encode(), at=at)
    return [arrival(alert, "prod-eu1", ()) for alert in decode(one).alerts]


def sent(labels: dict[str, str] = LABELS, at: datetime = AT, **over: Any) -> Arrival:
    """One alert in a webhook of its own."""
    (one,) = came(webhook(fired(labels, **over)), at)
    return one


def episodes(arrivals: Sequence[Arrival]) -> int:
    assert len({one.identity for one in arrivals}) == 1
    return len({one.episode for one in arrivals})


def test_a1_alertmanager_4008_a_late_firing_of_an_ha_pair_is_the_episode_that_was_resolved() -> None:
    resolved = sent(status="resolved", endsAt="2026-03-02T09:40:00Z")
    late = sent(at=AT + timedelta(seconds=1))
    assert episodes([resolved, late]) == 1
    assert (resolved.alert.status, late.alert.status) == ("resolved", "firing")


def test_a2_alertmanager_3551_contradicting_peers_talk_of_one_episode() -> None:
    contradicting = [sent(), sent(status="resolved"), sent(), sent(status="resolved")]
    assert episodes(contradicting) == 1
    assert episodes([*contradicting, sent(startsAt="2026-03-02T09:44:00Z")]) == 2, "a later start is another"


def test_a4_prometheus_5277_a_false_resolve_and_the_firing_after_it_are_one_episode() -> None:
    assert episodes([sent(), sent(status="resolved", endsAt="2026-03-02T09:44:00Z"), sent()]) == 1


def test_a5_uptrace_241_a_post_without_an_end_fires_and_the_time_out_that_follows_is_only_data() -> None:
    posted, timed_out = came([{"labels": LABELS, "startsAt": "2026-03-02T09:30:00Z"}])[0], sent(status="resolved")
    assert (posted.alert.status, posted.alert.ends_at) == ("firing", None)
    assert posted.identity == timed_out.identity


def test_a6_alertmanager_1063_an_alert_that_is_never_resolved_has_one_episode_a_start() -> None:
    first = [sent(at=AT + timedelta(hours=hours)) for hours in range(3)]
    assert episodes(first) == 1
    assert episodes([*first, sent(startsAt="2026-03-02T12:00:00Z")]) == 2


def test_a7_alertmanager_891_resolved_of_what_never_fired_is_taken_as_it_is() -> None:
    one = sent(status="resolved", endsAt="2026-03-02T09:40:00Z")
    assert (one.alert.status, str(one.alert.ends_at)) == ("resolved", "2026-03-02 09:40:00+00:00")


def test_a8_kubernetes_mixin_843_a_new_exporter_pod_makes_no_new_alert() -> None:
    labels = {"alertname": "KubeJobFailed", "namespace": "shop", "job_name": "x", "job": "kube-state-metrics"}
    churn = [
        {"instance": f"10.0.0.{n}:8443", "pod": f"ksm-{n}", "endpoint": f"e{n}", "prometheus_replica": f"p-{n}"}
        for n in range(3)
    ]
    assert episodes([sent({**labels, **each}) for each in churn]) == 1


def test_a9_keep_5370_alerts_of_one_name_are_never_one_thing_for_that() -> None:
    pulled = came([{"labels": {"alertname": "Down", "env_dc": dc}} for dc in ("fra", "ams")])
    pushed = [sent({"alertname": "Down", "env_dc": dc}) for dc in ("fra", "ams")]
    assert len({one.identity for one in pulled}) == 2
    assert [one.identity for one in pulled] == [one.identity for one in pushed], "the same rule on every path"


def test_a11_keep_5251_a_repeat_is_the_same_episode() -> None:
    assert episodes([sent(at=AT + timedelta(hours=12 * n)) for n in range(4)]) == 1


def test_a12_kubernaut_63_twenty_alerts_of_one_workload_each_name_what_leads_to_its_owner() -> None:
    pods = [f"checkout-7d9c-{n}" for n in range(5)]
    names = ("KubePodCrashLooping", "KubePodNotReady", "KubeContainerWaiting")
    arrivals = [sent({**LABELS, "alertname": name, "pod": pod, "uid": ""}) for name in names for pod in pods]
    arrivals.append(
        sent({"alertname": "KubeDeploymentReplicasMismatch", "namespace": "shop", "deployment": "checkout"})
    )
    assert {str(one.target) for one in arrivals} == {f"Pod shop/{pod}" for pod in pods} | {"Deployment shop/checkout"}
    assert len({one.identity for one in arrivals}) == len(arrivals)


def test_a13_keep_5111_our_own_dead_letters_are_never_taken_for_news() -> None:
    letter = record(json.dumps(webhook(fired(LABELS))).encode(), (("handrail.reason", b"MALFORMED"),))
    found = decode(letter)
    assert (found.alerts, found.refused) == ((), ())
    assert [part.what for part in found.passed] == ["a dead letter of Handrail's own"]


def test_a14_collector_contrib_45897_an_event_sent_again_is_the_same_episode_and_an_old_one_is_nothing() -> None:
    value = example("otlp_logs_k8sevents_eventsv1.pb")
    first, copy = (came(record(value, at=SOON + timedelta(minutes=n)))[0] for n in (0, 5))
    assert episodes([first, copy]) == 1
    assert came(record(value, at=SOON + timedelta(hours=3))) == []


def test_b15_ankhmorpork_548_the_job_is_the_target_and_never_the_exporters_pod() -> None:
    (one,) = came(record(example("traps/am_pod_label_is_kube_state_metrics.json")))
    assert str(one.target) == "Job shop/nightly-29328720"


def test_b16_kubernetes_mixin_728_what_was_exported_wins_over_the_exporter() -> None:
    (one,) = came(record(example("traps/am_honor_labels_false_exported.json")))
    assert one.target is not None
    assert (str(one.target), one.target.container) == ("Pod shop/checkout-7d9c5b8f6d-x2k9q", "app")


def test_b17_kubernaut_693_a_pods_name_is_never_cut_into_a_workloads() -> None:
    assert str(sent({**LABELS, "pod": "worker-77784c6cf7-abcde"}).target) == "Pod shop/worker-77784c6cf7-abcde"


def test_b18_kubernaut_2018_an_older_alert_of_the_cluster_is_another_thing_in_another_episode() -> None:
    one, older = sent(), sent({"alertname": "CDIDefaultStorageClassDegraded", "namespace": "cdi"})
    assert one.identity != older.identity
    assert one.episode != older.episode


def test_b21_kubernetes_64923_a_new_pod_of_an_old_name_is_another_thing() -> None:
    assert sent().identity != sent({**LABELS, "uid": "ffffffff-0000"}).identity


def test_a_snapshot_that_was_cut_says_what_it_holds_and_nothing_of_the_rest() -> None:
    found = decoded(json.loads(example("traps/am_truncated_group.json")))
    assert [(alert.status, alert.left_out) for alert in found.alerts] == [("firing", 137)]
