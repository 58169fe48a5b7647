"""`handrail decode`: what a file of a topic would become, for whoever wires up alerts. Asks and sends nothing."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from handrail.cli.ending import FAILED, JSON, show_json

if TYPE_CHECKING:
    from handrail.model.arrival import Arrival
    from handrail.model.config import Config, TopicConfig
    from handrail.model.record import Decoded, Record

FORMATS = ["auto", "otlp_proto", "otlp_json", "alertmanager", "grafana", "cloudevents", "raw"]
MOST_SHOWN = 4200
"""Characters of a line: a label with its name."""

SIGNALS = ["auto", "logs", "metrics", "traces"]
UNNAMED = "(this cluster)"
"""Stands for the daemon's own cluster where no configuration names it."""


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--as", "encoding", type=click.Choice(FORMATS), help="Instead of telling the format by the bytes.")
@click.option("--signal", type=click.Choice(SIGNALS), help="Of OTLP, whose protobuf form doesn't name it.")
@click.option("--config", "path", type=click.Path(path_type=Path), help="Use its mapping and its cluster's name.")
@click.option("--topic", help="Read as this topic of --config is configured.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="A Kafka header (ce_id=…); repeatable.")
@click.option("--at", help="When the broker got it, as 2026-03-02T09:45:00Z.  [default: now]")
@click.option("--lines", is_flag=True, help="Each line of the file is a record.")
@JSON
def decode(file: IO[bytes], **how: Any) -> None:
    """Show what a record's value would become.

    Prints the alerts in FILE (- reads standard input): target or none, identity, episode, finding and how it is
    handled; or why it is refused and what to do. Exit 1 where a part is refused or no alert is found.

    \b
    Example:  handrail decode alert.json
    Example:  kcat -C -t otlp_logs -o -1 -c 1 -e -D '' | handrail decode - --signal logs
    Example:  handrail decode event.json --config handrail.yaml --topic events --at 2026-03-02T09:45:00Z
    """
    config = _config(how["path"])
    topic = _topic(config, how)
    found = [as_it_would_be(record, topic, config) for record in _records(file, how)]
    if how["as_json"]:
        shown = [plain(decoded, arrivals) for decoded, arrivals in found]
        show_json(shown if how["lines"] else shown[0])
    else:
        for decoded, arrivals in found:
            show(decoded, arrivals, config)
    if any(decoded.refused for decoded, _ in found) or not any(arrivals for _, arrivals in found):
        sys.exit(FAILED)


def _config(path: Path | None) -> Config | None:
    from handrail.adapters.settings import load_config

    return load_config(path) if path else None


def _topic(config: Config | None, how: dict[str, Any]) -> TopicConfig:
    """The topic of the configuration, with what the command line says instead."""
    from handrail.model.config import TopicConfig

    said = {key: how[key] for key in ("signal", "encoding") if how[key]}
    if not how["topic"]:
        return TopicConfig(name="file", **said)
    known = {topic.name: topic for topic in config.kafka.topics} if config else {}
    if how["topic"] not in known:
        names = ", ".join(known) or "none: give --config"
        raise click.BadParameter(f"no topic {how['topic']!r} is configured (known: {names})", param_hint="--topic")
    return known[how["topic"]].model_copy(update=said)


def _records(file: IO[bytes], how: dict[str, Any]) -> list[Record]:
    from handrail.decode import MAX_RECORD
    from handrail.model.record import Record

    value = file.read(64 * MAX_RECORD if how["lines"] else MAX_RECORD + 1)
    values = value.splitlines() if how["lines"] else [value]
    headers = tuple(_header(text) for text in how["headers"])
    at = _at(how["at"])
    return [Record(topic="file", partition=0, offset=n, value=v, headers=headers, at=at) for n, v in enumerate(values)]


def _header(text: str) -> tuple[str, bytes]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--header")
    return name, value.encode(errors="surrogateescape")


def _at(text: str | None) -> datetime:
    from handrail.decode.times import time_of

    if not text:
        return datetime.now(UTC)
    at = time_of(text)
    if at is None:
        raise click.BadParameter(f"{text!r} is no time with an offset, as 2026-03-02T09:45:00Z", param_hint="--at")
    return at


def as_it_would_be(record: Record, topic: TopicConfig, config: Config | None) -> tuple[Decoded, list[Arrival]]:
    """What intake would make of it today."""
    from handrail.core.correlate import arrival, findings_of, woken
    from handrail.decode import EVENT_AGE
    from handrail.decode import decode as decode_record
    from handrail.model.mapping import NO_MAPPING
    from handrail_detectors import catalogue

    decoded = decode_record(
        record,
        signal=topic.signal,
        encoding=topic.encoding,
        mapping=config.mapping_of(topic) if config else NO_MAPPING,
        event_age=timedelta(minutes=config.alerts.event_age_minutes) if config else EVENT_AGE,
    )
    cluster, detectors = config.cluster.name if config else UNNAMED, woken(catalogue())
    return decoded, [arrival(alert, cluster, findings_of(alert, detectors, record.at)) for alert in decoded.alerts]


def plain(decoded: Decoded, arrivals: list[Arrival]) -> dict[str, Any]:
    shown = decoded.model_dump(mode="json", include={"refused", "passed"})
    return {"alerts": [arrival.model_dump(mode="json") for arrival in arrivals], **shown}


def show(decoded: Decoded, arrivals: list[Arrival], config: Config | None) -> None:
    """For people: each word of the sender's on one line, without secrets and unable to steer a terminal."""
    from handrail.core.redact import redact
    from handrail.core.words import one_line

    for number, arrival in enumerate(arrivals, 1):
        alert = arrival.alert
        severity = f", severity {alert.severity}" if alert.severity else ""
        name = one_line(redact(alert.name), 200)
        click.echo(f"alert {number} of {len(arrivals)}: {name}, {alert.status}{severity}  [{alert.wire}]")
        for word, text in _lines(arrival, config):
            click.echo(f"  {word:<9} {one_line(redact(text), MOST_SHOWN)}")
    for part in decoded.refused:
        click.echo(f"refused (part {part.index + 1}): {part.reason}: {one_line(redact(part.detail), MOST_SHOWN)}")
    for over in decoded.passed:
        click.echo(f"passed over: {over.count} × {over.what}")


def _lines(arrival: Arrival, config: Config | None) -> list[tuple[str, str]]:
    alert, target = arrival.alert, arrival.target
    parts = [f"container {target.container}", f"uid {target.uid}"] if target else []
    about = ", ".join([str(target), *(part for part in parts if not part.endswith(" "))])
    return [
        ("target", about if target else "none: no label names one object, so a person decides"),
        ("cluster", _cluster(alert.cluster, config)),
        ("since", alert.starts_at.isoformat() if alert.starts_at else "not said"),
        ("identity", arrival.identity),
        ("episode", arrival.episode),
        *(("finding", f"{f.detector}: {f.handling}, cause {f.cause}: {f.summary}") for f in arrival.findings),
        *(
            [("left out", f"{alert.left_out} alerts of the group: what isn't here is not over")]
            if alert.left_out
            else []
        ),
        *(("label", f"{key}={text}") for key, text in sorted(alert.labels.items())),
    ]


def _cluster(named: str, config: Config | None) -> str:
    """With a configuration, also what follows of it."""
    if config is None:
        return named or "not said"
    if not named:
        return "not said" + ("" if config.cluster.accept_unlabelled else ": only recorded (accept_unlabelled: false)")
    return named if named == config.cluster.name else f"{named}: only recorded, since this is {config.cluster.name}"
