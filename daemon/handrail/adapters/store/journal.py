"""The journal's rows: reading them into folds, and the only two ways of appending to it.

What is read is held against its hash chain: nothing is folded that does not follow, unbroken, on what was written.
`extend` folds first, so that what is not allowed is never written; `note` appends what is allowed anywhere without
folding, so that intake goes on for an incident that only a newer build can fold. Whatever is appended is folded from
the text that is stored, not from the caller's object: a restart decides from the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Text, insert, select, type_coerce, update
from sqlalchemy.engine import Row as SqlRow
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store.bulk import put
from handrail.adapters.store.chain import GENESIS, Broken, Row, seal, verify
from handrail.adapters.store.database import Tx
from handrail.adapters.store.schema import incidents, iso, journal
from handrail.adapters.store.values import Committed
from handrail.core.fold import apply
from handrail.core.lifecycle import ANYWHERE
from handrail.model.errors import Bug, Damaged, HeadMoved, UnknownEvent
from handrail.model.events import Entry, Event, dump, read, version_of
from handrail.model.incident import Incident
from handrail.model.value import canonical

Stored = dict[str, Any]

AS_STORED = select(
    *(type_coerce(column, Text).label(column.name) if column is journal.c.at else column for column in journal.c)
)
"""The time as the very text that was hashed: a changed one may be no time at all."""


class Head(NamedTuple):
    """The end of a stream: its newest seq and that entry's hash."""

    seq: int
    hash: str


START = Head(0, GENESIS)

_APPENDING = insert(journal)


@dataclass(frozen=True, slots=True)
class Said:
    """What an entry says, as stored: `text` is canonical JSON."""

    kind: str
    text: str


def said(kind: str, data: Stored) -> Said:
    """Half a surrogate pair, which JSON can smuggle in, would be refused by every database: it becomes a "?"."""
    text = canonical(data)
    if not _encodable(text):
        text = canonical(json.loads(clean(text)))
    return Said(kind, text)


def said_event(event: Event) -> Said:
    return said(event.kind, dump(event))


def clean(text: str) -> str:
    """Text that any database takes: no half surrogate pairs, no NUL."""
    if text.isascii() and "\0" not in text:
        return text  # nearly all of it
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
        version = version_of(entry.kind)
        sealed = seal(head.hash, (stream, seq, iso(tx.now)), (entry.kind, entry.text), actor, version)
        found.append(
            {
                "incident": stream,
                "seq": seq,
                "at": tx.now,
                "kind": entry.kind,
                "version": version,
                "data": entry.text,
                "actor": actor,
                "previous": head.hash,
                "hash": sealed,
            }
        )
        head = Head(seq, sealed)
    return found


async def write_rows(tx: Tx, rows: Sequence[Stored]) -> None:
    """Raises HeadMoved where another process has taken one of these places in a stream meanwhile."""
    try:
        await put(tx, _APPENDING, rows)
    except IntegrityError as taken:
        raise HeadMoved("somebody else appended at the same place") from taken
    tx.grown.update(row["incident"] for row in rows)


async def head_of(tx: Tx, stream: str) -> Head:
    newest = select(journal.c.seq, journal.c.hash).where(journal.c.incident == stream)
    row = (await tx.conn.execute(newest.order_by(journal.c.seq.desc()).limit(1))).one_or_none()
    return Head(row.seq, row.hash) if row else START


async def entries_after(tx: Tx, stream: str, seq: int) -> tuple[Entry, ...]:
    """Only what follows, unbroken, on the entry `seq` as it was written, up to where the journal should end.

    Raises Damaged; UnknownEvent where the chain is whole and a newer build wrote one of them.
    """
    later = AS_STORED.where(journal.c.incident == stream, journal.c.seq >= seq).order_by(journal.c.seq)
    rows = [as_row(found) for found in await tx.conn.execute(later)]
    head = (await tx.conn.execute(select(incidents.c.head).where(incidents.c.id == stream))).scalar_one_or_none()
    before = GENESIS
    if seq:
        if not rows or rows[0].seq != seq:
            raise damaged(stream, Broken(seq, "it is no longer there"))
        before, rows = rows[0].hash, rows[1:]
    broken = verify(rows, before, seq + 1) or cut_off(rows[-1].seq if rows else seq, head)
    if broken is not None:
        raise damaged(stream, broken)
    return tuple(as_entry(row) for row in rows)


