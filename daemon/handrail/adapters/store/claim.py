"""One open incident per target: the first to claim its UID goes on, the other is merged into it.

The unique index decides, in a savepoint, so that the loser's transaction can still write the merge into both journals.
"""

from __future__ import annotations

import json

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import clean, extend, lock_at, note
from handrail.adapters.store.schema import incidents, journal
from handrail.model.errors import Bug, Transient
from handrail.model.events import AlertAttached, Event, Gathered, Noted, Opened, Suppressed, read
from handrail.model.incident import Incident
from handrail.model.reason import Reason

TRIES = 3


async def claim(tx: Tx, incident: Incident, gathered: Gathered, actor: str) -> Incident | str:
    """The new fold, or the id of the open incident that holds the target and now has this one's alert too.

    Each try is a savepoint, at whose end its locks are given back: both incidents are locked in the order of their ids,
    as everywhere, and which one has the target may turn out only when the index says no.
    """
    if not gathered.target.uid:
        raise Bug(f"{incident.id}: a target without a UID can't be claimed")
    for _ in range(TRIES):
        winner = await _holder(tx, incident, gathered.target.uid)
        try:
            async with tx.conn.begin_nested() as savepoint:
                found = await _try(tx, incident, gathered, winner, actor)
                if found is not None:
                    return found
                await savepoint.rollback()
        except IntegrityError:
            continue
    raise Transient(f"the claim on {gathered.target} keeps changing hands", retry_after=0.5)


async def _try(tx: Tx, incident: Incident, gathered: Gathered, winner: str, actor: str) -> Incident | str | None:
    """None where the target has changed hands before the locks were there. Raises IntegrityError where it was free and
    somebody has claimed it since."""
    for id_ in sorted(filter(None, (incident.id, winner))):
        await tx.conn.execute(select(incidents.c.id).where(incidents.c.id == id_).with_for_update())
    current = await lock_at(tx, incident)
    if await _holder(tx, current, gathered.target.uid) != winner:
        return None
    if not winner:
        return await extend(tx, current, (gathered,), actor)
    await _merge(tx, current, winner, actor)
    await _count_as(tx, current, gathered)
    return winner


async def _holder(tx: Tx, loser: Incident, uid: str) -> str:
    """The open incident that has the target, "" where it is free."""
    holds = select(incidents.c.id).where(
        incidents.c.cluster == loser.cluster,
        incidents.c.target_uid == uid,
        incidents.c.is_open.is_(True),
        incidents.c.id != loser.id,
    )
    return (await tx.conn.execute(holds)).scalar_one_or_none() or ""


async def _count_as(tx: Tx, loser: Incident, gathered: Gathered) -> None:
    """A storm counts owners: what was merged is about what it was merged for."""
    owner = {"target": clean(str(gathered.target)), "target_uid": gathered.target.uid}
    await tx.conn.execute(update(incidents).where(incidents.c.id == loser.id).values(owner))


async def _merge(tx: Tx, loser: Incident, winner: str, actor: str) -> None:
    detail = f"{winner} is already about the same object; this alert goes on there"
    await extend(tx, loser, (Suppressed(reason=Reason.MERGED, detail=detail, into=winner),), actor)
    first = select(journal.c.data, journal.c.version).where(journal.c.incident == loser.id, journal.c.seq == 1)
    stored = (await tx.conn.execute(first)).one()
    opened = read(json.loads(stored.data), stored.version)
    if not isinstance(opened, Opened):
        raise Bug(f"the journal of {loser.id} begins with {opened.kind}")
    told: tuple[Event, ...] = (
        AlertAttached(alert=opened.alert, source=opened.source),
        Noted(text=f"{loser.id} ({loser.alert.name}) is about the same object and was merged into this one"),
    )
    await note(tx, winner, told, actor)
