"""`handrail check`: proves the configuration and everything it points to."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import click

from handrail.cli.config_file import CONFIG


@click.command()
@CONFIG
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
def check(path: Path, as_json: bool) -> None:
    """Prove the configuration and all that it names.

    Files, brokers, topics, cluster, rights, Slack, model and the rest: one line each, `ok` or `FAIL` with what to do;
    exit 1 where one fails. Changes nothing; waits ten seconds at most.

    \b
    Example:  handrail check --config handrail.yaml
    """
    from handrail.adapters.telemetry import quiet_libraries
    from handrail.check import check as prove

    quiet_libraries()
    lines = asyncio.run(prove(path, lambda text: click.echo(f"… {text}", err=True)))
    whole = all(line.ok for line in lines)
    if as_json:
        click.echo(json.dumps({"ok": whole, "checks": [line.model_dump() for line in lines]}, indent=2))
    else:
        for line in lines:
            click.echo(str(line))
    if not whole:
        sys.exit(1)
