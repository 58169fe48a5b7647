"""`handrail demo` as a person runs it: left running to look around, asked at a terminal, and ended by Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "handrail"
BARE_PATH = "/usr/bin:/bin"
PATIENCE = 90.0


class Demo:
    """The process and what it has said so far; at a terminal of its own where `terminal` is the other end of one."""

    def __init__(self, process: subprocess.Popen[bytes], heard: int, terminal: int | None) -> None:
        self.process = process
        self._heard = heard
        self._terminal = terminal
        self._said = b""

    @property
    def said(self) -> str:
        return self._said.decode(errors="replace").replace("\r\n", "\n")

    def until(self, words: str) -> None:
        self._listen(lambda: words in self.said)
        assert words in self.said, self.said

    def types(self, keys: str) -> None:
        assert self._terminal is not None
        os.write(self._terminal, keys.encode())

    def ended(self, signal_: signal.Signals | None = None) -> int:
        """The exit code, after the signal if one is given; it gets twenty seconds to end."""
        if signal_ is not None:
            self.process.send_signal(signal_)
        self._listen(lambda: False, 20)
        assert self.process.poll() is not None or self.process.wait(5) is not None
        return self.process.returncode

    def _listen(self, enough: Callable[[], bool], seconds: float = PATIENCE) -> None:
        ends = time.monotonic() + seconds
        while not enough() and time.monotonic() < ends:
            if not select.select([self._heard], [], [], 0.2)[0]:
                continue
            try:
                more = os.read(self._heard, 65_536)
            except OSError:  # a terminal whose other side is gone
                return
            if not more:
                return
            self._said += more


@pytest.fixture
def short() -> Iterator[Path]:
    """The path of a socket has 107 characters at most; the folders of tests are longer."""
    with tempfile.TemporaryDirectory(prefix="d") as folder:
        yield Path(folder)


@contextmanager
def demo(folder: Path, *options: str, terminal: bool = False) -> Iterator[Demo]:
    """Its temporary files go to `folder`, which has to be empty once it has ended."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    env = {name: text for name, text in os.environ.items() if not name.startswith("HANDRAIL_")}
    process = subprocess.Popen(
        [PROGRAM, "demo", *options],
        stdin=theirs if terminal else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TMPDIR": str(folder), "PATH": BARE_PATH, "PYTHONWARNINGS": "default::ResourceWarning"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Demo(process, ours, ours if terminal else None)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def nothing_is_left(found: Demo, folder: Path) -> None:
    assert list(folder.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(found.process.pid, 0)
    assert "Traceback" not in found.said
    assert "Warning" not in found.said


def typed(found: Demo, words: str, *more: str) -> subprocess.CompletedProcess[str]:
    """One of the printed lines in a shell that has only them: the exports first, then the one with these words."""
    lines = [line.strip() for line in found.said.split("In another terminal:\n")[1].splitlines()]
    exports = [line for line in lines if line.startswith("export ")]
    (line,) = (line for line in lines if words in line)
    script = "\n".join([*exports, " ".join([line, *more])])
    return subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, timeout=60, env={"PATH": BARE_PATH}, check=False
    )


def out(found: Demo, words: str, *more: str) -> str:
    done = typed(found, words, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("sh", path=BARE_PATH) is None, reason="needs a shell at /bin/sh")
def test_a_demo_that_is_kept_serves_the_printed_lines_until_ctrl_c_and_leaves_nothing(short: Path) -> None:
    with demo(short, "--keep", terminal=True) as kept:
        kept.until("Do exactly this?")
        kept.types("y\n")
        kept.until("Ctrl-C here ends it.")
        (row,) = json.loads(out(kept, "incidents list", "--json"))
        assert row["state"] == "RESOLVED"
        assert row["id"] in out(kept, "incidents list")
        shown = out(kept, "incidents show")
        assert "registry.example/checkout:1.5.0" in shown
        assert "It healed" in shown
        assert "What came of it" in out(kept, "incidents report")
        lines = out(kept, " status").splitlines()
        assert (lines[0], lines[-1]) == ("not stopped", "0 open incidents")
        out(kept, " stop --reason")
        assert out(kept, " status").startswith("STOPPED: everything, by local:")
        assert ": trying it out" in out(kept, " status")
        out(kept, " start")
        assert out(kept, " status").startswith("not stopped")
        assert "broken" not in out(kept, "audit verify")
        assert kept.process.poll() is None

        assert kept.ended(signal.SIGINT) == 0
        assert kept.said.splitlines()[-1] == f"{row['id']} RESOLVED"
        assert typed(kept, " status").returncode == 1
        nothing_is_left(kept, short)


def test_ctrl_c_at_the_question_ends_it_at_once_and_leaves_nothing(short: Path) -> None:
    with demo(short, terminal=True) as asked:
        asked.until("Do exactly this?")
        asked.process.send_signal(signal.SIGINT)
        assert asked.ended() == 130
        assert asked.said.rstrip().endswith("aborted")
        nothing_is_left(asked, short)


def test_a_question_that_is_answered_elsewhere_is_asked_no_more(short: Path) -> None:
    with demo(short, terminal=True) as asked:
        asked.until("Do exactly this?")
        (where,) = {line for line in asked.said.splitlines() if "export HANDRAIL_SOCKET=" in line}
        socket = where.split("HANDRAIL_SOCKET=")[1].strip()
        listed = subprocess.run(
            [PROGRAM, "incidents", "list", "--json", "--socket", socket], capture_output=True, check=True
        )
        (row,) = json.loads(listed.stdout)
        subprocess.run([PROGRAM, "reject", row["id"], "--socket", socket], capture_output=True, check=True)
        assert asked.ended() == 1
        assert asked.said.splitlines()[-1] == f"{row['id']} HANDED_OVER"
        nothing_is_left(asked, short)


def test_sigterm_on_the_way_leaves_nothing(short: Path) -> None:
    with demo(short, "--yes") as begun:
        begun.until("rolling out checkout 1.5.0")
        assert begun.ended(signal.SIGTERM) == 130
        nothing_is_left(begun, short)
