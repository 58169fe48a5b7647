"""`handrail stop|start|status`: the stop switch. It is checked before every single write."""

from __future__ import annotations

import json

import click

from handrail.cli.client import Client, with_client
from handrail.core.words import plural


@click.command()
@click.option("--reason", required=True, help="Why; everybody who looks will read it.")
@with_client
def stop(client: Client, reason: str) -> None:
    """Stop every write from now on.

    What is in flight is recorded; nothing is cancelled or undone.

    \b
    Example:  handrail stop --reason "release freeze until Monday"
    """
    _say(client.post("/api/v1/stop", {"why": reason}))


@click.command()
@with_client
def start(client: Client) -> None:
    """Let incidents go on where they stood.

    \b
    Example:  handrail start
    """
    _say(client.post("/api/v1/start", {}))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@with_client
def status(client: Client, as_json: bool) -> None:
    """Say whether it is stopped, and what is open.

    By whom and why it was stopped, and how many incidents are open.

    \b
    Example:  handrail status
    """
    found = client.get("/api/v1/status")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    switch = found["switch"]
    if found["stopped"]:
        click.echo(f"STOPPED by {switch['by']} at {switch['at'][:19]}Z: {switch['why']}")
    else:
        click.echo("not stopped")
    click.echo(plural(found["open_incidents"], "open incident"))


def _say(answer: dict[str, str]) -> None:
    if not answer["ok"]:
        raise click.ClickException(answer["message"])
    click.echo(answer["message"])
