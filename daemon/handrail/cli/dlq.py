"""`handrail dlq list|show|replay`: dead letters, looked at and sent back. Needs the brokers, not the daemon."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from handrail.cli.config_file import CONFIG
from handrail.cli.ending import JSON, REFUSED, WrongCall, say, show_json, waiting
from handrail.cli.named import named

if TYPE_CHECKING:
    from handrail.core.letters import Consent
    from handrail.model.config import Config
    from handrail.model.letter import Letter

T = TypeVar("T")

REASON = named("--reason", metavar="WORD", help="Only those with this reason, as MALFORMED.")
LIMIT = click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Only the newest.")


@click.group()
def dlq() -> None:
    """Look at records that were no alerts, and send them back."""


@dlq.command("list")
@CONFIG
@REASON
@LIMIT
@JSON
def list_(path: Path, reason: str, limit: int, as_json: bool) -> None:
    """The newest dead letters, oldest of them first.

    Where each lies (partition/offset), when it was buried, why, and where it came from.

    \b
    Example:  handrail dlq list --reason MALFORMED --limit 10
    """
    from handrail.cli.letters import one_line, plain

    found = _run(_letters(_config(path)).newest(limit, reason))
    if as_json:
        show_json([plain(letter) for letter in found])
        return
    if not found:
        click.echo("no dead letters" + (f" with reason {reason}" if reason else ""))
    for letter in found:
        click.echo(one_line(letter))


@dlq.command()
@click.argument("place", metavar="PARTITION/OFFSET")
@CONFIG
@JSON
def show(place: str, path: Path, as_json: bool) -> None:
    """One dead letter, and what it would become today.

    Its reason, its headers and the beginning of its value (without secrets, and without what would steer a terminal),
    then what `handrail decode` says of it with this configuration.

    \b
    Example:  handrail dlq show 0/15
    """
    from handrail.cli.letters import shown, shown_plainly

    config, wanted = _config(path), _place(place)
    letter = _run(_letters(config).at([wanted])).get(wanted)
    if letter is None:
        raise WrongCall(f"there is no dead letter at {place} of {config.kafka.dead_letter_topic}")
    if as_json:
        show_json(shown_plainly(letter, config))
    else:
        shown(letter, config)


@dlq.command()
@click.argument("places", nargs=-1, metavar="[PARTITION/OFFSET]...")
@click.option("--all", "everything", is_flag=True, help="The newest, instead of naming them (see --limit, --reason).")
@CONFIG
@REASON
@LIMIT
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
@click.option("--force", is_flag=True, help="Those too that still are no alerts.")
@click.option("--again", is_flag=True, help="Those too that were sent back before.")
@JSON
def replay(places: tuple[str, ...], path: Path, as_json: bool, **how: Any) -> None:
    """Send dead letters back to the topic that they came from.

    Once each, and only those that are alerts by now. They come back as they were and as old as they were: an alert that
    is older than `alert_age_minutes` of the policy is recorded and opens no incident. Exit 3 where one stays.

    \b
    Example:  handrail dlq replay 0/15 0/16
              handrail dlq replay --all --reason UNKNOWN_FORMAT --dry-run
    """
    from handrail.core.letters import Consent

    if bool(places) == how["everything"]:
        raise click.UsageError("name letters as PARTITION/OFFSET, or say --all")
    config, wanted = _config(path), [_place(place) for place in places]
    if how["everything"]:
        wanted = [one.place[1:] for one in _run(_letters(config).newest(how["limit"], how["reason"]))]
    consent = Consent(force=how["force"], again=how["again"])
    results = _run(_replay(config, wanted, consent, dry=how["dry_run"]))
    stay = [result for result in results if result["why_not"]]
    if not as_json:
        click.echo("\n".join(_lines(results, dry=how["dry_run"])) or "no dead letters")
    else:
        went = "would go back" if how["dry_run"] else "went back"
        said = f"{len(results) - len(stay)} of {len(results)} {went}"
        say(said, as_json=True, ok=not stay, letters=results)
    if stay:
        sys.exit(REFUSED)


def _lines(results: list[dict[str, Any]], *, dry: bool) -> Iterator[str]:
    for result in results:
        done = f"{'would go' if dry else 'sent'} back to {result['to']}"
        yield f"{result['letter']}  {('stays: ' + result['why_not']) if result['why_not'] else done}"


async def _replay(
    config: Config, wanted: list[tuple[int, int]], consent: Consent, *, dry: bool
) -> list[dict[str, Any]]:
    """The letters are read after the sending has been taken over: what another one sent is noted by then."""
    letters = _letters(config)
    if dry:
        found = await letters.at(wanted)
        return [_judged(config, place, found.get(place), consent) for place in wanted]
    async with letters.replay() as sender:
        found, results = await letters.at(wanted), []
        for place in dict.fromkeys(wanted):
            letter = found.get(place)
            result = _judged(config, place, letter, consent)
            if letter is not None and not result["why_not"]:
                await sender.send_back(letter)
            results.append(result)
        return results


def _judged(config: Config, place: tuple[int, int], letter: Letter | None, consent: Consent) -> dict[str, Any]:
    from handrail.cli.letters import decodes
    from handrail.core.letters import why_not

    topics = [topic.name for topic in config.kafka.topics]
    why = "there is no dead letter there"
    if letter is not None:
        why = why_not(letter, topics, decodes(letter, config), consent)
    source = letter.came_from if letter else None
    return {"letter": f"{place[0]}/{place[1]}", "to": source.topic if source else "", "why_not": why}


def _config(path: Path) -> Config:
    from handrail.adapters.settings import load_config
    from handrail.adapters.telemetry import quiet_libraries

    quiet_libraries()
    return load_config(path)


def _letters(config: Config) -> Any:
    from handrail.adapters.kafka import DeadLetters

    return DeadLetters(config.kafka)


def _place(text: str) -> tuple[int, int]:
    partition, _, offset = text.partition("/")
    if not (partition.isdecimal() and offset.isdecimal() and text.isascii() and len(text) < 30):
        raise click.BadParameter(f"{text[:40]!r} is not PARTITION/OFFSET, as `handrail dlq list` shows it")
    return int(partition), int(offset)


def _run(work: Coroutine[Any, Any, T]) -> T:
    with waiting("the brokers"):
        return asyncio.run(work)
