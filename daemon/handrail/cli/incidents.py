"""`handrail incidents list|show|report`."""

from __future__ import annotations

import json
import sys

import click

from handrail.cli.client import Client, with_client


@click.group()
def incidents() -> None:
    """See what happened, what is happening, and why."""


@incidents.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@with_client
def list_(client: Client, limit: int, as_json: bool) -> None:
    """The newest incidents, one a line.

    \b
    Example:  handrail incidents list --limit 10
    """
    rows = client.get(f"/api/v1/incidents?limit={limit}")["incidents"]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    if not rows:
        click.echo("no incidents yet")
    for row in rows:
        click.echo(f"{row['id']}  {row['state']:<12} {row['opened_at'][:19]}  {row['title']}  {row['target']}")
        if row.get("left"):
            click.echo(f"    not driven by this build: {row['left']}")


@incidents.command()
@click.argument("id_", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@with_client
def show(client: Client, id_: str, as_json: bool) -> None:
    """The card of an incident, and its story so far.

    ID may be cut short where it stays unambiguous.

    \b
    Example:  handrail incidents show inc-abc
    """
    found = client.get(f"/api/v1/incidents/{id_}")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    from handrail.console.terminal import render
    from handrail.model.card import Card

    click.echo(render(Card.model_validate(found["card"]), colour=sys.stdout.isatty()))
    click.echo()
    for told in found["story"]:
        click.echo(f"{told['at'][11:19]}  {told['line']}")


@incidents.command()
@click.argument("id_", metavar="ID")
@with_client
def report(client: Client, id_: str) -> None:
    """The whole story of an incident in one text.

    What was seen, decided and done, by whom, and how it ended: for the post-mortem.

    \b
    Example:  handrail incidents report inc-abc > report.md
    """
    click.echo(client.text(f"/api/v1/incidents/{id_}/report"))
