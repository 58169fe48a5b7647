"""Helm, for tests of the chart.

Decides: that Helm keeps its own files in a folder of the test and sees one kubeconfig only. Never retries.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.servers import pins


def program() -> Path:
    """The pinned helm; raises pins.Missing."""
    return pins.program("helm")


def run(*arguments: str, home: Path, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm to its end; the caller looks at the return code, output and error text."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("HELM_", "KUBE"))}
    env |= {f"HELM_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
    # A file that is not there: better no cluster than the one that somebody happens to be logged in to.
    env["KUBECONFIG"] = str(kubeconfig or home / "no-kubeconfig")
    command = [str(program()), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
