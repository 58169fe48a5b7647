"""`handrail incidents list|show|report`, and `cancel|retry|undo` with a reason."""

from __future__ import annotations

import click

from handrail.cli.cards import show_card
from handrail.cli.client import Client, flat, tell, with_client
from handrail.cli.ending import JSON, show_json
from handrail.cli.incident_id import INCIDENT
from handrail.cli.shapes import ROWS, SHOWN


@click.group()
def incidents() -> None:
    """See what happened, what is happening, and why."""


@incidents.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@JSON
@with_client
def list_(client: Client, limit: int, as_json: bool) -> None:
    """The newest incidents, one a line.

    \b
    Example:  handrail incidents list --limit 10
    """
    rows = client.get(f"/api/v1/incidents?limit={limit}", ROWS)["incidents"]
    if as_json:
        show_json(rows)
        return
    if not rows:
        click.echo("no incidents yet")
    for row in rows:
        about = f"{flat(row['title'])}  {flat(row['target'])}"
        click.echo(f"{flat(row['id'])}  {flat(row['state']):<12} {flat(row['opened_at'])[:19]}  {about}")
        if row.get("left"):
            click.echo(f"    not driven by this build: {flat(str(row['left']))}")


@incidents.command()
@INCIDENT
@JSON
@with_client
def show(client: Client, id_: str, as_json: bool) -> None:
    """The card of an incident, and its story so far.

    ID may be cut short where it stays unambiguous.

    \b
    Example:  handrail incidents show inc-abc
    """
    found = client.get(f"/api/v1/incidents/{id_}", SHOWN)
    if as_json:
        show_json(found)
        return
    show_card(found["card"])
    click.echo()
    for entry in found["story"]:
        click.echo(f"{flat(entry['at'])[11:19]}  {flat(entry['line'])}")


@incidents.command()
@INCIDENT
@with_client
def report(client: Client, id_: str) -> None:
    """The whole story of an incident in one text.

    What was seen, decided and done, by whom, and how it ended: for the post-mortem.

    \b
    Example:  handrail incidents report inc-abc > report.md
    """
    click.echo(client.text(f"/api/v1/incidents/{id_}/report"))


def _reasoned(verb: str, help_: str) -> None:
    """Adds a command that asks for something about a whole incident."""

    @incidents.command(verb, help=help_)
    @INCIDENT
    @click.option("--reason", required=True, help="Why; it stands in the journal beside your name.")
    @JSON
    @with_client
    def asked(client: Client, id_: str, reason: str, as_json: bool) -> None:
        tell(client.post(f"/api/v1/incidents/{id_}/{verb}", {"why": reason}), as_json=as_json)


_reasoned(
    "cancel",
    """End an open incident as it is.

    A person gets it. Nothing more is written, nothing is undone; what is in flight is found out first. What is
    half-done is said.

    \b
    Example:  handrail incidents cancel inc-abc --reason "known, the release is being rolled back by hand"
    """,
)
_reasoned(
    "retry",
    """Begin a closed incident once more.

    As another one, linked to it, for the same alert and object. It is looked at and asked anew. There is one open
    incident per object, and between the runs of two on one object the policy's interval passes, as always.

    \b
    Example:  handrail incidents retry inc-abc --reason "the registry is back"
    """,
)
_reasoned(
    "undo",
    """Ask to take back what its last run did.

    A new incident rehearses it, last step first, and shows what would change: an approver decides, as for any
    disruptive step. Only what completed is taken back, and only if nobody has touched the object since.

    \b
    Example:  handrail incidents undo inc-abc --reason "the old release lacks a fix that we need"
    """,
)
