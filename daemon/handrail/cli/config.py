"""`handrail config init`: a commented file to begin with."""

from __future__ import annotations

from pathlib import Path

import click


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

    text = STARTER.format(cluster=cluster)
    if output is None:
        click.echo(text, nl=False)
    elif output.exists():
        raise click.ClickException(f"{output} is there already; remove it or name another file")
    else:
        output.write_text(text, encoding="utf-8")
        click.echo(f"wrote {output}; next: edit it, then `handrail check --config {output}`")
