"""A dead letter in words, for `handrail dlq`: bounded, without secrets, and unable to steer a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from handrail.cli.decode import as_it_would_be
from handrail.cli.decode import plain as plain_alerts
from handrail.cli.decode import show as show_alerts
from handrail.core.redact import MARK, hidden, redact, secret_name
from handrail.core.words import one_line as on_one_line
from handrail.model.arrival import Arrival
from handrail.model.config import Config, TopicConfig
from handrail.model.doors import DOORS
from handrail.model.letter import Letter
from handrail.model.record import Decoded, Record

MOST_VALUE = 4_000
"""Characters of a value that are shown, of at most four times as many bytes."""
MOST_BINARY = 256
"""Bytes of a value that is no text."""
MOST_HEADERS = 40


def one_line(letter: Letter) -> str:
    place = f"{letter.place.partition}/{letter.place.offset}"
    again = "  (sent back)" if letter.replayed_at else ""
    source = letter.came_from or "nowhere that is said"
    said = on_one_line(redact(letter.detail), 100)
    return f"{place:<10} {_time(letter.buried_at)}  {on_one_line(letter.reason, 24):<16} from {source}  {said}{again}"


def plain(letter: Letter) -> dict[str, Any]:
    source = letter.came_from
    return {
        **letter.place._asdict(),
        "at": letter.at.isoformat(),
        "buried_at": letter.buried_at.isoformat(),
        "reason": redact(letter.reason),
        "detail": redact(letter.detail),
        "part": letter.part,
        "came_from": source._asdict() if source else None,
        "bytes_left_out": letter.bytes_left_out,
        "returned": redact(letter.returned),
        "replayed_at": [at.isoformat() for at in letter.replayed_at],
    }


def shown_plainly(letter: Letter, config: Config) -> dict[str, Any]:
    decoded, arrivals = today(letter, config)
    return {
        **plain(letter),
        "headers": dict(headers(letter)),
        "bytes": len(letter.value or b""),
        "value": text_of(letter.value),
        "today": hidden(plain_alerts(decoded, arrivals)),
    }


def shown(letter: Letter, config: Config) -> None:
    source = letter.came_from or "nowhere that is said"
    click.echo(f"{letter.place}: {on_one_line(letter.reason, 60)}: {on_one_line(redact(letter.detail), 600)}")
    click.echo(f"  came from {source} at {_time(letter.at)}, buried at {_time(letter.buried_at)}")
    if letter.returned:
        click.echo(f"  was a letter before: {on_one_line(redact(letter.returned), 300)}")
    for at in letter.replayed_at:
        click.echo(f"  sent back at {_time(at)}")
    for name, text in headers(letter):
        click.echo(f"  header {name}={text}")
    size = letter.bytes_left_out or len(letter.value or b"")
    click.echo(f"value, {size} bytes{', left where they came from' if letter.bytes_left_out else ''}:")
    for line in text_of(letter.value).splitlines():
        click.echo(f"  | {line}")
    click.echo("today:")
    show_alerts(*today(letter, config), config)


def headers(letter: Letter) -> list[tuple[str, str]]:
    """Of the record itself, each on one line."""
    found = []
    for name, raw in letter.headers[:MOST_HEADERS]:
        text = MARK if secret_name(name) else redact(raw[:1000].decode(errors="backslashreplace"))
        found.append((on_one_line(redact(name), 60), on_one_line(text, 200)))
    return found


def text_of(value: bytes | None) -> str:
    """Its beginning, as text where it is some, else as hexadecimal numbers."""
    if value is None:
        return "(a tombstone)"
    raw = value[: 4 * MOST_VALUE]
    printable = sum(byte >= 32 or byte in b"\t\r\n" for byte in raw)
    if printable < 0.9 * len(raw):
        return raw[:MOST_BINARY].hex(" ") + (" …" if len(value) > MOST_BINARY else "")
    text = redact(raw.decode(errors="backslashreplace"))
    return text if len(value) <= len(raw) and len(text) <= MOST_VALUE else text[:MOST_VALUE] + "…"


def today(letter: Letter, config: Config) -> tuple[Decoded, list[Arrival]]:
    """What intake would make of it now."""
    source = letter.came_from
    name = source.topic if source else ""
    known = {**DOORS, **{topic.name: topic for topic in config.kafka.topics}}
    record = Record(
        topic=name,
        partition=source.partition if source else 0,
        offset=source.offset if source else 0,
        key=letter.key,
        value=letter.value,
        headers=letter.headers,
        at=letter.at,
    )
    return as_it_would_be(record, known.get(name, TopicConfig(name=name or "unknown")), config)


def decodes(letter: Letter, config: Config) -> bool:
    """Whether it is alerts by now, and nothing else."""
    decoded, arrivals = today(letter, config)
    return bool(arrivals) and not decoded.refused


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}Z"
