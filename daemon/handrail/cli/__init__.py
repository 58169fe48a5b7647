"""The `handrail` command. Each verb loads what it needs itself, so that `handrail --help` stays quick."""

from __future__ import annotations

import importlib
import io
import sys

import click

from handrail import __version__
from handrail.cli.ending import EXITS, Manner, end
from handrail.model.errors import HandrailError

VERBS = {
    "run": "handrail.cli.run:run",
    "check": "handrail.cli.check:check",
    "config": "handrail.cli.config:config",
    "decode": "handrail.cli.decode:decode",
    "demo": "handrail.cli.demo:demo",
    "incidents": "handrail.cli.incidents:incidents",
    "approve": "handrail.cli.decide:approve",
    "reject": "handrail.cli.decide:reject",
    "take": "handrail.cli.decide:take",
    "give-back": "handrail.cli.decide:give_back",
    "stop": "handrail.cli.switch:stop",
    "start": "handrail.cli.switch:start",
    "status": "handrail.cli.switch:status",
    "dlq": "handrail.cli.dlq:dlq",
    "audit": "handrail.cli.audit:audit",
    "store": "handrail.cli.store:store",
    "rbac": "handrail.cli.rbac:rbac",
    "admission": "handrail.cli.rbac:admission",
    "steps": "handrail.cli.catalogue:steps",
    "detectors": "handrail.cli.catalogue:detectors",
    "schema": "handrail.cli.schema:schema",
}


class _Lazy(click.Group):
    """Imports a verb's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name].partition(":")
        found: click.Command = getattr(importlib.import_module(module), name)
        return found


ENDS = "\b\nExit codes:\n" + "\n".join(f"{code:>5}  {said}" for code, said in EXITS.items())


@click.command(
    cls=_Lazy, epilog=ENDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="handrail")
def cli() -> None:
    """The model plans. Fixed hands act. People hold the rail.

    \b
    Try it on this machine:      handrail demo
    Write a configuration:       handrail config init > handrail.yaml
    Prove it:                    handrail check --config handrail.yaml
    Run the daemon:              handrail run --config handrail.yaml
    See what it does:            handrail incidents list
    Stop everything it writes:   handrail stop --reason "release freeze"
    """


def main() -> None:
    """The console script: whatever goes wrong is a line that says what to do, never a traceback."""
    manner = Manner()
    _show_what_can_be_shown()
    try:
        sys.exit(cli(standalone_mode=False, obj=manner))  # click hands an Exit's code back here instead of raising it
    except (click.exceptions.Abort, click.ClickException, HandrailError, OSError) as wrong:
        sys.exit(end(wrong, manner))


def _show_what_can_be_shown() -> None:
    """In a locale without our signs (ISO-8859-1, say) they become question marks, not the end of the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # None where it was closed
        sys.stdout.reconfigure(errors="replace")
