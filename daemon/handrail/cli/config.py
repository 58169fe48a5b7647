"""`handrail config init`: a commented file to begin with."""

from __future__ import annotations

import re
from pathlib import Path

import click

from handrail.cli.ending import WrongCall


@click.group()
def config() -> None:
    """Write and read configuration files."""


@config.command()
@click.option("--cluster", default="my-cluster", show_default=True, help="The cluster's name, as alerts label it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of standard output.")
def init(cluster: str, output: Path | None) -> None:
    """Write a commented configuration.

    \b
    Example:  handrail config init --cluster prod-eu1 -o handrail.yaml
    """
    from handrail.adapters.settings import STARTER

    if not re.fullmatch(r"[\w.:/@ -]+", cluster):
        raise click.BadParameter(f"{cluster!r} is no name: letters, digits and . : / @ - _", param_hint="--cluster")
    text = STARTER.format(cluster=cluster)
    if output is None:
        click.echo(text, nl=False)
    elif output.exists():
        raise WrongCall(f"{output} is there already; remove it or name another file")
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as wrong:
            raise WrongCall(f"{output} can't be written: {wrong}") from wrong
        click.echo(f"wrote {output}; next: edit it, then `handrail check --config {output}`")
