"""Every command ends in one of five ways that a script can tell apart, and says it in one shape with --json."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import click
import pytest

from handrail.cli import ending
from handrail.cli.cards import WIDEST
from handrail.cli.ending import DONE, EXITS, FAILED, REFUSED, WRONG
from handrail.cli.incident_id import IncidentId
from handrail.core.card import card
from tests.card import journals as j
from tests.cli.called import ASK_THE_DAEMON, CALLED, Path_, options_of
from tests.cli.support import SCRIPT, Ran, handrail
from tests.cli.test_answers import answering, http
from tests.cli.test_commands import command_at, every_command, one_line

POLICY = str(Path(__file__).parents[2] / "policies" / "ask.yaml")

PRINTS = {
    ("run",): "it is the daemon",
    ("demo",): "a play for people",
    ("config", "init"): "YAML",
    ("incidents", "report"): "a text for people",
    ("rbac",): "YAML for kubectl",
    ("admission",): "YAML for kubectl",
    ("schema", "events"): "JSON already",
}
"""What has no --json, and why."""

LEAVES = [path for path in every_command() if not isinstance(command_at(path), click.Group)]


READ_THE_FILE = [path for path in CALLED if "--config" in options_of(path)]
WISHES = [path for path in ASK_THE_DAEMON if path[-1] not in ("list", "show", "status", "verify")]
LOOK_FIRST = [("approve",), ("reject",)]


def refused_as(ran: Ran, code: int) -> dict[str, Any]:
    """The one shape, and nothing beside it."""
    assert (ran.code, ran.err) == (code, ""), ran
    found: dict[str, Any] = ran.json
    assert set(found) == {"ok", "reason", "message"}
    assert found["ok"] is False
    assert found["message"]
    return found


def both_ways(path: Path_, *more: object, code: int) -> dict[str, Any]:
    """Said to people and to scripts, with the same exit code; what scripts are told."""
    call = [*path, *CALLED[path], *more]
    said, told = one_line(handrail(*call), code), refused_as(handrail(*call, "--json"), code)
    assert told["message"].splitlines()[0] in said
    assert told["reason"] in said
    return told


def test_each_command_has_json_or_says_why_not() -> None:
    has = {path for path in LEAVES if "--json" in options_of(path)}
    assert has | PRINTS.keys() == set(LEAVES)
    assert not has & PRINTS.keys()
    assert has == CALLED.keys()


def test_the_first_page_and_the_reference_say_every_exit_code() -> None:
    page = handrail("--help").out
    reference = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text()
    for code, said in EXITS.items():
        assert f"{code}  {said}" in page
        assert f"| {code} | {said} |" in reference
    assert all(f"`handrail {' '.join(path)}`" in reference for path in LEAVES)


@pytest.mark.parametrize("path", ASK_THE_DAEMON, ids=" ".join)
def test_without_a_daemon_all_fail_alike(path: Path_) -> None:
    told = both_ways(path, "--server", "http://127.0.0.1:9", code=FAILED)
    assert "no daemon answers at http://127.0.0.1:9" in told["message"]
    assert "handrail run" in told["message"]


@pytest.mark.parametrize("path", ASK_THE_DAEMON, ids=" ".join)
@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("401 Unauthorized", REFUSED),
        ("403 Forbidden", REFUSED),
        ("404 Not Found", WRONG),
        ("400 Bad Request", WRONG),
        ("503 Service Unavailable", FAILED),
        ("500 Internal Server Error", FAILED),
    ],
)
def test_what_the_daemon_answers_decides_the_code(path: Path_, status: str, code: int) -> None:
    body = {"ok": False, "reason": "NOT_A_READER" if status.startswith("403") else "", "message": "so it is"}
    with answering(http(body, status)) as server:
        told = both_ways(path, "--server", server, code=code)
    assert (told["reason"], told["message"]) == (body["reason"], "so it is")


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found", "502 Bad Gateway"])
def test_what_is_no_daemon_of_ours_refuses_nothing(status: str) -> None:
    with answering(http(b"<html>\x1b[31m not here\n", status)) as server:
        told = both_ways(("status",), "--server", server, code=FAILED)
    assert "no daemon of ours" in told["message"]
    assert "\x1b" not in told["message"]


@pytest.mark.parametrize("path", [path for path in WISHES if path not in LOOK_FIRST], ids=" ".join)
def test_a_no_is_told_with_its_word_and_what_can_not_be_understood_is_a_wrong_call(path: Path_) -> None:
    no = {"ok": False, "reason": "NOT_AN_APPROVER", "message": "you may not", "incident": ""}
    with answering(http(no, "409 Conflict")) as server:
        assert both_ways(path, "--server", server, code=REFUSED)["reason"] == "NOT_AN_APPROVER"
    with answering(http({**no, "reason": ""}, "409 Conflict")) as server:
        both_ways(path, "--server", server, code=WRONG)


@pytest.mark.parametrize("path", [path for path in WISHES if path not in LOOK_FIRST], ids=" ".join)
def test_a_yes_is_told_in_the_same_shape(path: Path_) -> None:
    yes = {"ok": True, "reason": "", "message": "it is done", "incident": "inc-1"}
    with answering(http(yes)) as server:
        call = [*path, *CALLED[path], "--server", server]
        assert handrail(*call) == Ran(DONE, "it is done\n", "")
        ran = handrail(*call, "--json")
    assert (ran.code, ran.json) == (DONE, yes)


ABOUT_ONE = [path for path in LEAVES if any(isinstance(one.type, IncidentId) for one in command_at(path).params)]


@pytest.mark.parametrize("path", ABOUT_ONE, ids=" ".join)
@pytest.mark.parametrize(
    "id_", ["", "a b", "../stop", "inc-1/report", "inc-1?x", "-", "x" * 101, "\x1b[31m", "inc-\u00fc"]
)
def test_what_can_be_no_id_is_a_wrong_call_and_reaches_nobody(path: Path_, id_: str) -> None:
    rest = CALLED.get(path, [""])[1:]
    with answering(http({"ok": True, "message": "somebody was asked"})) as server:
        said = one_line(handrail(*path, *rest, "--server", server, "--", id_), WRONG)
    assert "`handrail incidents list` shows them" in said
    assert "\x1b" not in said


def test_every_command_about_one_incident_takes_an_id() -> None:
    assert {path for path in LEAVES if "ID" in {one.metavar for one in command_at(path).params}} == set(ABOUT_ONE)
    assert len(ABOUT_ONE) == 9


@pytest.mark.parametrize("status", ["200 OK", "409 Conflict", "403 Forbidden", "404 Not Found", "503 Unavailable"])
def test_no_answer_steers_a_terminal(status: str) -> None:
    said = {"ok": status == "200 OK", "reason": "STOPPED", "message": "a\x1b[2Jb\nc"}
    with answering(http(said, status)) as server:
        ran = handrail("take", "inc-1", "--server", server)
    assert "\x1b" not in ran.out + ran.err
    assert len((ran.out + ran.err).splitlines()) == 1


@pytest.mark.parametrize("path", LOOK_FIRST, ids=" ".join)
def test_an_answer_to_what_asks_nothing_is_a_no(path: Path_) -> None:
    with answering(http({"incident": "inc-1", "card": {"request": None, "status": "it expired"}})) as server:
        told = both_ways(path, "--server", server, code=REFUSED)
    assert told == {"ok": False, "reason": "STATE_CHANGED", "message": "inc-1 asks nothing now: it expired"}


@pytest.mark.parametrize("path", READ_THE_FILE, ids=" ".join)
@pytest.mark.parametrize("what", ["missing", "folder", "broken", "bytes"])
def test_a_configuration_that_is_wrong_is_told_by_all_alike(path: Path_, what: str, tmp_path: Path) -> None:
    file = tmp_path / "handrail.yaml"
    match what:
        case "folder":
            file.mkdir()
        case "broken":
            file.write_text("cluster: {name: [")
        case "bytes":
            file.write_bytes(b"\xff\xfe\x00")
    call = [*path, *CALLED[path], "--config", file]
    plain, scripted = handrail(*call), handrail(*call, "--json")
    assert (plain.code, scripted.code) == (WRONG, WRONG), plain
    assert "Traceback" not in plain.err
    assert str(file) in plain.err + plain.out
    assert scripted.json["ok"] is False
    assert scripted.json["message"]


@pytest.mark.parametrize("path", [("stop",), ("start",), ("status",)], ids=" ".join)
def test_the_clusters_own_stops_fail_alike(path: Path_, tmp_path: Path) -> None:
    told = both_ways(path, "--cluster", "--kubeconfig", tmp_path / "none", code=WRONG)
    assert str(tmp_path / "none") in told["message"]


def test_a_wait_is_said_until_it_is_over(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ending, "PROGRESS_SECONDS", 0.001)
    before, said = threading.active_count(), ""
    with ending.waiting("the brokers"):
        while said.count("… waiting for the brokers\n") < 2:
            said += capsys.readouterr().err
    assert threading.active_count() == before
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("call", [["steps"], ["steps", "--json"], ["schema", "events"], ["rbac", "--policy", POLICY]])
def test_where_nothing_can_be_written_it_fails_in_one_line(call: list[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this machine has no /dev/full")
    command = [sys.executable, "-c", SCRIPT, *call]
    with full.open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (FAILED, "handrail: No space left on device\n")


@pytest.mark.parametrize("call", [["steps"], ["schema", "events"], ["--help"]])
def test_a_reader_that_has_gone_is_no_fault(call: list[str]) -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@" | true', "bash", sys.executable, "-c", SCRIPT, *call],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_a_card_is_as_wide_as_the_terminal_and_never_wider_than_reads_well(columns: int) -> None:
    shown = {"card": card(j.incident(j.ASKED), j.T0).model_dump(mode="json"), "story": []}
    with answering(http(shown)) as server:
        ran = handrail("incidents", "show", "inc-1", "--server", server, COLUMNS=str(columns))
    assert ran.code == DONE
    assert max(map(len, ran.out.splitlines())) == min(columns, WIDEST)


def test_ctrl_c_while_nobody_answers_ends_it_at_once_and_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-c", SCRIPT, "status", "--server", address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == f"… waiting for {address}\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    said = [line for line in err.splitlines() if line and not line.startswith("…")]
    assert (process.returncode, out, said) == (ending.INTERRUPTED, "", ["handrail: aborted"])


def test_approving_for_a_script_asks_nobody() -> None:
    assert "--yes" in refused_as(handrail("approve", "inc-1", "--json"), WRONG)["message"]


def test_a_mistake_in_another_option_is_told_in_json_too_wherever_it_stands() -> None:
    for call in (["incidents", "list", "--limit", "0", "--json"], ["stop", "--json"]):
        refused_as(handrail(*call), WRONG)


def test_what_is_shown_to_scripts_is_json_and_nothing_else() -> None:
    for verb in ("steps", "detectors"):
        json.loads(handrail(verb, "--json").out)
