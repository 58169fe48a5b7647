"""`handrail run`: the daemon."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from handrail.cli.config_file import CONFIG


@click.command()
@CONFIG
def run(path: Path) -> None:
    """Run the daemon until SIGTERM or Ctrl-C.

    \b
    Example:  handrail run --config /etc/handrail/handrail.yaml
    """
    from handrail.adapters.settings import load_config
    from handrail.adapters.telemetry import configure_logs
    from handrail.main import run as run_daemon

    config = load_config(path)
    configure_logs(config.log)
    asyncio.run(run_daemon(config))
