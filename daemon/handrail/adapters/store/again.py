"""An incident that a person begins from a closed one: both journals and the new row in one transaction.

One open incident per identity and per target, as always. What may be begun is decided by core/again.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import func, insert, or_, select
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import (
    START,
    clean,
    entries_after,
    extend,
    lock,
    rows_after,
    said_event,
    write_rows,
)
from handrail.adapters.store.schema import incidents
from handrail.core.again import Begun
from handrail.core.grouping import incident_id
from handrail.model.errors import Bug, HeadMoved
from handrail.model.events import Entry, Event, Opened
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason, Refusal

TITLE = 200

Begin = Callable[[Sequence[Entry], str], Begun | Refusal]
"""From the old incident's whole journal and the id that the new one would have."""


async def open_again(tx: Tx, id_: str, begin: Begin, actor: str) -> str | Refusal:
    """The new incident's id; a refusal writes nothing. Raises HeadMoved where another was opened at the same moment."""
    old = await lock(tx, id_)
    entries = await entries_after(tx, id_, 0)
    new = incident_id(old, tx.cluster, await _times(tx, old))
    begun = begin(entries, new)
    if isinstance(begun, Refusal):
        return begun
    busy = await _busy(tx, old)
    if busy:
        return Refusal(reason=Reason.TARGET_BUSY, detail=f"{busy} is open for the same; there is one at a time")
    told, first = begun
    await extend(tx, old, (told,), actor)
    try:
        async with tx.conn.begin_nested():
            await tx.conn.execute(insert(incidents).values(_row(tx, new, first)))
    except IntegrityError as raced:
        raise HeadMoved(f"another incident was opened for the same as {id_}") from raced
    await write_rows(tx, rows_after(tx, new, START, [said_event(event) for event in first], actor))
    return new


async def _times(tx: Tx, old: Incident) -> int:
    """How many of this identity and episode there have been: intake counts the same."""
    same = (incidents.c.cluster == tx.cluster) & (incidents.c.identity == old.identity)
    counted = select(func.count()).select_from(incidents).where(same, incidents.c.episode == old.episode)
    return int((await tx.conn.execute(counted)).scalar_one())


async def _busy(tx: Tx, old: Incident) -> str:
    uid = old.target.uid if old.target else ""
    same = incidents.c.identity == old.identity
    wanted = or_(same, incidents.c.target_uid == uid) if uid else same
    found = select(incidents.c.id).where(incidents.c.cluster == tx.cluster, incidents.c.is_open.is_(True), wanted)
    return (await tx.conn.execute(found.limit(1))).scalar_one_or_none() or ""


def _row(tx: Tx, id_: str, first: Sequence[Event]) -> dict[str, Any]:
    opened = first[0]
    if not isinstance(opened, Opened):
        raise Bug(f"{id_} would begin with {opened.kind}")
    return {
        "id": id_,
        "cluster": tx.cluster,
        "identity": opened.identity,
        "episode": opened.episode,
        "state": str(State.OPENED),
        "title": clean(opened.alert.name)[:TITLE],
        "target": clean(str(opened.target)) if opened.target else "",
        "opened_at": tx.now,
        "moved_at": tx.now,
        "head": len(first),
        "epoch": tx.epoch,
        "is_open": True,
    }
