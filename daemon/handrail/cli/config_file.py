"""`--config`: the same option for every command that reads the daemon's configuration itself."""

from __future__ import annotations

from pathlib import Path

import click

CONFIG = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path),
    default="handrail.yaml",
    show_default=True,
    help="The daemon's configuration (`handrail config init` writes one).",
)
