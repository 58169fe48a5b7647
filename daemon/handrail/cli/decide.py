"""`handrail approve|reject|take|give-back ID`: the second way to decide, for when Slack is not there."""

from __future__ import annotations

from typing import Any

import click

from handrail.cli.cards import show_card
from handrail.cli.client import Client, flat, tell, with_client
from handrail.cli.ending import JSON, Refused
from handrail.cli.incident_id import INCIDENT
from handrail.cli.shapes import ASKED


@click.command()
@INCIDENT
@click.option("--yes", is_flag=True, help="Don't show the card and ask again.")
@JSON
@with_client
def approve(client: Client, id_: str, yes: bool, as_json: bool) -> None:
    """Approve exactly what the card shows.

    \b
    Example:  handrail approve inc-abc
    """
    if as_json and not yes:
        raise click.UsageError("--json shows no card and asks nobody: say --yes too")
    found = _asked(client, id_)
    if not yes:
        show_card(found["card"])
        click.confirm("Do exactly this?", abort=True)
    _decide(client, id_, "approve", found["card"]["request"], as_json=as_json)


@click.command()
@INCIDENT
@JSON
@with_client
def reject(client: Client, id_: str, as_json: bool) -> None:
    """Reject what the card shows; a person gets the incident.

    Nothing more is written.

    \b
    Example:  handrail reject inc-abc
    """
    _decide(client, id_, "reject", _asked(client, id_)["card"]["request"], as_json=as_json)


@click.command()
@INCIDENT
@JSON
@with_client
def take(client: Client, id_: str, as_json: bool) -> None:
    """Take an incident off Handrail's hands.

    Nothing is done to it until you give it back, for 24 hours at most; what is in flight is still recorded.

    \b
    Example:  handrail take inc-abc
    """
    _decide(client, id_, "take", None, as_json=as_json)


@click.command("give-back")
@INCIDENT
@JSON
@with_client
def give_back(client: Client, id_: str, as_json: bool) -> None:
    """Give an incident back: it goes on where it stood.

    \b
    Example:  handrail give-back inc-abc
    """
    _decide(client, id_, "give-back", None, as_json=as_json)


def _asked(client: Client, id_: str) -> Any:
    """What the caller saw is what is approved: the request's id travels with the answer."""
    found = client.get(f"/api/v1/incidents/{id_}", ASKED)
    if not found["card"]["request"]:
        said = f"{found['incident']} asks nothing now: {found['card']['status']}"
        raise Refused(flat(said), "STATE_CHANGED")
    return found


def _decide(client: Client, id_: str, verb: str, request: str | None, *, as_json: bool) -> None:
    tell(client.post(f"/api/v1/incidents/{id_}/{verb}", {"request": request}), as_json=as_json)
