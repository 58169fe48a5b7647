"""The audit: is every journal still what was written? Reads all, changes nothing, needs no fold to find a change.

A stream is checked by its hash chain, its end by what the projection (or the switch) says its head is, and the fold by
whether it still leads to the state that the projection shows. Kept texts are checked against their digests.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from handrail.adapters.store.blobs import said_in
from handrail.adapters.store.chain import Broken, Row, verify
from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import AS_STORED, as_entry, as_row, cut_off
from handrail.adapters.store.schema import SYSTEM, blobs, incidents, journal, switch
from handrail.adapters.store.values import AuditReport, StreamAudit
from handrail.core.fold import fold
from handrail.model.errors import Bug, Damaged, UnknownEvent
from handrail.model.value import digest


async def audit(tx: Tx) -> AuditReport:
    """One row per stream, plus `evidence` where a kept text was changed."""
    shown = {row.id: row for row in await tx.conn.execute(select(incidents.c.id, incidents.c.head, incidents.c.state))}
    written = set((await tx.conn.execute(select(journal.c.incident).distinct())).scalars())
    pressed = (await tx.conn.execute(select(switch.c.head))).scalar_one_or_none()
    streams = [await _stream(tx, SYSTEM, pressed, None)]
    for id_ in sorted((written | shown.keys()) - {SYSTEM}):
        row = shown.get(id_)
        streams.append(await _stream(tx, id_, row.head if row else None, row.state if row else None))
    streams += await _evidence(tx)
    return AuditReport(ok=all(stream.ok for stream in streams), streams=tuple(streams))


async def _stream(tx: Tx, stream: str, head: int | None, state: str | None) -> StreamAudit:
    stored = AS_STORED.where(journal.c.incident == stream).order_by(journal.c.seq)
    found = [as_row(row) for row in await tx.conn.execute(stored)]
    broken = verify(found) or _end(found, head) or _leads_to(tx, found, state)
    if broken is None:
        return StreamAudit(stream=stream, entries=len(found), ok=True)
    return StreamAudit(stream=stream, entries=len(found), ok=False, broken_at=broken.seq, problem=broken.problem)


def _end(found: Sequence[Row], head: int | None) -> Broken | None:
    if head is None:
        return Broken(1, "nothing else in the database knows of this journal")
    if head < len(found):
        return Broken(head + 1, f"it goes further than {head}, where it should end")
    return cut_off(len(found), head)


def _leads_to(tx: Tx, found: Sequence[Row], state: str | None) -> Broken | None:
    """A journal with kinds of a newer build can't be folded here; its chain has been checked all the same."""
    if state is None:
        return None
    try:
        folded = fold((as_entry(row) for row in found), cluster=tx.cluster).state
    except UnknownEvent:
        return None
    except (Bug, Damaged) as impossible:
        return Broken(len(found), f"it tells an impossible story: {impossible}")
    return None if folded == state else Broken(len(found), f"it leads to {folded}, but {state} is shown")


async def _evidence(tx: Tx) -> list[StreamAudit]:
    wrong: list[str] = []
    entries = 0
    async for row in await tx.conn.stream(select(blobs)):
        entries += 1
        if digest(said_in(row.text)) != row.digest:
            wrong.append(row.digest[:12])
    if not wrong:
        return []
    problem = f"kept texts were changed: {', '.join(wrong[:10])}"
    return [StreamAudit(stream="evidence", entries=entries, ok=False, problem=problem)]
