"""A daemon that is ended or frozen at an ordered moment: tests/crash/victim.py as a process, seen from outside."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.cli.client import Client
from tests.path.stage import Daemon

ROOT = Path(__file__).parents[2]
PATIENCE = 480.0
"""Seconds for anything to happen; generous, since machines are shared."""


@dataclass
class Victim(Daemon):
    """`handrail run` by tests/crash/victim.py. `packages` is a folder with another build of it, "" for this one."""

    packages: str = ""

    @property
    def orders(self) -> Path:
        return self.folder / "orders.json"

    def arm(self, at: str, number: int = 0, *, kind: str = "", do: str = "kill") -> None:
        """From now on it counts. Number 0 of no kind never comes: the moments are told, and nothing happens."""
        whole = self.orders.with_suffix(".new")
        whole.write_text(json.dumps({"do": do, "at": at, "number": number, "kind": kind}))
        whole.rename(self.orders)

    def told(self) -> list[dict[str, Any]]:
        """The moments that passed while it was armed."""
        path = self.orders.with_suffix(".told")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def struck(self) -> bool:
        return not self.orders.exists()

    async def start(self) -> None:
        env = {key: text for key, text in os.environ.items() if not key.startswith(("ANTHROPIC_", "HANDRAIL_S"))}
        env |= {
            "CRASH_ORDERS": str(self.orders),
            "PYTHONPATH": os.pathsep.join(filter(None, (self.packages, str(ROOT), os.environ.get("PYTHONPATH")))),
        }
        program = [sys.executable, "-m", "tests.crash.victim", "run", "--config", str(self.config)]
        with (self.folder / "daemon.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(*program, stdout=log, stderr=log, env=env, cwd=ROOT)
        ends = time.monotonic() + PATIENCE
        while not await asyncio.to_thread(self._answers):
            if self.process.returncode == -signal.SIGKILL:
                return  # it met its moment already
            assert self.process.returncode is None, f"ended with {self.process.returncode}: {self.log()[-3000:]}"
            assert time.monotonic() < ends, f"no daemon in time: {self.log()[-3000:]}"
            await asyncio.sleep(0.1)

    @property
    def dead(self) -> bool:
        return self.process is not None and self.process.returncode is not None

    def wake(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def client(self) -> Client:
        return Client(server="", socket_path=str(self.folder / "s"), token="")
