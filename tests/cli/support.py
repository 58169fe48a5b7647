"""Runs the command as a user does: all of it in this process, and a few times in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from handrail.cli import main

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
    """The console script's own function, ended as the interpreter would end it: what it raises is no end of its own.

    `environment` comes on top of ours, from which everything of Handrail's own is taken away.
    """
    without = {name: None for name in os.environ if name.startswith("HANDRAIL_")}
    with CliRunner().isolation(env={**without, **environment}) as (out, err, _), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["handrail", *(str(one) for one in arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        sys.stdout.flush()
        sys.stderr.flush()
        said, complained = out.getvalue().decode(), err.getvalue().decode()
    code = ended.value.code
    assert code is None or isinstance(code, int), code
    return Ran(code or 0, said, complained)


def in_a_process(*arguments: object, **environment: str) -> Ran:
    """The same, where starting and ending it is what is held: about a second of processor time for each."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("HANDRAIL_")}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, *(str(one) for one in arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**kept, **environment}
    )
    return Ran(done.returncode, done.stdout, done.stderr)
