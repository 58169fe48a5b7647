"""`handrail decode`: whoever wires up alerts sees what a record would become, or what to do instead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.support import SCRIPT, handrail

EXAMPLES = Path(__file__).parents[1] / "decode" / "examples"
CONFIG = {
    "cluster": {"name": "prod-eu1", "accept_unlabelled": False},
    "kafka": {
        "bootstrap": ["k:1"],
        "topics": [
            {"name": "metrics", "signal": "metrics"},
            {"name": "own", "mapping": {"name": "title", "status": "state", "firing": "bad"}},
        ],
    },
    "policy": "p.yaml",
    "alerts": {"event_age_minutes": 60},
}
AT = ("--at", "2026-03-02T09:45:00Z")


@pytest.fixture(name="config")
def _config(tmp_path: Path) -> Path:
    path = tmp_path / "handrail.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    return path


def test_an_alert_is_shown_with_target_identity_episode_finding_and_handling() -> None:
    ran = handrail("decode", EXAMPLES / "alertmanager_webhook_v4_firing.json")
    assert (ran.code, ran.err) == (0, "")
    first, *rest = ran.out.splitlines()
    assert first == "alert 1 of 1: KubePodCrashLooping, firing, severity warning  [alertmanager]"
    words = {line.split()[0]: line.split(maxsplit=1)[1] for line in rest}
    assert words["target"].startswith("Pod shop/checkout-7d9c5b8f6d-x2k9q, container app, uid 0b7d4f2e")
    assert words["cluster"] == "prod-eu1"
    assert (len(words["identity"]), len(words["episode"])) == (64, 64)
    assert words["finding"].startswith("named_alert: approve, cause crash_loop: ")


def test_a_refusal_says_what_to_do_and_ends_with_1() -> None:
    ran = handrail("decode", EXAMPLES / "datadog_webhook.json")
    assert ran.code == 1
    assert ran.out.startswith("refused (part 1): UNKNOWN_FORMAT: a Datadog webhook: name its fields in alerts.mapping")


def test_what_names_no_object_says_why_it_has_no_target() -> None:
    ran = handrail("decode", EXAMPLES / "traps" / "am_watchdog_no_object.json")
    assert "  target    none: no label names one object, so a person decides\n" in ran.out


def test_a_group_that_was_cut_says_so() -> None:
    ran = handrail("decode", EXAMPLES / "traps" / "am_truncated_group.json")
    assert "  left out  137 alerts of the group: what isn't here is not over\n" in ran.out


def test_json_has_all_of_it_for_scripts() -> None:
    ran = handrail("decode", EXAMPLES / "otlp_metrics_alerts.pb", "--json", "--signal", "metrics")
    assert ran.code == 0
    (arrival,) = ran.json["alerts"]
    assert (arrival["alert"]["name"], arrival["target"]["kind"]) == ("KubePodCrashLooping", "Pod")
    assert ran.json["passed"] == [{"what": "a metric that is not Prometheus's ALERTS", "count": 2}]


def test_standard_input_is_read_for_a_dash() -> None:
    value = (EXAMPLES / "otlp_logs_alert.pb").read_bytes()
    command = [sys.executable, "-c", SCRIPT, "decode", "-", "--as", "otlp_proto"]
    done = subprocess.run(command, input=value, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert b"alert 2 of 2: KubePodCrashLooping, resolved" in done.stdout


def test_each_line_can_be_a_record() -> None:
    ran = handrail("decode", EXAMPLES / "alertmanager_eventrecorder.jsonl", "--lines")
    assert ran.code == 1
    assert len(ran.out.splitlines()) == 5
    assert len(handrail("decode", EXAMPLES / "alertmanager_eventrecorder.jsonl", "--lines", "--json").json) == 5


def test_headers_make_a_cloud_event(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps({"alertname": "A", "labels": {}}))
    event = [f"--header=ce_{key}" for key in ("id=1", "source=/am", "specversion=1.0", "type=x.firing")]
    assert "[cloudevents+json]" in handrail("decode", path, *event).out
    assert handrail("decode", path, "--header", "nonsense").code == 2


def test_the_configuration_gives_mapping_signal_and_cluster(config: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"title": "Checkout is down", "state": "bad", "labels": {"cluster": "prod-us1"}}))
    ran = handrail("decode", own, "--config", config, "--topic", "own")
    assert ran.out.startswith("alert 1 of 1: Checkout is down, firing")
    assert "cluster   prod-us1: only recorded, since this is prod-eu1\n" in ran.out
    logs = handrail("decode", EXAMPLES / "otlp_logs_alert.pb", "--config", config, "--topic", "metrics")
    assert (logs.code, "WRONG_SIGNAL" in logs.out) == (1, True)
    unknown = handrail("decode", own, "--config", config, "--topic", "x")
    assert (unknown.code, "no topic 'x' is configured (known: metrics, own)" in unknown.err) == (2, True)


def test_the_brokers_time_decides_of_an_events_age(config: Path) -> None:
    event = EXAMPLES / "otlp_logs_k8sevents_corev1.json"
    assert handrail("decode", event, *AT).out.startswith("passed over: 1 × a Kubernetes event that last occurred")
    configured = handrail("decode", event, *AT, "--config", config)
    assert configured.out.startswith("alert 1 of 1: Event BackOff, firing")
    assert "cluster   not said: only recorded (accept_unlabelled: false)\n" in configured.out
    assert handrail("decode", event, "--at", "yesterday").code == 2


def test_any_bytes_have_an_answer_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "junk"
    for value in (b"", b"\x0a\xff\xff", b"{", b"\x1f\x8b\x00", b"[" * 9999):
        path.write_bytes(value)
        ran = handrail("decode", path)
        assert (ran.code, ran.err) == (1, "")
        assert ran.out.startswith("refused (part 1): ")


def test_a_header_may_be_any_bytes_as_in_kafka(tmp_path: Path) -> None:
    file = tmp_path / "alert.json"
    file.write_text("{}")
    name_and_bytes = os.fsdecode(b"x=\xff\xfe")
    assert handrail("decode", file, "--header", name_and_bytes).code == 1
