"""Runs the command as a user does: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

SCRIPT = "import sys; from handrail.cli import main; sys.argv[0] = 'handrail'; main()"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def handrail(*arguments: object, **environment: str) -> Ran:
    """`environment` comes on top of ours, from which everything of Handrail's own is taken away."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("HANDRAIL_")}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, *(str(one) for one in arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**kept, **environment}
    )
    return Ran(done.returncode, done.stdout, done.stderr)
