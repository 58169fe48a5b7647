"""Which object an alert's labels claim: the traps of exporters, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.correlate import labelled_target
from tests.decode.quiet import QUIETLY
from tests.decode.records import alert

KSM = {
    "job": "kube-state-metrics",
    "instance": "10.42.3.166:8080",
    "pod": "kps-kube-state-metrics-558d744bfd-vwl88",
    "container": "kube-state-metrics",
    "service": "kps-kube-state-metrics",
    "endpoint": "http",
}
NODE_EXPORTER = {
    "job": "node-exporter",
    "namespace": "monitoring",
    "pod": "node-exporter-x7k2p",
    "container": "node-exporter",
}


def target(**labels: str) -> str:
    return str(labelled_target(alert(labels)))


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("deployment", "Deployment"),
        ("statefulset", "StatefulSet"),
        ("daemonset", "DaemonSet"),
        ("job_name", "Job"),
        ("cronjob", "CronJob"),
        ("horizontalpodautoscaler", "HorizontalPodAutoscaler"),
        ("persistentvolumeclaim", "PersistentVolumeClaim"),
        ("poddisruptionbudget", "PodDisruptionBudget"),
        ("resourcequota", "ResourceQuota"),
    ],
)
def test_the_exporters_own_pod_never_hides_the_object(label: str, kind: str) -> None:
    assert target(**KSM, alertname="Any", namespace="shop", **{label: "web"}) == f"{kind} shop/web"


def test_the_scrape_job_is_never_a_job() -> None:
    assert target(alertname="Any", namespace="shop", job="nightly-1") == "None"
    assert target(alertname="Any", namespace="shop", job="api", exported_job="nightly-1") == "None"


@pytest.mark.parametrize("name", ["KubePodCrashLooping", "KubePodNotReady", "KubeContainerWaiting"])
def test_in_an_alert_about_pods_the_pod_is_the_target_though_state_metrics_reports_it(name: str) -> None:
    labels = {**KSM, "pod": "checkout-7d9-x2k9q", "container": "app", "deployment": "checkout"}
    found = labelled_target(alert({**labels, "alertname": name, "namespace": "shop", "uid": "0b7d4f2e-6d0c"}))
    assert found is not None
    assert (str(found), found.container, found.uid) == ("Pod shop/checkout-7d9-x2k9q", "app", "0b7d4f2e-6d0c")


def test_state_metrics_own_pod_can_be_ill_too() -> None:
    assert target(alertname="KubePodCrashLooping", namespace="monitoring", **KSM) == f"Pod monitoring/{KSM['pod']}"


def test_the_exporters_pod_alone_is_no_target() -> None:
    assert target(alertname="KubeStateMetricsListErrors", namespace="monitoring", **KSM) == "None"
    assert target(alertname="Any", namespace="monitoring", pod="x", container="kube-rbac-proxy-main") == "None"


def test_a_rule_of_ones_own_on_pod_metrics_means_the_pod_since_only_those_carry_a_uid() -> None:
    labels = {**KSM, "pod": "checkout-x", "container": "app", "namespace": "shop", "alertname": "RestartsTooOften"}
    assert target(**labels) == "None"
    assert target(**labels, uid="0b7d4f2e-6d0c-4b0e") == "Pod shop/checkout-x"


def test_what_was_exported_wins_over_the_exporters_own() -> None:
    moved = {"exported_namespace": "shop", "exported_pod": "checkout-x", "exported_container": "app"}
    found = labelled_target(alert({**KSM, **moved, "namespace": "monitoring", "alertname": "KubePodCrashLooping"}))
    assert found is not None
    assert (str(found), found.container) == ("Pod shop/checkout-x", "app")
    assert (
        target(**KSM, alertname="Any", namespace="monitoring", exported_namespace="shop", deployment="web")
        == "Deployment shop/web"
    )


def test_the_exporters_container_is_not_the_exported_pods() -> None:
    moved = {"exported_namespace": "shop", "exported_pod": "checkout-x"}
    found = labelled_target(alert({**KSM, **moved, "namespace": "monitoring", "alertname": "KubePodNotReady"}))
    assert found is not None
    assert found.container == ""


@pytest.mark.parametrize(
    ("instance", "node"),
    [
        ("10.0.3.17:9100", "10.0.3.17"),
        ("ip-10-0-3-17.eu-west-1.compute.internal", "ip-10-0-3-17.eu-west-1.compute.internal"),
        ("worker-1:9100", "worker-1"),
        ("[fd00::17]:9100", "fd00::17"),
    ],
)
def test_node_exporter_speaks_of_the_node_and_not_of_its_own_pod(instance: str, node: str) -> None:
    assert target(**NODE_EXPORTER, alertname="NodeFilesystemAlmostOutOfSpace", instance=instance) == f"Node {node}"


def test_node_exporters_own_pod_and_set_can_be_ill_too() -> None:
    pod = {"namespace": "monitoring", "pod": "node-exporter-x7k2p", "container": "node-exporter"}
    assert (
        target(alertname="KubePodCrashLooping", job="kube-state-metrics", **pod) == "Pod monitoring/node-exporter-x7k2p"
    )
    assert target(alertname="CPUThrottlingHigh", job="kubelet", **pod) == "Pod monitoring/node-exporter-x7k2p"
    assert target(**KSM, alertname="Any", namespace="monitoring", daemonset="node-exporter") == (
        "DaemonSet monitoring/node-exporter"
    )


def test_a_volume_claim_comes_before_the_node_it_is_mounted_on() -> None:
    labels = {"namespace": "shop", "node": "n1", "job": "kubelet", "instance": "10.0.3.17:10250", "service": "kubelet"}
    assert target(alertname="KubePersistentVolumeFillingUp", persistentvolumeclaim="data-0", **labels) == (
        "PersistentVolumeClaim shop/data-0"
    )
    assert target(alertname="KubeletTooManyPods", **labels) == "Node n1"


def test_a_volume_without_a_namespace_and_a_service_that_is_down() -> None:
    assert (
        target(alertname="KubePersistentVolumeErrors", persistentvolume="pv-7", phase="Failed")
        == "PersistentVolume pv-7"
    )
    assert target(alertname="TargetDown", namespace="shop", service="api", job="api") == "Service shop/api"
    assert target(alertname="HighErrorRate", namespace="shop", service="api") == "None"


def test_two_workloads_in_one_alert_are_no_target() -> None:
    assert target(alertname="Any", namespace="shop", deployment="a", statefulset="b") == "None"


def test_without_a_namespace_there_is_no_namespaced_target() -> None:
    assert target(alertname="Any", deployment="checkout") == "None"


@pytest.mark.parametrize(
    "name",
    ["../nodes/n1", "a b", "Checkout", "a/b", "a%2Fb", "x" * 254, "-a", "a-", "a\ufffdpi", "а"],
)
def test_what_is_no_kubernetes_name_is_no_target(name: str) -> None:
    assert target(alertname="Any", namespace="shop", deployment=name) == "None"
    assert target(alertname="Any", namespace=name, deployment="checkout") == "None"
    assert target(alertname="Any", node=name) == "None"


def test_a_uid_or_container_that_is_none_is_left_out() -> None:
    labels = {"alertname": "KubePodCrashLooping", "namespace": "shop", "pod": "a-0"}
    found = labelled_target(alert({**labels, "uid": "../x", "container": "a b"}))
    assert found is not None
    assert (found.uid, found.container) == ("", "")


LABELS = st.dictionaries(
    st.sampled_from(["alertname", "namespace", "pod", "deployment", "job", "node", "uid", "instance", "exported_pod"]),
    st.text(max_size=20),
)


@QUIETLY
@given(LABELS)
def test_any_labels_give_a_target_or_none(labels: dict[str, str]) -> None:
    found = labelled_target(alert(labels, name="A"))
    assert found is None or found.name
