"""`handrail schema`: the shape of what others read."""

from __future__ import annotations

import json

import click


@click.group()
def schema() -> None:
    """The shapes of what Handrail gives to others."""


@schema.command()
def events() -> None:
    """Print the JSON Schema of the events that are published.

    These are the messages of the topic `kafka.events_topic`; `x-versions` has the version of each kind.

    \b
    Example:  handrail schema events > events.schema.json
    """
    from handrail.core.publishing import schema as of_events

    click.echo(json.dumps(of_events(), indent=2))
