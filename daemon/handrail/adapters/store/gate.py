"""The gate's transaction: everything that the judgement reads is read, judged and committed in one.

A stop pressed between decision and intent wins, because the switch is read here and not before. What is judged is the
core's business (core/gate.py); what is an invariant whatever anybody judges is held here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import insert, select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import extend, lock_at
from handrail.adapters.store.leases import epochs
from handrail.adapters.store.once import insert_once
from handrail.adapters.store.schema import meta, saga_starts, targets
from handrail.adapters.store.spent import spent
from handrail.adapters.store.starts import recent
from handrail.adapters.store.stop import switch_now
from handrail.core.budgets import counts, objects
from handrail.core.gate import NOTHING_SPENT, GateFacts, attempts
from handrail.model.errors import Bug
from handrail.model.events import Attempted, Intent, StepBegun
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.write import Direction

Judge = Callable[[GateFacts], Refusal | None]


class Wanted(NamedTuple):
    """An intent or a further attempt at it; `begun` is what was before its step, if that is not journalled yet."""

    event: Intent | Attempted
    begun: StepBegun | None = None


async def commit_intent(
    tx: Tx, incident: Incident, wanted: Wanted, judge: Judge, actor: str
) -> tuple[Incident, Permit] | Refusal:
    """A refusal leaves the journal as it was."""
    event = wanted.event
    current = await lock_at(tx, incident)
    intent = _intent_of(current, event)
    uids, begins = _uids(current, intent), _begins(current, intent)
    facts = await _facts(tx, current, uids, begins)
    refusal = judge(facts) or _fenced(facts)
    if refusal is not None:
        return refusal
    moved = await extend(tx, current, (*([wanted.begun] if wanted.begun else []), event), actor)
    if event is intent and intent.direction is Direction.DO:
        await _record_start(tx, current, uids)
    permit = Permit(
        incident=moved.id,
        write=intent.write,
        resource_version=event.resource_version,
        attempt=attempts(moved, intent.write.key),
    )
    return moved, permit


def _fenced(facts: GateFacts) -> Refusal | None:
    """Whatever anybody judges: who has been replaced writes nothing."""
    if facts.epoch == facts.holder_epoch:
        return None
    return Refusal(reason=Reason.LEASE_LOST, detail="another process drives this now, or may")


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


def _begins(incident: Incident, intent: Intent) -> bool:
    """A run: what budgets count. All of it is counted with its first intent, so that no later one can lack a unit."""
    return intent.direction is Direction.DO and counts(incident)


def _uids(incident: Incident, intent: Intent) -> frozenset[str]:
    """The written object and the incident's own target: neither may have another saga on it. With the first intent all
    that the saga is to write."""
    planned = objects(incident) if _begins(incident, intent) else {}
    target = incident.target.uid if incident.target else ""
    return frozenset(uid for uid in (intent.write.object.uid, target, *planned) if uid)


async def _facts(tx: Tx, incident: Incident, uids: frozenset[str], begins: bool) -> GateFacts:
    """Rows are locked in this order everywhere: incidents by id, switch, meta, targets by UID. Among the last is one
    for the whole cluster, where a run begins: of two that want its last unit, the second sees the first. What has
    expired while it waited for them has expired."""
    switch = await switch_now(tx, locked=True)
    epoch, holder_epoch = await _epochs(tx, incident.id)
    await _lock_targets(tx, sorted({*uids, _of_cluster(tx)} if begins else uids))
    others = await recent(tx, incident, uids)
    return GateFacts(
        incident=incident,
        switch=switch,
        epoch=epoch,
        holder_epoch=holder_epoch,
        last_saga_at=others.last_saga_at,
        busy_with=others.busy_with,
        now=await tx.clock(),
        conditions=others.conditions,
        spent=await spent(tx, incident, uids) if begins else NOTHING_SPENT,
    )


def _of_cluster(tx: Tx) -> str:
    """No UID looks like this: theirs have no colon."""
    return f"cluster:{tx.cluster}"


async def _epochs(tx: Tx, id_: str) -> tuple[int, int]:
    """Ours, and the one that counts. A file's is that of its last opening, a server's that of the incident's lease."""
    if tx.leases is not None:
        return await epochs(tx.conn, tx.leases, id_)
    return tx.epoch, (await tx.conn.execute(select(meta.c.holder_epoch).with_for_update(read=True))).scalar_one()


async def _lock_targets(tx: Tx, uids: Sequence[str]) -> None:
    """One row each, made where there is none: two gates that want the same object come one after the other."""
    there = select(targets.c.uid).where(targets.c.uid.in_(uids)).order_by(targets.c.uid)
    known = set((await tx.conn.execute(there)).scalars())
    await insert_once(tx, targets, [{"uid": uid} for uid in uids if uid not in known])
    await tx.conn.execute(there.with_for_update())


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
