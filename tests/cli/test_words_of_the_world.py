"""What senders and others wrote stays on its line in a terminal, steers nothing there, and shows no secret."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from handrail.adapters.kubernetes.stops import Standing
from handrail.cli import letters
from handrail.cli.cluster_stop import InCluster
from handrail.model.config import ClusterConfig, Config, KafkaConfig, TopicConfig
from handrail.model.letter import Letter, Place
from tests.cli.support import handrail
from tests.cli.test_answers import answering, http

HOSTILE = "Disk\x1b[2J full\ninc-b  RESOLVED     2026-03-02T09:45:00  nothing"
AT = datetime(2026, 3, 2, 9, 45, tzinfo=UTC)


def test_the_name_of_an_alert_makes_no_second_row_of_the_list() -> None:
    row = {
        "id": "inc-a",
        "state": "asking",
        "opened_at": AT.isoformat(),
        "title": HOSTILE,
        "target": "\u2028x",
        "left": "",
    }
    with answering(http({"incidents": [row]})) as server:
        out = handrail("incidents", "list", "--server", server).out
    assert len(out.splitlines()) == 1
    assert "\x1b" not in out


def test_the_reason_on_a_namespace_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standing = Standing(writes=False, why=HOSTILE, namespaces={"shop": HOSTILE})
    monkeypatch.setattr(InCluster, "_run", lambda _self, _work: standing)
    InCluster(wanted=True, namespace="", name="handrail", kubeconfig="", context="").status(as_json=False)
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2
    assert "\x1b" not in out


def test_a_no_names_its_reason_whatever_was_asked_for() -> None:
    no = {"ok": False, "reason": "NOT_AN_APPROVER", "message": "you may not"}
    with answering(http(no, "409 Conflict")) as server:
        for verb in (
            ("stop", "--reason", "x"),
            ("start",),
            ("take", "inc-a"),
            ("incidents", "cancel", "inc-a", "--reason", "x"),
        ):
            assert handrail(*verb, "--server", server).err == "Error: NOT_AN_APPROVER: you may not\n"


def letter(labels: dict[str, str]) -> Letter:
    group = {"version": "4", "status": "firing", "alerts": [{"status": "firing", "labels": labels, "annotations": {}}]}
    place = Place("handrail.dead-letters", 0, 1)
    return Letter(
        place=place,
        at=AT,
        buried_at=AT,
        came_from=Place("alerts", 0, 1),
        reason="MALFORMED",
        detail="x",
        part=0,
        key=None,
        value=json.dumps(group).encode(),
        headers=(),
        bytes_left_out=0,
        returned="",
    )


def test_what_a_dead_letter_would_become_shows_no_secret_either(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kafka = KafkaConfig(bootstrap=("unused:1",), topics=(TopicConfig(name="alerts"),))
    config = Config(cluster=ClusterConfig(name="demo"), kafka=kafka, policy=str(tmp_path / "policy.yaml"))
    found = letter({"alertname": "A", "db_password": "hunter2", "note": HOSTILE})
    letters.shown(found, config)
    out = capsys.readouterr().out
    assert "label     db_password=[redacted]" in out
    assert "\ninc-b" not in out
    assert "hunter2" not in out
    assert "hunter2" not in json.dumps(letters.shown_plainly(found, config))
