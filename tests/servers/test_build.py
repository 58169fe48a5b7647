"""Building the test servers and running processes: no server is needed for these tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from tests.servers import build, golang, pins
from tests.servers.process import Process, StartError, accepts, exists, free_port, wait_until


def test_a_stopped_process_and_what_it_started_are_gone(tmp_path: Path) -> None:
    script = "sleep 300 & echo $! > child; touch up; wait"
    process = Process("sleeper", ["sh", "-c", script], tmp_path, (tmp_path / "up").exists)
    process.start()
    pid, child = process.pid, int((tmp_path / "child").read_text())
    assert (tmp_path / "sleeper.pid").read_text().strip() == str(pid)

    process.stop()

    assert not exists(pid)
    assert not exists(child)
    assert not (tmp_path / "sleeper.pid").exists()


def test_a_process_that_ends_at_once_says_what_it_wrote(tmp_path: Path) -> None:
    process = Process("broken", ["sh", "-c", "echo no such flag; exit 3"], tmp_path, lambda: False)
    with pytest.raises(StartError, match=r"ended at once.*\n.*no such flag"):
        process.start()


def test_a_process_that_hangs_is_ended_all_the_same(tmp_path: Path) -> None:
    process = Process("hung", ["sleep", "300"], tmp_path, lambda: True)
    process.start()
    pid = process.pid
    process.send(signal.SIGSTOP)
    process.stop()
    assert not exists(pid)


def test_servers_end_when_the_test_run_is_killed(tmp_path: Path) -> None:
    script = f"""
        import pathlib, time
        from tests.servers.process import Process
        work = pathlib.Path({str(tmp_path)!r})
        server = Process("server", ["sleep", "300"], work, lambda: True)
        server.start()
        (work / "id").write_text(str(server.pid))
        time.sleep(300)
    """
    run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], cwd=pins.HERE.parents[1])
    wait_until(lambda: (tmp_path / "id").exists() and (tmp_path / "id").read_text() != "", 30, "started")
    run.kill()
    run.wait()
    pid = int((tmp_path / "id").read_text())
    wait_until(lambda: not exists(pid), 30, "the server ended")


def test_a_changed_pin_has_another_home_and_leaves_the_others_alone() -> None:
    known = pins.load()
    etcd = known["etcd"]
    newer = replace(etcd, entry={**etcd.entry, "requires": {"go.etcd.io/etcd/server/v3": "v3.7.4"}})
    assert newer.home != etcd.home
    assert newer.home.parent == etcd.home.parent
    assert len({pin.home for pin in known.values()}) == len(known)


def test_a_pin_that_its_go_module_does_not_hold_is_not_built() -> None:
    helm_pin = pins.load()["helm"]
    newer = replace(helm_pin, entry={**helm_pin.entry, "requires": {"helm.sh/helm/v4": "v4.99.0"}})
    with pytest.raises(golang.Unlocked, match=r"lacks helm\.sh/helm/v4 v4\.99\.0.*--lock --only helm"):
        golang.check(newer)


def test_every_pinned_go_module_is_locked() -> None:
    for pin in pins.load().values():
        if pin.how == "go":
            golang.check(pin)


def test_an_existing_server_is_used_instead_of_a_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    known = pins.load()
    assert pins.existing(known["kafka"]) is None
    with pytest.raises(pins.Missing, match="run `make servers`"):
        pins.program("kafka")

    monkeypatch.setenv("HANDRAIL_TEST_KAFKA", "broker:9092")
    assert pins.existing(known["kafka"]) == "$HANDRAIL_TEST_KAFKA"

    (tmp_path / "etcd").write_text("#!/bin/sh\n")
    (tmp_path / "etcd").chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert pins.program("etcd") == tmp_path / "etcd"


def test_a_failing_build_shows_its_output_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = tmp_path / "bin" / "mvn"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no route to host\nexit 7\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HANDRAIL_TEST_KAFKA", raising=False)

    assert build.main(["--only", "kafka"]) == 1

    told = capsys.readouterr().err
    assert "| no route to host" in told
    assert "ended with 7" in told
    assert not pins.load()["kafka"].home.exists()
    assert [p.name for p in pins.cache_dir().iterdir()] == ["kafka.lock"]


def test_free_ports_are_not_handed_out_twice() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    assert not any(accepts(port) for port in ports)
