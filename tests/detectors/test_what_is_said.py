"""What each detector says of its recorded windows: the cause, how it is handled, and what the planner is handed."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.model.detector import Detector, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail_detectors import catalogue
from tests.detectors.recorded import RECORDED, killed
from tests.detectors.things import event, healthy, member, node, on_node, orders, scaler, unready
from tests.detectors.windows import NOW, crashing, running, state, template, unpullable, well
from tests.factories import an_alert

HOSTILE = ("KubeAPIDown\x1b[31m", "`handrail start` KubeAPIDown", "<!channel> KubeAPIDown", "KubeAPIDown\n" * 50)

A, D = Handling.APPROVE, Handling.DIAGNOSE
DETECTORS = {detector.name: detector for detector in catalogue()}

SAID: list[tuple[str, str, Cause, Handling, dict[str, Any]]] = [
    ("crash_loop", "newest revision", Cause.BAD_REVISION_CRASHES, A, {"bad_revision": 2, "healthy_revision": 1}),
    ("crash_loop", "all revisions", Cause.CRASH_LOOP, D, {"doubt": "all_revisions", "container": "app"}),
    ("crash_loop", "bare pod", Cause.CRASH_LOOP, D, {"doubt": "no_controller", "exit_code": 1}),
    ("crash_loop", "events", Cause.CRASH_LOOP, A, {"reason": "BackOff", "times": 5}),
    ("image_pull", "newest revision", Cause.BAD_REVISION_IMAGE, A, {"bad_revision": 2, "reason": "ImagePullBackOff"}),
    ("image_pull", "bare pod", Cause.IMAGE_PULL, D, {"doubt": "no_controller"}),
    ("image_pull", "events", Cause.NOT_READY, A, {"times": 3}),
    ("oom_killed", "killed", Cause.OUT_OF_MEMORY, D, {"container": "app", "memory_limit": "128Mi", "restarts": 3}),
    ("oom_killed", "named by the node", Cause.OUT_OF_MEMORY, D, {"container": "app"}),
    ("rollout_stuck", "a StatefulSet", Cause.BAD_REVISION_STUCK, A, {"bad_revision": 2, "healthy_revision": 1}),
    ("rollout_stuck", "no older one ready", Cause.ROLLOUT_STUCK, D, {"doubt": "no_healthy_older_revision"}),
    ("rollout_stuck", "paused half-way", Cause.ROLLOUT_PAUSED, A, {"paused_by": ""}),
    ("unschedulable", "waits", Cause.CAPACITY, D, {"pods": 1, "ready": 2}),
    ("unschedulable", "events", Cause.CAPACITY, D, {"times": 3}),
    ("probe_failures", "one hangs", Cause.POD_DEADLOCKED, A, {"pod": "orders-1", "ready": 2}),
    ("probe_failures", "all", Cause.NOT_READY, D, {"pods": 3, "ready": 0}),
    ("node_sick", "silent", Cause.NODE_NOT_READY, A, {"ready": "Unknown"}),
    ("node_sick", "says so", Cause.NODE_NOT_READY, A, {"ready": "False", "pods": 1}),
    ("node_sick", "pressure", Cause.NODE_PRESSURE, D, {"pressure": "DiskPressure"}),
    ("autoscaler", "at most", Cause.HPA_AT_MAX, A, {"max": 10, "wanted": 10}),
    ("autoscaler", "blind", Cause.HPA_BLIND, D, {"reason": "FailedGetResourceMetric"}),
    ("volume_claim", "not provisioned", Cause.VOLUME_PENDING, D, {"phase": "Pending", "reason": "ProvisioningFailed"}),
    ("volume_claim", "lost", Cause.VOLUME_PENDING, D, {"phase": "Lost"}),
    ("volume_claim", "filling", Cause.VOLUME_FILLING, D, {"capacity": "20Gi"}),
    ("job_failed", "failed", Cause.JOB_FAILED, D, {"job": "report-29", "later_success": False, "failed_pods": 7}),
    ("job_failed", "a later run did well", Cause.JOB_FAILED, D, {"job": "r-1", "later_success": True}),
    ("evicted_corpses", "about one", Cause.EVICTED_CORPSES, A, {"corpses": 3}),
    ("creation_blocked", "quota", Cause.CREATION_BLOCKED, D, {"refused_by": "quota", "missing": 2}),
    ("creation_blocked", "by events", Cause.CREATION_BLOCKED, D, {"refused_by": "other"}),
    ("creation_blocked", "quota object", Cause.CREATION_BLOCKED, D, {"full": "pods"}),
    ("expected_signal", "silent", Cause.SIGNAL_GONE, D, {"signal": "NightlyBackupDone", "silent_minutes": 20}),
    ("expected_signal", "never seen", Cause.SIGNAL_GONE, D, {"ever_seen": False}),
    ("watchdog_gone", "silent", Cause.MONITORING_GONE, D, {"signal": "Watchdog"}),
    ("control_plane_sick", "an alert", Cause.CONTROL_PLANE_SICK, D, {"alert": "KubeAPIDown"}),
    ("control_plane_sick", "many nodes", Cause.CONTROL_PLANE_SICK, D, {"ill": 2, "nodes": 5}),
]


def one(name: str, window: Window) -> Finding:
    detector = DETECTORS[name]
    (finding,) = detector.detect(window, NOW, detector.Params())
    return finding


@pytest.mark.parametrize(("name", "window", "cause", "handling", "facts"), SAID, ids=lambda part: str(part)[:24])
def test_cause_handling_and_facts(name: str, window: str, cause: Cause, handling: Handling, facts: Any) -> None:
    finding = one(name, RECORDED[name].firing[window])
    assert (finding.cause, finding.handling) == (cause, handling)
    assert facts.items() <= finding.facts.items()


def test_exit_code_137_without_the_kernels_word_is_never_called_out_of_memory() -> None:
    """robusta#1071: every termination was reported as OOMKilled."""
    detector = DETECTORS["oom_killed"]
    for reason in ("Error", "Completed", "ContainerStatusUnknown", "", "oomkilled"):
        assert detector.detect(killed(reason=reason), NOW, detector.Params()) == ()


