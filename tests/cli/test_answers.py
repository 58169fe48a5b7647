"""What answers is not always our daemon, and what it says decides the exit."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.settings import load_config
from handrail.core.card import card
from tests.card import journals as j
from tests.cli.called import ASK_THE_DAEMON, CALLED
from tests.cli.support import handrail, in_a_process
from tests.cli.test_commands import one_line


@contextmanager
def answering(raw: bytes) -> Iterator[str]:
    """Somebody who says this to everybody; the address."""

    class Says(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(4096)
            self.request.sendall(raw)

    with socketserver.TCPServer(("127.0.0.1", 0), Says) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def http(body: Any, status: str = "200 OK") -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw


@pytest.mark.parametrize("whole", [True, False])
def test_an_audit_that_finds_a_broken_journal_exits_with_one(whole: bool) -> None:
    stream = {"stream": "inc-1", "ok": whole, "broken_at": 3, "problem": "its hash is wrong"}
    with answering(http({"ok": whole, "streams": [stream]})) as server:
        for more in ((), ("--json",)):
            assert handrail("audit", "verify", "--server", server, *more).code == (0 if whole else 1)


@pytest.mark.parametrize(
    "raw",
    [http(b"<html>"), http(b"[" * 100_000), b"SSH-2.0-x\r\n", b"", http(b"nginx", "502 Bad Gateway")],
    ids=["html", "deep", "ssh", "eof", "502"],
)
def test_what_is_no_daemon_of_ours_is_said_in_one_line(raw: bytes) -> None:
    with answering(raw) as server:
        one_line(handrail("status", "--server", server), 1)


@pytest.mark.parametrize("server", ["http://127.0.0.1:port", "127.0.0.1:8080", "ftp://x", "http://"])
def test_an_address_that_is_none_is_said(server: str) -> None:
    assert "is no http(s) address" in one_line(handrail("status", "--server", server), 2)


@pytest.mark.parametrize("token", ["a\nb", "\u00fc", "two words"])
def test_a_token_that_is_none_is_said_and_not_repeated(token: str) -> None:
    said = one_line(handrail("status", HANDRAIL_TOKEN=token), 2)
    assert said == "Error: HANDRAIL_TOKEN holds no token; put the token alone there"


def test_a_token_file_that_is_a_folder_is_said(tmp_path: Path) -> None:
    assert "is a directory" in one_line(handrail("status", "--token-file", tmp_path), 2)


def test_a_place_where_nothing_can_be_written_is_said(tmp_path: Path) -> None:
    assert "can't be written" in one_line(handrail("config", "init", "-o", tmp_path / "none" / "x.yaml"), 2)


@pytest.mark.parametrize("cluster", ['a"b', "a\\b", "a\nb", ""])
def test_a_cluster_name_that_would_break_the_file_is_refused(cluster: str) -> None:
    one_line(handrail("config", "init", "--cluster", cluster), 2)


def test_a_cluster_name_may_be_anything_that_labels_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    handrail("config", "init", "--cluster", "arn:aws:eks:eu-1:123:cluster/prod", "-o", path)
    assert load_config(path).cluster.name == "arn:aws:eks:eu-1:123:cluster/prod"


CARD = card(j.incident(j.ASKED), j.T0).model_dump(mode="json")
STRANGE: dict[str, Any] = {
    "an empty object": {},
    "a list": [],
    "a word": "up",
    "somebody's health": {"status": "ok", "ok": "yes", "message": None},
    "no rows": {"incidents": None, "streams": None, "lines": None},
    "odd rows": {"ok": True, "incidents": [1, {}], "streams": [{}], "lines": [1], "card": {}, "story": [2]},
    "a card of a newer daemon": {"incident": "inc-1", "card": {**CARD, "beware": "of this"}, "story": []},
}


@pytest.mark.parametrize("what", STRANGE)
@pytest.mark.parametrize("path", ASK_THE_DAEMON, ids=" ".join)
def test_an_answer_of_another_shape_is_said_in_one_line(path: tuple[str, ...], what: str) -> None:
    """That of a newer daemon too: nobody decides from a part of a card."""
    with answering(http(STRANGE[what])) as server:
        call = [*path, *CALLED[path], "--server", server]
        if path == ("approve",):
            call.remove("--yes")
        said = one_line(handrail(*call), 1)
    assert "version" in said


def test_a_report_and_a_story_steer_no_terminal_whoever_answers() -> None:
    with answering(http(b"# it\x1b[2J \xff\n")) as server:
        ran = handrail("incidents", "report", "inc-1", "--server", server)
    assert (ran.code, ran.out) == (0, "# it \ufffd\n\n")
    told = {"incident": "inc-1", "card": CARD, "story": [{"at": "2026-03-02T09:45:00", "line": "a\x1b[2J\ud800\nb"}]}
    with answering(http(told)) as server:
        ran = handrail("incidents", "show", "inc-1", "--server", server)
    assert ran.out.splitlines()[-1] == "09:45:00  a\ufffd b"


def test_in_a_locale_without_our_signs_a_command_says_what_it_can(tmp_path: Path) -> None:
    alert = {"status": "firing", "labels": {"alertname": "Disk \u2014 \u4e2d\ud800"}, "annotations": {}}
    file = tmp_path / "alert.json"
    file.write_text(json.dumps({"version": "4", "groupKey": "x", "alerts": [alert]}))
    ran = in_a_process("decode", file, PYTHONIOENCODING="latin-1")
    assert "Traceback" not in ran.err
    assert "alert 1 of 1: Disk ? ?" in ran.out
    scripted = in_a_process("decode", file, "--json", PYTHONIOENCODING="latin-1")
    assert json.loads(scripted.out)["alerts"][0]["alert"]["name"].startswith("Disk \u2014 \u4e2d")
