"""The journal's rows: reading them into folds, and the only two ways of appending to it.

`extend` folds first, so that what is not allowed is never written; `note` appends what is allowed anywhere without
folding, so that intake goes on for an incident that only a newer build can fold. Whatever is appended is folded from
the text that is stored, not from the caller's object: a restart decides from the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import insert, select, update
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store.chain import GENESIS, entry_hash
from handrail.adapters.store.database import Tx
from handrail.adapters.store.schema import EVENT_VERSION, incidents, iso, journal
from handrail.core.fold import apply
from handrail.core.lifecycle import ANYWHERE
from handrail.model.errors import Bug, HeadMoved
from handrail.model.events import Entry, Event, dump, read
from handrail.model.incident import Incident
from handrail.model.value import canonical

Stored = dict[str, Any]


class Head(NamedTuple):
    """The end of a stream: its newest seq and that entry's hash."""

    seq: int
    hash: str


START = Head(0, GENESIS)


@dataclass(frozen=True, slots=True)
class Said:
    """What an entry says, as stored: `text` is the canonical JSON of `data`."""

    kind: str
    data: Stored
    text: str


def said(kind: str, data: Stored) -> Said:
    """Half a surrogate pair, which JSON can smuggle in, would be refused by every database: it becomes a "?"."""
    text = canonical(data)
    if not _encodable(text):
        text = clean(text)
        data = json.loads(text)
    return Said(kind, data, text)


def said_event(event: Event) -> Said:
    return said(event.kind, dump(event))


def clean(text: str) -> str:
    """Text that any database takes: no half surrogate pairs, no NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def rows_after(tx: Tx, stream: str, head: Head, entries: Iterable[Said], actor: str) -> list[Stored]:
    """The rows that follow `head`, chained to it."""
    actor = clean(actor)
    found: list[Stored] = []
    for entry in entries:
        seq = head.seq + 1
        seal = entry_hash(head.hash, (stream, seq, iso(tx.now)), (entry.kind, entry.data), actor)
        found.append(
            {
                "incident": stream,
                "seq": seq,
                "at": tx.now,
                "kind": entry.kind,
                "version": EVENT_VERSION,
                "data": entry.text,
                "actor": actor,
                "previous": head.hash,
                "hash": seal,
            }
        )
        head = Head(seq, seal)
    return found


async def write_rows(tx: Tx, rows: Sequence[Stored]) -> None:
    """Raises HeadMoved where another process has taken one of these places in a stream meanwhile."""
    try:
        await tx.conn.execute(insert(journal), list(rows))
    except IntegrityError as taken:
        raise HeadMoved("somebody else appended at the same place") from taken
    tx.grown.update(row["incident"] for row in rows)


async def head_of(tx: Tx, stream: str) -> Head:
    newest = select(journal.c.seq, journal.c.hash).where(journal.c.incident == stream)
    row = (await tx.conn.execute(newest.order_by(journal.c.seq.desc()).limit(1))).one_or_none()
    return Head(row.seq, row.hash) if row else START


async def entries_after(tx: Tx, stream: str, seq: int) -> tuple[Entry, ...]:
    """Raises UnknownEvent where a newer build wrote one of them."""
    later = select(journal).where(journal.c.incident == stream, journal.c.seq > seq).order_by(journal.c.seq)
    return tuple(as_entry(row) for row in await tx.conn.execute(later))


def as_entry(row: Row[Any]) -> Entry:
    """Raises Bug where the stored text is damaged, UnknownEvent where a newer build wrote it."""
    try:
        data = json.loads(row.data)
    except ValueError as damaged:
        where = f"the journal of {row.incident} is damaged at {row.seq}: run `handrail audit verify`"
        raise Bug(where) from damaged
    return Entry(
        incident=row.incident,
        seq=row.seq,
        at=row.at,
        actor=row.actor,
        event=read(data),
        previous=row.previous,
        hash=row.hash,
    )


async def load(tx: Tx, id_: str) -> Incident | None:
    """The fold of the whole journal: what was folded before, and what has come since."""
    incident = tx.known(id_)
    for entry in await entries_after(tx, id_, incident.seq if incident else 0):
        incident = apply(incident, entry, cluster=tx.cluster)
    if incident is not None:
        tx.fresh[id_] = incident
    return incident


async def lock(tx: Tx, id_: str) -> Incident:
    """The newest fold, which nobody else can move before this transaction ends."""
    last = (journal.c.incident == incidents.c.id) & (journal.c.seq == incidents.c.head)
    end = select(incidents.c.head, journal.c.hash).select_from(incidents.outerjoin(journal, last))
    row = (await tx.conn.execute(end.where(incidents.c.id == id_).with_for_update(of=incidents))).one_or_none()
    if row is None:
        raise Bug(f"there is no incident {id_}")
    known = tx.known(id_)
    incident = known if known is not None and known.seq == row.head else await load(tx, id_)
    if incident is None or row.hash is None or incident.seq != row.head:
        raise Bug(f"the journal of {id_} does not end at {row.head}, where it should: run `handrail audit verify`")
    tx.ends[id_] = (row.head, row.hash)
    return incident


async def lock_at(tx: Tx, incident: Incident) -> Incident:
    """As `lock`; raises HeadMoved where the journal has grown since the caller folded it."""
    current = await lock(tx, incident.id)
    if current.seq != incident.seq:
        raise HeadMoved(f"{incident.id} was decided at {incident.seq} and stands at {current.seq}")
    return current


async def extend(tx: Tx, incident: Incident, events: Sequence[Event], actor: str) -> Incident:
    """Appends to a locked incident and returns its new fold. Raises Bug, before anything is written, for an event
    that its state does not allow; IntegrityError where another open incident holds the target."""
    if not events:
        return incident
    rows = rows_after(tx, incident.id, Head(*tx.ends[incident.id]), [said_event(event) for event in events], actor)
    for row in rows:
        entry = Entry.model_validate({**_of_entry(row), "event": read(json.loads(row["data"]))})
        incident = apply(incident, entry, cluster=tx.cluster)
    await write_rows(tx, rows)
    await _project(tx, incident)
    tx.fresh[incident.id] = incident
    tx.ends[incident.id] = (rows[-1]["seq"], rows[-1]["hash"])
    return incident


def _of_entry(row: Stored) -> Stored:
    return {key: row[key] for key in ("incident", "seq", "at", "actor", "previous", "hash")}


async def note(tx: Tx, id_: str, events: Sequence[Event], actor: str) -> None:
    """Appends what changes no state to any incident, also to one that this build can't fold."""
    if any(event.kind not in ANYWHERE for event in events):
        raise Bug("only what is allowed in every state may be appended unfolded")
    await tx.conn.execute(select(incidents.c.head).where(incidents.c.id == id_).with_for_update())
    rows = rows_after(tx, id_, await head_of(tx, id_), [said_event(event) for event in events], actor)
    await write_rows(tx, rows)
    await tx.conn.execute(update(incidents).where(incidents.c.id == id_).values(head=rows[-1]["seq"]))


async def _project(tx: Tx, incident: Incident) -> None:
    target = incident.target or incident.labelled
    ended = incident.state.terminal
    await tx.conn.execute(
        update(incidents)
        .where(incidents.c.id == incident.id)
        .values(
            state=str(incident.state),
            target_uid=incident.target.uid if incident.target and incident.target.uid else None,
            target=clean(str(target)) if target else "",
            moved_at=incident.moved_at,
            ended_at=incident.moved_at if ended else None,
            head=incident.seq,
            epoch=tx.epoch,
            is_open=not ended,
        )
    )
