"""`handrail demo`: one incident from alert to repair on this machine, through the real daemon.

An embedded broker, a simulated cluster and SQLite stand around the same code that `handrail run` runs. Nothing here
takes part in deciding: it sets the stage, sends the alert, and asks the person at the terminal.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import click

from handrail.cli.cards import show_card


@click.command()
@click.option("--yes", is_flag=True, help="Approve without asking; exit 1 unless the incident ends RESOLVED.")
@click.option("--keep", is_flag=True, help="Leave everything running until Ctrl-C, to look around with the CLI.")
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
    try:
        state = asyncio.run(_play(yes=yes, keep=keep))
    except asyncio.CancelledError:
        raise click.Abort from None
    sys.exit(0 if state == "RESOLVED" else 1)


async def _play(*, yes: bool, keep: bool) -> str:
    """Ctrl-C (asyncio's own doing) and SIGTERM cancel it wherever it is; what it started ends either way."""
    from handrail.cli.demo_stage import Stage

    playing = asyncio.current_task()
    if playing is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, playing.cancel)
    async with Stage(_progress) as stage:
        await stage.set_up()
        incident = await _asked(stage)
        if incident is not None:
            await _decide(stage, incident, yes=yes)
        incident, state = await _ended(stage)
        click.echo()
        click.echo(await stage.text(f"/api/v1/incidents/{incident}/report"))
        if keep:
            await _stay(stage, incident)
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
    found = await stage.get(f"/api/v1/incidents/{incident}")
    click.echo()
    show_card(found["card"])
    click.echo()
    if yes:
        await _answer(stage, found, "approve")
        return
    click.echo(f"In another terminal it takes this first:  {stage.where()}")
    agreed = await _confirmed(stage, incident, found["card"]["request"])
    if agreed is not None:
        await _answer(stage, found, "approve" if agreed else "reject")


async def _answer(stage: Any, found: dict[str, Any], verb: str) -> None:
    answer = await stage.post(f"/api/v1/incidents/{found['incident']}/{verb}", {"request": found["card"]["request"]})
    _progress(answer["message"])


async def _confirmed(stage: Any, incident: str, request: str) -> bool | None:
    """Yes or no from the terminal; None when it is asked no more, because it was decided elsewhere or time is up."""
    click.echo("Do exactly this? [y/N]: ", nl=False)
    typed = asyncio.create_task(_typed())
    try:
        while not typed.done():
            await asyncio.wait({typed}, timeout=1.0)
            if not typed.done() and (await stage.get(f"/api/v1/incidents/{incident}"))["card"]["request"] != request:
                click.echo()
                return None
        return typed.result().strip().lower() in ("y", "yes")
    finally:
        typed.cancel()


async def _typed() -> str:
    """A line from the terminal. Never read in a thread: that could not be ended, and Ctrl-C would hang on it."""
    loop = asyncio.get_running_loop()
    there = asyncio.Event()
    loop.add_reader(sys.stdin, there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()


async def _stay(stage: Any, incident: str) -> None:
    """Until Ctrl-C or SIGTERM, or until the daemon has ended by itself: nothing is said to run that does not."""
    click.echo("Everything goes on running. In another terminal:")
    for line in stage.hints(incident):
        click.echo(f"    {line}")
    click.echo("Ctrl-C here ends it.")
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, told.set)
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait({waiting, stage.running}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    click.echo()
    _progress("ending it")