def test_the_container_that_was_killed_is_named_and_not_its_neighbour() -> None:
    ended = {"exitCode": 137, "reason": "OOMKilled"}
    ill = member(1, well("proxy"), state(running(), last=ended, restarts=2, name="worker"))
    assert one("oom_killed", orders(ill)).facts["container"] == "worker"


@pytest.mark.parametrize(
    ("window", "doubt"),
    [
        (orders(*healthy("0"), member(1, crashing(), name="1")), "not_the_newest_revision"),
        (orders(member(2, crashing(), name="2")), "no_healthy_older_revision"),
        (orders(*healthy("0"), member(2, crashing()), newest={**template("registry.example/orders:1"), "metadata": {}}),
         "same_pod_spec"),
        (orders(*healthy("0"), member(2, well(), name="1"), member(2, crashing())), "revision_has_run_well"),
    ],
)  # fmt: skip
def test_a_revision_is_not_blamed_where_something_speaks_against_it(window: Window, doubt: str) -> None:
    finding = one("crash_loop", window)
    assert (finding.handling, finding.facts["doubt"]) == (D, doubt)


def test_an_image_that_the_healthy_revision_pulls_in_the_same_way_is_the_registrys_trouble() -> None:
    newest = template("registry.example/orders:1", command=["other"])
    window = orders(*healthy("0", "1"), member(2, unpullable(), name="2"), newest=newest)
    assert one("image_pull", window).facts["doubt"] == "same_image"


