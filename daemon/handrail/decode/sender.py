"""An alert in a sender's own words: attributes of a log record, or a JSON object, by names that are known or mapped.

Decides which words make an alert. Never takes one without a state for firing, and never guesses a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from handrail.decode.object_keys import with_object_keys
from handrail.decode.parts import Origin, Part, named, refuse
from handrail.decode.severity import severity_of
from handrail.decode.sniff import Json, parse
from handrail.decode.text import clean, text_of, words_of
from handrail.decode.times import time_of
from handrail.model.alert import made
from handrail.model.labels import KIND_LABELS
from handrail.model.mapping import NO_MAPPING, AlertMapping
from handrail.model.reason import Reason, Refusal

Status = Literal["firing", "resolved"]
Words = tuple[str, ...]
Holder = Mapping[str, object]


class Names(NamedTuple):
    """Keys that make an alert without any mapping; the first that is there counts."""

    name: Words
    status: Words
    severity: Words
    starts_at: Words
    ends_at: Words
    labels: str
    annotations: str


OTEL = Names(
    name=("alert.name", "alertname"),
    status=("alert.state", "alertstate"),
    severity=("alert.severity",),
    starts_at=("alert.starts_at",),
    ends_at=("alert.ends_at",),
    labels="alert.labels",
    annotations="alert.annotations",
)
JSON = Names(
    name=("alertname", "alert.name"),
    status=("status", "state"),
    severity=("severity",),
    starts_at=("startsAt", "starts_at"),
    ends_at=("endsAt", "ends_at"),
    labels="labels",
    annotations="annotations",
)


class Said(NamedTuple):
    """One alert as its sender says it. `own` is believed before `around` (a resource, a CloudEvent's attributes).

    `event` is a word that may say the state where no attribute does; `names_objects` is whether `own` and `around`
    may hold OpenTelemetry's keys of Kubernetes objects.
    """

    own: Holder
    names: Names
    around: tuple[Holder, ...] = ()
    event: str = ""
    summary: str = ""
    trace_id: str = ""
    names_objects: bool = False


def alert_of(said: Said, origin: Origin) -> Part | None:
    """The alert, why it is none, or None where nothing names one."""
    labels = _labels(said)
    name = named(_first(said, origin.mapping.name, said.names.name) or labels.get("alertname", ""))
    if not name:
        return None
    status = _status(said, origin.mapping)
    return _alert(name, status, labels, said, origin) if isinstance(status, str) else status


def find(holder: Holder, path: str) -> object:
    """The value of the whole key, else of its parts within maps; None where there is none."""
    value = holder.get(path)
    if value is not None:
        return value
    head, dot, rest = path.partition(".")
    while dot:
        inner = holder.get(head)
        found = find(inner, rest) if isinstance(inner, dict) else None
        if found is not None:
            return found
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def _alert(name: str, status: Status, labels: dict[str, str], said: Said, origin: Origin) -> Part:
    mapping, names = origin.mapping, said.names
    labels = _about(labels, said, origin)
    severity = _first(said, mapping.severity, names.severity) or labels.get("severity", "")
    return made(
        name=name,
        status=status,
        labels=labels,
        annotations=_annotations(said, mapping),
        starts_at=time_of(_value(said, mapping.starts_at, names.starts_at)),
        ends_at=time_of(_value(said, mapping.ends_at, names.ends_at)) if status == "resolved" else None,
        seen_at=origin.at,
        cluster=labels.get("cluster", "") or origin.cluster,
        severity=severity_of(severity),
        wire=origin.wire,
        trace_id=said.trace_id,
        message=origin.message,
    )


def _value(said: Said, mapped: Words, known: Words) -> object:
    """Mapped names are looked for everywhere, ours only in the sender's own words."""
    for path in mapped:
        for holder in (said.own, *said.around):
            value = find(holder, path)
            if value is not None:
                return value
    for key in known:
        value = said.own.get(key)
        if value is not None:
            return value
    return None


def _first(said: Said, mapped: Words, known: Words = ()) -> str:
    if mapped:
        text = text_of(_value(said, mapped, ()))
        if text:
            return text
    for key in known:
        text = text_of(said.own.get(key, ""))
        if text:
            return text
    return ""


def _labels(said: Said) -> dict[str, str]:
    """A map, or the same as JSON text, as some senders flatten it."""
    labels = said.own.get(said.names.labels)
    if isinstance(labels, str) and labels.startswith("{"):
        parsed = parse(labels)
        labels = parsed.data if isinstance(parsed, Json) else None
    return words_of(labels)


def _about(labels: dict[str, str], said: Said, origin: Origin) -> dict[str, str]:
    """The labels with what the mapping says of the object, then with OpenTelemetry's keys of it."""
    mapped = _mapped(said, origin.mapping) if origin.mapping is not NO_MAPPING else {}
    known = words_of({**labels, **mapped}) if mapped else labels
    if not said.names_objects:
        return known
    return with_object_keys(known, said.around[0] if said.around else {}, said.own)


def _mapped(said: Said, mapping: AlertMapping) -> dict[str, str]:
    fields = {
        "cluster": mapping.cluster,
        "namespace": mapping.namespace,
        "container": mapping.container,
        "uid": mapping.uid,
        "sender_fingerprint": mapping.fingerprint,
        **mapping.labels,
    }
    found = {label: text for label, paths in fields.items() if paths and (text := _first(said, paths))}
    return found | object_labels(_first(said, mapping.kind), _first(said, mapping.object))


def object_labels(kind: str, name: str) -> dict[str, str]:
    """The label of a kind that can be a target; others are named, but are no target."""
    if not kind or not name:
        return {}
    label = KIND_LABELS.get(kind.lower())
    return {label: name} if label else {"object_kind": kind, "object_name": name}


def _annotations(said: Said, mapping: AlertMapping) -> dict[str, str]:
    """The sender's own; the body's text stands as the summary where they have none."""
    annotations = words_of(said.own.get(said.names.annotations))
    summary = _first(said, mapping.summary) or ("" if "summary" in annotations else said.summary)
    return {**annotations, "summary": clean(summary)} if summary else annotations


def _status(said: Said, mapping: AlertMapping) -> Status | Refusal:
    """The attribute, else the event's word; an alert that says neither is not taken for firing."""
    word = (_first(said, mapping.status, said.names.status) or said.event).strip().lower()
    if word in ("firing", "resolved"):
        return "firing" if word == "firing" else "resolved"
    if _among(word, mapping.firing):
        return "firing"
    if _among(word, mapping.resolved):
        return "resolved"
    key = (mapping.status or said.names.status)[0]
    if word:
        return refuse(Reason.MALFORMED, f"{key} is {clean(word, 40)!r}, neither firing nor resolved")
    where = " and no event name alert.firing or alert.resolved" if said.names is OTEL else ""
    return refuse(Reason.MALFORMED, f"has no {key}{where}")


def _among(word: str, words: Iterable[str]) -> bool:
    return any(word == known.lower() for known in words)
