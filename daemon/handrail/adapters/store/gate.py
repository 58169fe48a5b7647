"""The gate's transaction: everything that the judgement reads is read, judged and committed in one.

A stop pressed between decision and intent wins, because the switch is read here and not before. What is judged is the
core's business (core/gate.py); what is an invariant whatever anybody judges is held here.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import func, insert, select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import extend, lock_at
from handrail.adapters.store.schema import incidents, meta, saga_starts
from handrail.adapters.store.stop import switch_now
from handrail.core.gate import GateFacts
from handrail.model.errors import Bug
from handrail.model.events import Attempted, Intent
from handrail.model.incident import Incident
from handrail.model.reason import Refusal
from handrail.model.switch import Permit
from handrail.model.write import Direction

Judge = Callable[[GateFacts], Refusal | None]


async def commit_intent(
    tx: Tx, incident: Incident, event: Intent | Attempted, judge: Judge, actor: str
) -> tuple[Incident, Permit] | Refusal:
    """A refusal leaves the journal as it was."""
    current = await lock_at(tx, incident)
    intent = _intent_of(current, event)
    uids = _uids(current, intent)
    refusal = judge(await _facts(tx, current, uids))
    if refusal is not None:
        return refusal
    moved = await extend(tx, current, (event,), actor)
    if event is intent and intent.direction is Direction.DO:
        await _record_start(tx, current, uids)
    permit = Permit(
        incident=moved.id,
        write=intent.write,
        resource_version=event.resource_version,
        attempt=sum(len(run.attempts) for run in moved.writes if run.intent.write.key == intent.write.key),
    )
    return moved, permit


def _intent_of(incident: Incident, event: Intent | Attempted) -> Intent:
    """The intent that the event is or repeats. One write at a time, and none that has been done already."""
    waiting = incident.open_write
    if isinstance(event, Intent):
        if not event.write.key or event.write.key in incident.done_keys:
            raise Bug(f"{incident.id}: the write {event.write.key!r} has no name or has been done already")
        if waiting is not None:
            raise Bug(f"{incident.id}: what became of {waiting.intent.write.key} must be known before anything else")
        return event
    if waiting is None or waiting.intent.write.key != event.key:
        raise Bug(f"{incident.id}: {event.key} is not in flight, so it can't be attempted again")
    return waiting.intent


def _uids(incident: Incident, intent: Intent) -> frozenset[str]:
    """The written object and the incident's own target: neither may have another saga on it."""
    target = incident.target.uid if incident.target else ""
    return frozenset(uid for uid in (intent.write.object.uid, target) if uid)


async def _facts(tx: Tx, incident: Incident, uids: frozenset[str]) -> GateFacts:
    """Rows are locked in this order everywhere: incident, switch, meta."""
    switch = await switch_now(tx, locked=True)
    holder = (await tx.conn.execute(select(meta.c.holder_epoch).with_for_update(read=True))).scalar_one()
    others = saga_starts.c.target_uid.in_(uids) & (
        (saga_starts.c.incident != incident.id) | (saga_starts.c.round != incident.round)
    )
    busy = select(incidents.c.id).where(
        incidents.c.cluster == incident.cluster,
        incidents.c.target_uid.in_(uids),
        incidents.c.is_open.is_(True),
        incidents.c.id != incident.id,
    )
    return GateFacts(
        incident=incident,
        switch=switch,
        epoch=tx.epoch,
        holder_epoch=holder,
        last_saga_at=(await tx.conn.execute(select(func.max(saga_starts.c.at)).where(others))).scalar_one(),
        busy_with=(await tx.conn.execute(busy.limit(1))).scalar_one_or_none() or "",
        now=tx.now,
    )


async def _record_start(tx: Tx, incident: Incident, uids: frozenset[str]) -> None:
    mine = select(saga_starts.c.target_uid).where(
        saga_starts.c.incident == incident.id, saga_starts.c.round == incident.round
    )
    known = set((await tx.conn.execute(mine)).scalars())
    saga = incident.saga.hash if incident.saga else ""
    rows = [
        {"target_uid": uid, "incident": incident.id, "round": incident.round, "saga": saga, "at": tx.now}
        for uid in sorted(uids - known)
    ]
    if rows:
        await tx.conn.execute(insert(saga_starts), rows)
