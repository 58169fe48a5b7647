"""How each command that has --json is called, and which of them ask the daemon."""

from __future__ import annotations

from tests.cli.test_commands import command_at

Path_ = tuple[str, ...]

CALLED: dict[Path_, list[str]] = {
    ("check",): [],
    ("decode",): ["-"],
    ("incidents", "list"): [],
    ("incidents", "show"): ["inc-1"],
    ("incidents", "cancel"): ["inc-1", "--reason", "why"],
    ("incidents", "retry"): ["inc-1", "--reason", "why"],
    ("incidents", "undo"): ["inc-1", "--reason", "why"],
    ("approve",): ["inc-1", "--yes"],
    ("reject",): ["inc-1"],
    ("take",): ["inc-1"],
    ("give-back",): ["inc-1"],
    ("stop",): ["--reason", "why"],
    ("start",): [],
    ("status",): [],
    ("dlq", "list"): [],
    ("dlq", "show"): ["0/0"],
    ("dlq", "replay"): ["0/0"],
    ("audit", "verify"): [],
    ("store", "upgrade"): [],
    ("store", "status"): [],
    ("steps",): [],
    ("detectors",): [],
}
"""How each that has --json is called; a new command has to say it here."""


def options_of(path: Path_) -> set[str]:
    return {text for option in command_at(path).params for text in option.opts}


ASK_THE_DAEMON = [path for path in CALLED if "--server" in options_of(path)]
