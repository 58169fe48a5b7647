"""Writes docs/reference from the code: `make docs`. A test fails while they differ."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from handrail.cli import cli
from handrail.cli.ending import EXITS
from handrail.core.publishing import MOST_BYTES, kinds, schema
from handrail.model import events as ev

REFERENCE = Path(__file__).parent / "reference"
LONGEST = 90
"""Characters of a field's type that are shown; longer ones are read in the schema itself."""

HEAD = f"""\
# Events that Handrail publishes

<!-- written by `make docs` from the code: do not edit -->

Name a topic in `kafka.events_topic`, and every event of every incident's journal is published there, for dashboards,
ticket systems and archives. The JSON Schema of the messages is printed by

    handrail schema events

## What you can rely on

- **At least once, and in order.** A message is sent, and only then the cursor moves: after a crash some come again. In
  an incident they come in the order of `seq`, which begins at 1 and has no gaps. Keep the highest `seq` of each
  incident and drop what is not above it. Changing the number of partitions breaks the order across that moment.
- **The key is the incident's id**, so all of an incident is in one partition.
- **Headers say what is in it** without parsing: `handrail.incident`, `handrail.seq`, `handrail.kind`,
  `handrail.version`, and `handrail.origin: event`, by which Handrail never takes its own events for alerts.
- **Fields and kinds are added, not changed.** Pass over what you do not know. `version` rises where the shape of one
  kind changes; `format` rises only where the envelope would break you.
- **A new topic begins at the beginning**: all journals of the database are published to it, closed incidents too.
- **No secrets, no raw objects.** Text is redacted as evidence is. Objects, patches and diffs of the cluster are
  withheld (`write.ops`, `write.body`, `before`, `diff`, `undo_diff` are empty); `handrail incidents report` has the
  story.
- **An event above {MOST_BYTES:,} bytes**, or above what the topic takes, comes without its content: `event` is null
  and `bytes_left_out` says how large it was.

Stop and start of everything, a namespace or a step are in the journals of the incidents that they held up (`paused`,
`resumed`); the stream of the switch itself is not published.

## The envelope

| field | type | what it is |
|---|---|---|
"""

ENVELOPE = {
    "origin": "always `handrail`",
    "format": "of the envelope",
    "cluster": "`cluster.name` of the configuration",
    "incident": "its id, also the key",
    "seq": "its place in the incident's journal, from 1, without gaps",
    "at": "when it was committed, UTC",
    "actor": "who: `handrail`, `intake`, or a person",
    "kind": "what happened, see below",
    "version": "of the kind",
    "event": "what the kind holds, `kind` among it",
    "bytes_left_out": "0, or the size of an event that was too large",
}


def events() -> str:
    found = schema()
    text = HEAD
    for name, field in found["properties"].items():
        text += f"| `{name}` | {'an event' if name == 'event' else _type(field)} | {ENVELOPE[name]} |\n"
    text += "\n## The kinds\n\nIn alphabetical order; types are those of the schema's `$defs`.\n"
    definitions = found["$defs"]
    (union,) = (one for one in found["properties"]["event"]["anyOf"] if "discriminator" in one)
    for kind in sorted(kinds(found)):
        name = union["discriminator"]["mapping"][kind].rpartition("/")[2]
        text += "".join(_kind(kind, definitions[name]))
    return text


def _kind(kind: str, definition: dict[str, Any]) -> Iterator[str]:
    yield f"\n### `{kind}`, version {ev.version_of(kind)}\n\n"
    said = " ".join(definition.get("description", "").split())
    if said:
        yield f"{said}\n\n"
    fields = [(name, field) for name, field in definition["properties"].items() if name != "kind"]
    if not fields:
        yield "Holds nothing more.\n"
    for name, field in fields:
        yield f"- `{name}`: {_type(field)}\n"


def _type(field: dict[str, Any]) -> str:
    said = _plain(field)
    return said if len(said) <= LONGEST else said[: LONGEST - 1].rstrip(" ,") + "…"


def _plain(field: dict[str, Any]) -> str:
    match field:
        case {"$ref": ref}:
            return f"`{ref.rpartition('/')[2]}`"
        case {"const": word}:
            return f"`{word}`"
        case {"enum": words}:
            return " or ".join(f"`{word}`" for word in words)
        case {"anyOf": some}:
            return " or ".join(_plain(one) for one in some)
        case {"type": "array", "items": item}:
            return f"list of {_plain(item)}"
        case {"type": "object", "additionalProperties": dict(item)}:
            return f"map of {_plain(item)}"
        case {"type": "string", "format": form}:
            return str(form)
        case _:
            return str(field.get("type", "anything"))


COMMANDS = """\
# The command line

<!-- written by `make docs` from the code: do not edit -->

`handrail COMMAND --help` says the same on the spot, with examples. Where the daemon is: `--server`, `--socket` and
`--token-file`, or `HANDRAIL_SERVER`, `HANDRAIL_SOCKET` and `HANDRAIL_TOKEN`.

## Exit codes

| code | what it means |
|---|---|
"""

SHAPE = """
## Answers for scripts

With `--json` standard output is JSON and nothing else. A command that does something prints one object:

    {"ok": true, "reason": "", "message": "approved by kubernetes:alice: ...", "incident": "inc-..."}

`message` is what people are told. Where the answer is no, or the command fails, **every** command prints this object
instead of what it would have shown, with `ok` false; `reason` is then the word that the journal, the log and the metric
have too, or `""` where nothing was decided. Further fields:

- `incident`: of `approve`, `reject`, `take`, `give-back` and `incidents cancel`, its whole id; of `incidents retry`
  and `undo`, the id of the new one.
- `namespace`, `deleted`, `bound`: of `stop --cluster` and `start --cluster`.
- `before`, `schema`, `min_reader`, `granted_to`: of `store upgrade`.
- `letters`: of `dlq replay`, a list of `letter`, `to` and `why_not` (`""` where it went back).
- `checks`: of `check`, a list of `subject`, `ok` and `text`.

`audit verify`, `store status` and `decode` print what they found also where it is not well, with exit code 1. A call
that holds an unknown option or command is told on standard error alone.

## Commands
"""


def commands() -> str:
    text = COMMANDS + "".join(f"| {code} | {said} |\n" for code, said in EXITS.items()) + SHAPE
    return text + "".join(_commands(cli, "handrail"))


def _commands(group: click.Group, name: str) -> Iterator[str]:
    context = click.Context(group, info_name=name)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{name} {word}")
        elif command is not None:
            yield from _command(command, f"{name} {word}")


def _command(command: click.Command, name: str) -> Iterator[str]:
    said = (command.help or "").split("\b")[0].split()
    yield f"\n### `{name}`\n\n{' '.join(said)}\n\n"
    for param in command.params:
        record = param.get_help_record(click.Context(command))
        if isinstance(param, click.Argument):
            yield f"- `{param.make_metavar(click.Context(command))}`\n"
        elif record is not None:
            yield f"- `{record[0]}`{': ' if record[1] else ''}{record[1]}\n"


FILES = {REFERENCE / "events.md": events, REFERENCE / "commands.md": commands}


def main() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for path, make in FILES.items():
        path.write_text(make(), encoding="utf-8")
        print(f"wrote docs/{path.relative_to(REFERENCE.parent)}", file=sys.stderr)


if __name__ == "__main__":
    main()