def cut_off(last: int, head: int | None) -> Broken | None:
    """A cut-off end leaves a chain that is whole as far as it goes."""
    return None if head is None or head <= last else Broken(last + 1, f"its end was cut off: it should go on to {head}")


def damaged(stream: str, broken: Broken) -> Damaged:
    where = f"the journal of {stream} is damaged at entry {broken.seq}: {broken.problem}"
    return Damaged(f"{where}; nothing is done with it; see `handrail audit verify`")


def as_row(row: SqlRow[Any]) -> Row:
    return Row(row.incident, row.seq, row.at, row.kind, row.data, row.actor, row.previous, row.hash, row.version)


def as_entry(row: Row) -> Entry:
    """Of a row whose hash is right. Raises UnknownEvent where a newer build wrote it, Damaged where it has no time."""
    try:
        at = datetime.fromisoformat(row.at)
    except ValueError as no_time:
        raise damaged(row.incident, Broken(row.seq, "its time is none")) from no_time
    return Entry(
        incident=row.incident,
        seq=row.seq,
        at=at,
        actor=row.actor,
        event=read(json.loads(row.data), row.version),
        previous=row.previous,
        hash=row.hash,
    )


async def load(tx: Tx, id_: str) -> Incident | None:
    """The fold of the whole journal: what was folded before, and what has come since. Whether it can be folded is
    noted in `tx.unfit`. Raises Damaged, UnknownEvent."""
    try:
        incident = await _fold(tx, id_)
    except (Damaged, UnknownEvent) as unfit:
        tx.unfit[id_] = str(unfit)
        raise
    tx.unfit.pop(id_, None)
    if incident is not None:
        tx.fresh[id_] = incident
    return incident


async def _fold(tx: Tx, id_: str) -> Incident | None:
    incident = tx.known(id_)
    for entry in await entries_after(tx, id_, incident.seq if incident else 0):
        try:
            incident = apply(incident, entry, cluster=tx.cluster)
        except Bug as impossible:
            raise damaged(id_, Broken(entry.seq, f"it tells an impossible story ({impossible})")) from impossible
    return incident


async def lock(tx: Tx, id_: str) -> Incident:
    """The newest fold, which nobody else can move before this transaction ends.

    Two looks: what is read in the one that waits for a lock may be from before the wait.
    """
    locked = select(incidents.c.head).where(incidents.c.id == id_).with_for_update()
    head = (await tx.conn.execute(locked)).scalar_one_or_none()
    if head is None:
        raise Bug(f"there is no incident {id_}")
    last = select(journal.c.hash).where(journal.c.incident == id_, journal.c.seq == head)
    seal = (await tx.conn.execute(last)).scalar_one_or_none()
    known = tx.known(id_)
    incident = known if known is not None and known.seq == head else await load(tx, id_)
    if incident is None or seal is None or incident.seq != head:
        unfit = damaged(id_, Broken(head, "it should end there, and does not"))
        tx.unfit[id_] = str(unfit)
        raise unfit
    tx.ends[id_] = (head, seal)
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
    steps: list[Committed] = []
    for row in rows:
        entry = Entry.model_validate({**_of_entry(row), "event": read(json.loads(row["data"]), row["version"])})
        before, incident = incident.state, apply(incident, entry, cluster=tx.cluster)
        steps.append(Committed(before, entry.event, incident))
    await write_rows(tx, rows)
    await _project(tx, incident)
    tx.committed.extend(steps)
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
