"""`handrail audit verify`: recomputes the hash chain of every journal."""

from __future__ import annotations

import click

from handrail.cli.client import Client, flat, with_client
from handrail.cli.ending import FAILED, JSON, show_json
from handrail.cli.shapes import CHAINS


@click.group()
def audit() -> None:
    """Prove that the journals are as they were written."""


@audit.command()
@JSON
@with_client
def verify(client: Client, as_json: bool) -> None:
    """Recompute every journal's hash chain.

    Exit 1 where one is not as it was written, with the place and what is wrong there.

    \b
    Example:  handrail audit verify
    """
    found = client.get("/api/v1/audit", CHAINS)
    if as_json:
        show_json(found)
    else:
        for stream in found["streams"]:
            if not stream["ok"]:
                what = flat(f"{stream['stream']}: broken at {stream.get('broken_at')}: {stream['problem']}")
                click.echo(what)
        whole = sum(1 for stream in found["streams"] if stream["ok"])
        click.echo(f"{whole} of {len(found['streams'])} journals are whole")
    if not found["ok"]:
        raise click.exceptions.Exit(FAILED)
