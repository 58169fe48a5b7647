"""A journal's entry as the message that others read: what is left out, what is hidden, and what marks it as ours. Pure.

Raw objects, patches and diffs of the cluster are never published: they may hold what no pattern tells from a secret.
All other text is redacted as evidence is. Never decides whether or when something is published.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from handrail.core.redact import hidden, redact
from handrail.model import events as ev
from handrail.model.events import Entry, Event
from handrail.model.published import FORMAT, ORIGIN, OWN, Published
from handrail.model.saga import RehearsedWrite, Saga, SagaStep
from handrail.model.taking_back import takes_back
from handrail.model.write import Write

MOST_BYTES = 900_000
"""Of an event: brokers take messages of 1 MiB by default, headers included."""


class Message(NamedTuple):
    """`key` is the incident's id, so that its events stay in order in one partition."""

    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


def message(entry: Entry, cluster: str, most: int = MOST_BYTES) -> Message:
    """At most about `most` bytes: a larger event is left out, and its size is said."""
    event = hidden(ev.dump(_withheld(entry.event)))
    size = len(_json(event))
    version = ev.version_of(entry.event.kind)
    data = {
        "origin": OWN,
        "format": FORMAT,
        "cluster": cluster,
        "incident": entry.incident,
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "actor": redact(entry.actor),
        "kind": entry.event.kind,
        "version": version,
        "event": event if size <= most else None,
        "bytes_left_out": 0 if size <= most else size,
    }
    said = ("incident", "seq", "kind", "version")
    headers = [(ORIGIN, b"event"), *((f"{OWN}.{name}", str(data[name]).encode()) for name in said)]
    return Message(entry.incident.encode(), _json(data), headers)


def schema() -> dict[str, Any]:
    """JSON Schema of the messages; `x-versions` has the version of each kind.

    Open to fields that a newer build adds, unlike the journal's own values: a reader passes over what it does not know.
    """
    data: dict[str, Any] = _opened(Published.model_json_schema(mode="serialization"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **data,
        "title": "An event that Handrail publishes",
        "x-versions": {kind: ev.version_of(kind) for kind in kinds(data)},
    }


def kinds(data: dict[str, Any]) -> tuple[str, ...]:
    """The words of `kind` in a schema of the messages, in the order of an incident's life."""
    (union,) = (one for one in data["properties"]["event"]["anyOf"] if "discriminator" in one)
    return tuple(union["discriminator"]["mapping"])


def _withheld(event: Event) -> Event:
    match event:
        case ev.StepBegun():
            return event.model_copy(update={"before": {}})
        case ev.TakingBack():
            return event.model_copy(update={"steps": tuple(s.model_copy(update={"before": {}}) for s in event.steps)})
        case ev.Intent():
            return event.model_copy(update={"write": _bare(event.write)})
        case ev.Compiled():
            return event.model_copy(update={"saga": _bare_saga(event.saga)})
        case ev.Rehearsed():
            writes = tuple(_rehearsed(one) for one in event.rehearsal.writes)
            bare = {"saga": _bare_saga(event.rehearsal.saga), "writes": writes}
            return event.model_copy(update={"rehearsal": event.rehearsal.model_copy(update=bare)})
        case _:
            return event


def _bare_saga(saga: Saga) -> Saga:
    """A step that takes another back has what was before as a parameter."""
    return saga.model_copy(update={"steps": tuple(map(_bare_step, saga.steps))})


def _bare_step(step: SagaStep) -> SagaStep:
    bare = {"params": {**step.params, "before": {}}}
    return step.model_copy(update=bare) if takes_back(step.step) else step


def _bare(write: Write) -> Write:
    return write.model_copy(update={"ops": (), "body": None})


def _rehearsed(one: RehearsedWrite) -> RehearsedWrite:
    return one.model_copy(update={"write": _bare(one.write), "diff": "", "undo_diff": ""})


def _opened(data: Any) -> Any:
    match data:
        case dict():
            return {
                key: _opened(value) for key, value in data.items() if (key, value) != ("additionalProperties", False)
            }
        case list():
            return [_opened(value) for value in data]
        case _:
            return data


def _json(data: Any) -> bytes:
    """ASCII, so that half surrogates of old journals, which are no UTF-8, stop nothing."""
    return json.dumps(data, separators=(",", ":")).encode()
