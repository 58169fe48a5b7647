"""Dead letters: what a record of the dead-letter topic says, whether it may go back, and as what. Pure.

A letter goes back as it came, with its own bytes and headers and the age that it has: an old alert stays old, however
late somebody sends it again. Notes that a letter was sent back lie beside it in the same partition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from handrail.model.errors import Bug
from handrail.model.letter import Letter, Place
from handrail.model.published import FIRST_AT, REPLAYED, SEALED
from handrail.model.record import Record

OURS = "handrail."
NOTED = "REPLAYED"
"""What stands in place of a reason in the note that a letter was sent back."""

LATEST_MS = 253_402_300_799_000
"""The end of year 9999. A producer may write any time at all into a record."""


class Message(NamedTuple):
    """What is to be sent; `timestamp_ms` None means now."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    timestamp_ms: int | None


@dataclass(frozen=True)
class Consent:
    """What whoever sends letters back has said to: those that still are no alerts, and those that were sent before."""

    force: bool = False
    again: bool = False


def letters_of(records: Iterable[Record]) -> list[Letter]:
    """Letters in the order of the records; what is no letter of ours is left out. A letter's notes come after it."""
    found: list[Letter] = []
    notes: dict[str, list[datetime]] = defaultdict(list)
    for record in records:
        headers = dict(record.headers)
        if headers.get(SEALED) == NOTED.encode():
            notes[_text(headers.get(REPLAYED))].append(record.at)
        elif SEALED in headers:
            found.append(_letter(record, headers))
    return [one.model_copy(update={"replayed_at": tuple(notes[str(one.place)])}) for one in found]


def first_at(record: Record) -> datetime:
    """When the brokers first had it: a letter that was sent back says so, and can only be older than it looks."""
    headers = dict(record.headers)
    return _older(record.at, headers) if REPLAYED in headers and SEALED not in headers else record.at


def why_not(letter: Letter, topics: Container[str], decodes: bool, consent: Consent) -> str:
    """Why it is not sent back, and what to do; "" where it may be. `topics` are those that alerts are read from."""
    source = letter.came_from
    if source is None:
        return "its headers do not say where it came from"
    if source.topic.startswith("http:"):
        return "it was posted by HTTP: let its sender post it again"
    if source.topic not in topics:
        return f"it came from {source.topic}, which is not among kafka.topics"
    if letter.bytes_left_out:
        return f"its {letter.bytes_left_out} bytes were left where it came from, {source}"
    if letter.replayed_at and not consent.again:
        return f"it was sent back at {letter.replayed_at[-1]:%Y-%m-%d %H:%M:%S} UTC; --again sends it once more"
    if not decodes and not consent.force:
        return "it still is no alert, see `handrail dlq show`; --force sends it all the same"
    return ""


def sent_back(letter: Letter) -> Message:
    """The record again, as old as it was, with a header that names the letter. Only for what `why_not` lets go."""
    if letter.came_from is None:
        raise Bug(f"{letter.place} came from nowhere")
    marks = [(REPLAYED, str(letter.place).encode()), (FIRST_AT, str(_ms(letter.at)).encode())]
    headers = [*letter.headers, *marks]
    return Message(letter.came_from.topic, None, letter.key, letter.value, headers, _ms(letter.at))


def note_of(letter: Letter) -> Message:
    """That it was sent back; in the letter's own partition, so that whoever reads on from the letter finds it."""
    headers = [(SEALED, NOTED.encode()), (REPLAYED, str(letter.place).encode())]
    return Message(letter.place.topic, letter.place.partition, b"handrail", b"", headers, None)


def newest(letters: Sequence[Letter], limit: int, reason: str = "") -> list[Letter]:
    """At most `limit`, oldest first."""
    wanted = [one for one in letters if not reason or one.reason == reason]
    return sorted(wanted, key=lambda one: (one.buried_at, one.place))[-limit:]


def _letter(record: Record, headers: dict[str, bytes]) -> Letter:
    source = (_text(headers.get("handrail.topic")), _number(headers, "partition"), _number(headers, "offset"))
    return Letter(
        place=Place(record.topic, record.partition, record.offset),
        at=_older(record.at, headers),
        buried_at=record.at,
        came_from=Place(*source) if source[0] else None,
        reason=_text(headers[SEALED])[:60],
        detail=_text(headers.get("handrail.detail")),
        part=_number(headers, "part"),
        key=record.key,
        value=record.value,
        headers=tuple((name, text) for name, text in record.headers if not name.startswith(OURS)),
        bytes_left_out=_number(headers, "bytes_left_out"),
        returned=_text(headers.get(REPLAYED)),
    )


def _number(headers: dict[str, bytes], name: str) -> int:
    text = headers.get(OURS + name, b"")
    return int(text) if text.isdigit() and len(text) < 20 else 0


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def _older(at: datetime, headers: dict[str, bytes]) -> datetime:
    raw = headers.get(FIRST_AT, b"")
    if not raw.isdigit() or len(raw) > 16:
        return at
    return min(at, datetime.fromtimestamp(min(int(raw), LATEST_MS) / 1000, UTC))


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
