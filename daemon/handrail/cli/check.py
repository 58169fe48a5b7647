"""`handrail check`: proves the configuration and everything it points to."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from handrail.cli.config_file import CONFIG
from handrail.cli.ending import FAILED, JSON, WRONG, show_json


@click.command()
@CONFIG
@JSON
def check(path: Path, as_json: bool) -> None:
    """Prove the configuration and all that it names.

    Files, brokers, topics, cluster, rights, Slack, model and the rest: one line each, `ok` or `FAIL` with what to do;
    exit 1 where one fails, 2 where the configuration itself is wrong. Changes nothing; waits ten seconds at most.

    \b
    Example:  handrail check --config handrail.yaml
    """
    from handrail.adapters.telemetry import quiet_libraries
    from handrail.check import check as prove

    quiet_libraries()
    lines = asyncio.run(prove(path, lambda text: click.echo(f"… {text}", err=True)))
    failed = [line for line in lines if not line.ok]
    if as_json:
        said = f"{len(lines) - len(failed)} of {len(lines)} are well"
        answer = {"ok": not failed, "reason": "", "message": said}
        show_json({**answer, "checks": [line.model_dump() for line in lines]})
    else:
        for line in lines:
            click.echo(str(line))
    if failed:
        sys.exit(WRONG if any(line.subject == "config" for line in failed) else FAILED)
