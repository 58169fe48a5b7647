"""`handrail store upgrade|status`: the database's schema, beside the daemon."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from handrail.cli.config_file import CONFIG
from handrail.cli.ending import FAILED, JSON, say, show_json, waiting

USER = click.option("--user", default="", help="The role that may change the schema, instead of the URL's.")
PASSWORD = click.option(
    "--password-file", type=click.Path(path_type=Path), help="Its password; without one libpq's own ways are left."
)


@click.group()
def store() -> None:
    """Bring the database to this build's schema, or see it."""


@store.command()
@CONFIG
@USER
@PASSWORD
@click.option("--grant-to", default="", help="The daemon's role: it gets the rights it needs, and no more.")
@JSON
def upgrade(path: Path, user: str, password_file: Path | None, grant_to: str, as_json: bool) -> None:
    """Migrate the schema, where it is an older one.

    On PostgreSQL the daemon never does it by itself: run this first, with a role that may change the schema. Builds
    before this one go on working beside it.

    \b
    Example:  handrail store upgrade --user handrail_owner --password-file owner --grant-to handrail
    """
    from handrail.adapters.settings import load_config
    from handrail.adapters.store.configured import access_as
    from handrail.adapters.store.upgrading import upgrade_store

    config = load_config(path).store
    access = access_as(config, user, password_file)
    with waiting("the database"):
        before, after = asyncio.run(upgrade_store(config.url, access, grant_to=grant_to))
    moved = f"schema {before.schema} -> {after.schema}" if before != after else f"schema {after.schema}, as it was"
    said = f"{moved}; readers from {after.min_reader} on"
    if grant_to:
        said += f"\n{grant_to} may read and insert in the journal, and not change it"
    say(
        said,
        as_json=as_json,
        before=before.schema,
        schema=after.schema,
        min_reader=after.min_reader,
        granted_to=grant_to,
    )


@store.command()
@CONFIG
@USER
@PASSWORD
@JSON
def status(path: Path, user: str, password_file: Path | None, as_json: bool) -> None:
    """Say which schema the database has.

    Exit 1 where it may not. On SQLite the daemon must not be running: it has the file for itself.

    \b
    Example:  handrail store status --config handrail.yaml
    """
    from handrail.adapters.settings import load_config
    from handrail.adapters.store.configured import access_as
    from handrail.adapters.store.schema import READER, SCHEMA
    from handrail.adapters.store.upgrading import look_at_store

    config = load_config(path).store
    with waiting("the database"):
        found, too_much = asyncio.run(look_at_store(config.url, access_as(config, user, password_file)))
    problem = ""
    if found.min_reader > READER:
        problem = f"only builds that read {found.min_reader} or newer may use it; this one reads {READER}"
    elif found.is_old:
        problem = "run `handrail store upgrade` before this build starts (on SQLite it does so itself)"
    if as_json:
        said = {"schema": found.schema, "min_reader": found.min_reader, "needs": SCHEMA, "reads": READER}
        show_json({**said, "problem": problem, "too_much": too_much})
    else:
        click.echo(f"schema {found.schema} (this build needs {SCHEMA}), readers from {found.min_reader} on")
        for line in filter(None, (problem, too_much)):
            click.echo(line)
    if problem:
        raise click.exceptions.Exit(FAILED)
