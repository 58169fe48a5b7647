"""What was decoded before, for what comes again to the letter: monitoring repeats itself as long as anything is wrong.

Only what the time of arrival changes nothing of but `seen_at`, and only without a mapping. Forgetting changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from handrail.decode import alertmanager
from handrail.decode.parts import Origin, Part
from handrail.model.alert import Alert
from handrail.model.mapping import NO_MAPPING
from handrail.model.remembered import Remembered
from handrail.model.trusted import again

LIMIT = 16 * 1024 * 1024
"""Of each of the two: about so many bytes. An alert takes about four times the memory of its text, and AN_ALERT."""

AN_ALERT = 1024
"""Bytes that even one without words takes: a thousand of them fit into a body of 40 kB."""

_webhooks: Remembered[tuple[bytes, str], tuple[Alert, ...]] = Remembered(LIMIT)
_log_records: Remembered[Words, Alert] = Remembered(LIMIT)


Words = tuple[tuple[bytes, ...], str, bytes, "Around"]
"""All of a log record that makes an alert: its attributes, its event's name, its body, and what it came in."""


class Around(NamedTuple):
    """What else an alert in a log record is made of: the resource, and what it came in."""

    resource: bytes
    wire: str
    cluster: str
    message: str


def webhook(value: bytes, encoding: str, origin: Origin) -> Iterable[Part] | None:
    """The alerts of these very bytes, as they were before but seen now."""
    known = _webhooks.get((value, encoding))
    if known is None or origin.mapping is not NO_MAPPING:
        return None
    return [again(alert, seen_at=origin.at) for alert in known]


def keep_webhook(value: bytes, encoding: str, data: object, origin: Origin, parts: Iterable[Part]) -> Iterable[Part]:
    """Keeps the parts of a webhook of Alertmanager's in which each alert says its state. Gives the parts back."""
    if origin.mapping is not NO_MAPPING or not _webhooks.recurs((value, encoding)):
        return parts
    if not (isinstance(data, dict) and alertmanager.recognised(data)):
        return parts
    if not alertmanager.timeless(data):
        return parts
    parts = tuple(parts)
    alerts = tuple([part for part in parts if type(part) is Alert])
    if len(alerts) == len(parts):
        _webhooks.keep((value, encoding), alerts, AN_ALERT * (1 + len(alerts)) + 4 * len(value))
    return parts


def log_record(said: Words, origin: Origin, trace_id: str) -> Alert | None:
    """As before but seen now, and in another trace."""
    known = _log_records.get(said)
    return again(known, seen_at=origin.at, trace_id=trace_id) if known is not None else None


def keep_log_record(said: Words, parts: tuple[Part, ...]) -> None:
    """Where its own attributes made an alert of it: an event of the cluster has a time, a document its own states."""
    alert = parts[0] if len(parts) == 1 else None
    pairs, event, body, around = said
    if type(alert) is Alert and alert.wire == around.wire and _log_records.recurs(said):
        size = sum(map(len, pairs)) + len(event) + len(body) + len(around.resource)
        _log_records.keep(said, alert, 2 * AN_ALERT + 4 * size)
