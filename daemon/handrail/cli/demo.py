"""`handrail demo`: one incident from alert to repair on this machine, through the real daemon.

An embedded broker, a simulated cluster and SQLite stand around the same code that `handrail run` runs. Nothing here
takes part in deciding: it sets the stage, sends the alert, and asks the person at the terminal.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click


@click.command()
@click.option("--yes", is_flag=True, help="Approve without asking; exit 1 unless the incident ends RESOLVED.")
@click.option("--keep", is_flag=True, help="Leave everything running afterwards, to look around with the CLI.")
def demo(yes: bool, keep: bool) -> None:
    """Watch one incident from alert to repair, here.

    \b
    A bad image is rolled out in a simulated cluster. The alert goes into Kafka as OTLP. The daemon finds the
    cause, plans by runbook, rehearses on the API server, and asks you. It takes less than a minute.

    \b
    Example:  handrail demo --keep
    """
    if not yes and not sys.stdin.isatty():
        raise click.ClickException("nobody can be asked here: run it in a terminal, or with --yes")
    state = asyncio.run(_play(yes=yes, keep=keep))
    sys.exit(0 if state == "RESOLVED" else 1)


async def _play(*, yes: bool, keep: bool) -> str:
    from handrail.cli.demo_stage import Stage

    async with Stage(_progress) as stage:
        await stage.set_up()
        incident = await _asked(stage)
        if incident is not None:
            await _decide(stage, incident, yes=yes)
        incident, state = await _ended(stage)
        click.echo()
        click.echo(await stage.text(f"/api/v1/incidents/{incident}/report"))
        if keep:
            await _stay(stage)
        click.echo(f"{incident} {state}")
        return state


def _progress(text: str) -> None:
    click.echo(click.style("· ", fg="cyan") + text)


async def _asked(stage: Any) -> str | None:
    """The incident that asks, telling its story on the way; None when it ended without asking."""
    async for found in stage.follow():
        if found["card"]["request"]:
            return str(found["incident"])
    return None


async def _ended(stage: Any) -> tuple[str, str]:
    found: dict[str, Any] = {}
    async for found in stage.follow():  # noqa: B007 -- the last one is what counts
        pass
    return found["incident"], found["card"]["state"]


async def _decide(stage: Any, incident: str, *, yes: bool) -> None:
    from handrail.console.terminal import render
    from handrail.model.card import Card

    found = await stage.get(f"/api/v1/incidents/{incident}")
    click.echo()
    click.echo(render(Card.model_validate(found["card"]), colour=sys.stdout.isatty()))
    click.echo()
    approve = yes or await asyncio.to_thread(_confirm, "Do exactly this?")
    verb = "approve" if approve else "reject"
    answer = await stage.post(f"/api/v1/incidents/{incident}/{verb}", {"request": found["card"]["request"]})
    _progress(answer["message"])


def _confirm(question: str) -> bool:
    return click.confirm(question, default=False)


async def _stay(stage: Any) -> None:
    click.echo("Everything goes on running. In another terminal:")
    for line in stage.hints():
        click.echo(f"    {line}")
    await asyncio.to_thread(click.pause, "Press any key here to end it.")
