"""One child process: started in a group of its own, waited for, stopped by the id recorded at start.

Decides: when a server counts as up, and that it really has ended before anything goes on. Never looks for
processes by name, and never signals an id that it did not start itself.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

_handed_out: set[int] = set()
FIRST_PORT, SLICE = 20_000, 3_000
"""Below the range that the kernel gives to outgoing connections, in four slices."""

# Takes its parent's end of a pipe as the sign that the parent is gone, however it died: a killed test run
# must not leave half a gigabyte of servers behind.
# No `--` before the group: dash does not know it.
_GUARD = "read _; kill -TERM -$0; sleep 5; kill -KILL -$0"


class StartError(Exception):
    """The child ended or did not become ready; the text has the end of its log."""


def free_port() -> int:
    """A port on loopback that nothing listens on. Test workers side by side have a slice each: a server that is down
    for a moment finds its port still free."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
    while True:
        port = FIRST_PORT + worker * SLICE + random.randrange(SLICE)
        if port in _handed_out:
            continue
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _handed_out.add(port)
        return port


def accepts(port: int) -> bool:
    """Whether somebody listens on this loopback port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def new_work_dir(name: str) -> Path:
    """A fresh folder that other users may pass through (PostgreSQL does not run as root)."""
    path = Path(tempfile.mkdtemp(prefix=f"handrail-{name}-"))
    path.chmod(0o755)
    return path


def drop_work_dir(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def wait_until(condition: Callable[[], bool], timeout: float, what: str) -> None:
    """Poll until the condition holds; raises TimeoutError with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not so within {timeout:.0f} s")
        time.sleep(0.1)


class Process:
    """A server process that can be started again with the same command."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        work: Path,
        ready: Callable[[], bool],
        *,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.name = name
        self.log = work / f"{name}.log"
        self._command = list(command)
        self._work = work
        self._ready = ready
        self._env = dict(env or {})
        self._user = user
        self._stop_signal = stop_signal
        self._child: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._child is None:
            raise ValueError(f"{self.name} is not running")
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self, timeout: float = 180) -> None:
        """Start and wait for readiness; raises StartError."""
        if self.alive:
            raise ValueError(f"{self.name} is already running")
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self._command,
                cwd=self._work,
                env={**os.environ, **self._env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **({"user": self._user, "group": self._user, "extra_groups": []} if self._user else {}),  # type: ignore[call-overload]
            )
        (self._work / f"{self.name}.pid").write_text(f"{self.pid}\n", encoding="ascii")
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + timeout
        while not (self.alive and self._ready()):
            if not self.alive or time.monotonic() > deadline:
                how = f"not ready within {timeout:.0f} s" if self.alive else "ended at once"
                self.stop()
                raise StartError(f"{self.name} {how}; its log ends:\n{self.tail()}")
            time.sleep(0.05)

    def stop(self, grace: float = 20) -> None:
        """Ask the group to end, wait, kill what is left; returns when the child has ended."""
        self._end(self._stop_signal, grace)

    def kill(self) -> None:
        """End it without warning, as a lost machine would."""
        self._end(signal.SIGKILL, 20)

    def send(self, what: signal.Signals) -> None:
        """Send a signal to the group (SIGSTOP and SIGCONT make a server that hangs)."""
        if self.alive:
            os.killpg(self.pid, what)

    def tail(self, lines: int = 25) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def _end(self, how: signal.Signals, grace: float) -> None:
        child, guard = self._child, self._guard
        if child is None:
            return
        # The guard first: once the child has been waited for, its id may be given to another process.
        if guard is not None:
            guard.kill()
            guard.wait()
            if guard.stdin is not None:
                guard.stdin.close()
        offspring = _descendants(child.pid)
        for what, seconds in ((how, grace), (signal.SIGKILL, 20.0)):
            if child.poll() is not None:
                break
            os.killpg(child.pid, what)
            if what is not signal.SIGKILL:
                os.killpg(child.pid, signal.SIGCONT)  # a stopped process would not see the request
            try:
                child.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
        _await_end(offspring, grace if how is not signal.SIGKILL else 0)
        self._child = self._guard = None
        (self._work / f"{self.name}.pid").unlink(missing_ok=True)


def exists(pid: int) -> bool:
    """Whether a process with this id still runs (one that has ended and waits to be collected does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return _state_and_parent(Path(f"/proc/{pid}/stat"))[0] != "Z"
    except OSError:
        return False  # it ended while it was looked at


def _descendants(pid: int) -> list[int]:
    """The ids of all that this process started. PostgreSQL's workers leave its group, so that is not enough."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            children.setdefault(_state_and_parent(stat)[1], []).append(int(stat.parent.name))
        except OSError:
            continue
    found, todo = [], [pid]
    while todo:
        new = children.get(todo.pop(), [])
        found += new
        todo += new
    return found


def _state_and_parent(stat: Path) -> tuple[str, int]:
    # The name in brackets may hold spaces and brackets of its own.
    state, parent = stat.read_text().rpartition(")")[2].split()[:2]
    return state, int(parent)


def _await_end(pids: list[int], grace: float) -> None:
    deadline = time.monotonic() + grace
    while any(map(exists, pids)):
        if time.monotonic() > deadline:
            for pid in filter(exists, pids):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
