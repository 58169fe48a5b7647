"""The hash chain of a journal: what a row's hash covers, and where a stored stream is no longer what was written.

Pure. It shows that something was changed, left out, moved or cut from the middle; it can't show that a whole stream was
written anew by somebody who knows how, nor a cut-off end (the projection's head shows that one).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from handrail.model.value import canonical, quoted

GENESIS = ""
"""What the first entry of a stream has for `previous`."""


@dataclass(frozen=True, slots=True)
class Row:
    """A journal row as stored: `at` is the ISO text, `data` the JSON text."""

    incident: str
    seq: int
    at: str
    kind: str
    data: str
    actor: str
    previous: str
    hash: str
    version: int = 1


@dataclass(frozen=True, slots=True)
class Broken:
    """The first seq that is not as it was written, and what is wrong with it, in one sentence."""

    seq: int
    problem: str


def entry_hash(
    previous: str, place: tuple[str, int, str], what: tuple[str, dict[str, Any]], actor: str, version: int = 1
) -> str:
    """SHA-256 (hex). `place` is incident, seq and ISO time; `what` the kind and its plain data. The first version of a
    kind goes without saying."""
    kind, data = what
    return seal(previous, place, (kind, canonical(data)), actor, version)


def seal(previous: str, place: tuple[str, int, str], what: tuple[str, str], actor: str, version: int = 1) -> str:
    """As `entry_hash`, with the data as the canonical text that it is stored as: hashed is the canonical JSON of an
    object of all these, whose keys come in order here."""
    incident, seq, at = place
    kind, text = what
    last = f',"version":{version}' if version != 1 else ""
    covered = (
        f'{{"actor":{quoted(actor)},"at":{quoted(at)},"data":{text},"incident":{quoted(incident)},"kind":{quoted(kind)}'
        f',"previous":{quoted(previous)},"seq":{seq}{last}}}'
    )
    return hashlib.sha256(covered.encode()).hexdigest()


def verify(rows: Iterable[Row], previous: str = GENESIS, expected: int = 1) -> Broken | None:
    """The first broken place of a stream, rows in order of seq; None where all is well.

    A whole one begins with `expected` 1; what follows an entry, with its hash as `previous`.
    """
    for row in rows:
        problem = _wrong(row, previous, expected)
        if problem:
            return Broken(expected, problem)
        previous, expected = row.hash, expected + 1
    return None


def _wrong(row: Row, previous: str, expected: int) -> str:
    if row.seq != expected:
        return f"entry {expected} is missing; the next one is {row.seq}"
    if row.previous != previous:
        return "it does not follow the entry before it: one of them was replaced or moved"
    try:
        data = json.loads(row.data)
    except ValueError:
        return "its data is no JSON any more"
    if not isinstance(data, dict):
        return "its data is no JSON object any more"
    if row.hash != _hash_of(row, data):
        return "its content is not what was hashed when it was written"
    return ""


def _hash_of(row: Row, data: dict[str, Any]) -> str:
    return entry_hash(row.previous, (row.incident, row.seq, row.at), (row.kind, data), row.actor, row.version)
