"""One open incident per target: the first to claim its UID goes on, the other is merged into it.

The unique index decides, in a savepoint, so that the loser's transaction can still write the merge into both journals.
"""

from __future__ import annotations

import json

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import extend, lock_at, note
from handrail.adapters.store.schema import incidents, journal
from handrail.model.errors import Bug, Transient
from handrail.model.events import AlertAttached, Event, Gathered, Noted, Opened, Suppressed, read
from handrail.model.incident import Incident
from handrail.model.reason import Reason

TRIES = 3


async def claim(tx: Tx, incident: Incident, gathered: Gathered, actor: str) -> Incident | str:
    """The new fold, or the id of the open incident that holds the target and now has this one's alert too."""
    current = await lock_at(tx, incident)
    if not gathered.target.uid:
        raise Bug(f"{incident.id}: a target without a UID can't be claimed")
    for _ in range(TRIES):
        try:
            async with tx.conn.begin_nested():
                return await extend(tx, current, (gathered,), actor)
        except IntegrityError:
            winner = await _holder(tx, current, gathered.target.uid)
        if winner:
            await _merge(tx, current, winner, actor)
            return winner
    raise Transient(f"the claim on {gathered.target} keeps changing hands")


async def _holder(tx: Tx, loser: Incident, uid: str) -> str:
    """Locked, so that it can't end before the merge is in its journal; "" where it has ended meanwhile."""
    holds = select(incidents.c.id).where(
        incidents.c.cluster == loser.cluster,
        incidents.c.target_uid == uid,
        incidents.c.is_open.is_(True),
        incidents.c.id != loser.id,
    )
    return (await tx.conn.execute(holds.with_for_update())).scalar_one_or_none() or ""


async def _merge(tx: Tx, loser: Incident, winner: str, actor: str) -> None:
    detail = f"{winner} is already about the same object; this alert goes on there"
    await extend(tx, loser, (Suppressed(reason=Reason.MERGED, detail=detail, into=winner),), actor)
    first = select(journal.c.data).where(journal.c.incident == loser.id, journal.c.seq == 1)
    opened = read(json.loads((await tx.conn.execute(first)).scalar_one()))
    if not isinstance(opened, Opened):
        raise Bug(f"the journal of {loser.id} begins with {opened.kind}")
    told: tuple[Event, ...] = (
        AlertAttached(alert=opened.alert, source=opened.source),
        Noted(text=f"{loser.id} ({loser.alert.name}) is about the same object and was merged into this one"),
    )
    await note(tx, winner, told, actor)