def test_a_daemonsets_pod_on_one_dead_node_is_no_fault_of_its_revision() -> None:
    runs = member(2, well(), name="1", kind="DaemonSet")
    held = member(2, unready(), name="2", kind="DaemonSet")
    window = orders(*healthy("0"), runs, held, kind="DaemonSet")
    assert one("rollout_stuck", window).facts["doubt"] == "one_node"


def test_a_pod_that_never_was_ready_is_no_hang() -> None:
    slow = member(2, state(running(NOW.isoformat())), name="1")
    window = orders(*healthy("0", "2", revision=2), slow)
    assert one("probe_failures", window).cause is Cause.NOT_READY


def test_a_node_that_others_work_on_is_theirs() -> None:
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-03-02T09:00:00Z"}
    taints = ("node.kubernetes.io/unreachable", "ToBeDeletedByClusterAutoscaler")
    finding = one("node_sick", on_node(node("node-1", silent, taints=taints)))
    assert (finding.handling, finding.facts["used_by"]) == (D, "the cluster autoscaler")


def test_an_autoscaler_whose_pods_find_no_node_is_not_given_more() -> None:
    pending = RECORDED["unschedulable"].firing["waits"].workload
    assert pending is not None
    window = RECORDED["autoscaler"].firing["at most"].autoscaler
    assert window is not None
    finding = one("autoscaler", Window(autoscaler=window.model_copy(update={"workload": pending})))
    assert (finding.cause, finding.handling) == (Cause.CAPACITY, D)


def test_an_autoscaler_of_nothing_asks_whether_that_was_meant() -> None:
    off = {"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled"}
    finding = one("autoscaler", scaler({**off, "lastTransitionTime": "2026-03-02T09:00:00Z"}))
    assert (finding.cause, finding.handling) == (Cause.SCALED_DOWN, D)


@pytest.mark.parametrize(
    ("message", "who"),
    [
        ('pods "orders-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited', "quota"),
        ('pods "orders-1" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot', "pod_security"),
        ('admission webhook "policy.example" denied the request: exceeded quota: of my patience', "webhook"),
        ('Internal error occurred: failed calling webhook "policy.example": connection refused', "webhook"),
        ("something else about exceeded quota: and admission webhooks", "other"),
        ("", "other"),
    ],
)
def test_who_refuses_pods_is_told_by_how_the_controllers_sentence_begins(message: str, who: str) -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    finding = one("creation_blocked", orders(*healthy("0"), status={"conditions": [condition]}))
    assert finding.facts["refused_by"] == who
    assert "patience" not in finding.model_dump_json()


def test_the_last_corpse_is_left_as_evidence() -> None:
    window = RECORDED["evicted_corpses"].firing["about one"]
    assert window.workload is not None
    few = window.workload.model_copy(update={"pods": window.workload.pods[:4]})
    assert one("evicted_corpses", window.model_copy(update={"workload": few})).handling is D


def test_events_are_counted_over_different_events_and_only_while_they_are_recent() -> None:
    several = tuple(event("BackOff", 2, uid=f"event-{n}") for n in range(3))
    assert one("crash_loop", Window(events=several)).facts["times"] == 6
    detector = DETECTORS["crash_loop"]
    old = tuple(event("BackOff", 4, uid=f"event-{n}", minutes=14 + n) for n in range(2))
    assert one("crash_loop", Window(events=(*old, event("BackOff")))).facts["times"] == 9
    assert detector.detect(Window(events=old[1:]), NOW, detector.Params()) == ()


@pytest.mark.parametrize("detector", catalogue(), ids=lambda one: one.name)
def test_no_finding_repeats_the_name_that_a_sender_gave_its_alert(detector: Detector) -> None:
    """Only names that stand in our own table are said: a summary reaches cards, terminals and the model."""
    for name in HOSTILE:
        alert = an_alert(name).model_copy(update={"severity": "critical"})
        for found in detector.detect(Window(alerts=(alert,)), NOW, detector.Params()):
            assert "KubeAPIDown" not in found.summary + str(found.facts)
