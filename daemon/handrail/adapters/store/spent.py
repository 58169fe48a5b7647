"""Which runs have begun, and which incidents are at work: what budgets are counted from, after any restart and by any
replica. Nothing is kept for it: the rows are those of the interval, the class of a run is read from its journal.

Counts only; what is too much is decided by core/budgets.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import load
from handrail.adapters.store.schema import incidents, journal, saga_starts
from handrail.core.budgets import Begun, Spent, risk_of
from handrail.model.budgets import LONGEST, LONGEST_OF_TARGET
from handrail.model.errors import Damaged, UnknownEvent
from handrail.model.events import Compiled, read
from handrail.model.incident import Incident, State
from handrail.model.step import Risk

Run = tuple[str, int]
"""An incident and its round."""


async def spent(tx: Tx, incident: Incident | None, uids: Iterable[str]) -> Spent:
    """`incident` asks: it is not at work itself. `uids` are the objects that its run would be about."""
    wanted = sorted(set(uids) - {""})
    since_all, since_these = tx.now - LONGEST, tx.now - LONGEST_OF_TARGET
    here = saga_starts.c.target_uid.in_(wanted) & (saga_starts.c.at > since_these)
    return Spent(
        begun=await _begun(tx, (saga_starts.c.at > since_all) | here, frozenset(wanted)),
        at_work=await _at_work(tx, incident.id if incident else ""),
    )


async def _begun(tx: Tx, which: ColumnElement[bool], wanted: frozenset[str]) -> tuple[Begun, ...]:
    """Without those that took back what another one did: a person asked for them by name."""
    rows = select(saga_starts).join(incidents, incidents.c.id == saga_starts.c.incident)
    found = (await tx.conn.execute(rows.where(incidents.c.cluster == tx.cluster, which))).all()
    runs: dict[Run, list[Any]] = {}
    for row in found:
        runs.setdefault((row.incident, row.round), []).append(row)
    undoing, classes = await _plans(tx, {incident for incident, _ in runs})
    begun = (
        Begun(
            at=min(row.at for row in rows_),
            incident=run[0],
            round=run[1],
            risk=classes.get(run),
            uids=frozenset(row.target_uid for row in rows_) & wanted,
        )
        for run, rows_ in runs.items()
        if run[0] not in undoing
    )
    return tuple(sorted(begun, key=lambda one: (one.at, one.incident, one.round)))


async def _plans(tx: Tx, ids: Iterable[str]) -> tuple[frozenset[str], dict[Run, Risk]]:
    """Which of these incidents take back, and the class of each round's newest plan: what was compiled again before
    its first intent never ran."""
    undoing: set[str] = set()
    classes: dict[Run, Risk] = {}
    kinds = journal.c.kind.in_(("compiled", "taking_back"))
    columns = (journal.c.incident, journal.c.kind, journal.c.data, journal.c.version)
    rows = select(*columns).where(journal.c.incident.in_(sorted(ids)), kinds).order_by(journal.c.seq)
    for row in await tx.conn.execute(rows):
        if row.kind == "taking_back":
            undoing.add(row.incident)
        elif (plan := _plan(row.data, row.version)) is not None:
            classes[row.incident, plan[0]] = plan[1]
    return frozenset(undoing), classes


@lru_cache(maxsize=512)
def _plan(data: str, version: int) -> tuple[int, Risk] | None:
    """Round and class; None for what only a newer build can read, or nobody: it counts to every class then."""
    try:
        event = read(json.loads(data), version)
    except (UnknownEvent, ValueError):
        return None
    if not isinstance(event, Compiled):
        return None
    risk = risk_of([step.risk for step in event.saga.steps])
    return None if risk is None else (event.saga.round, risk)


async def _at_work(tx: Tx, but: str) -> tuple[str, ...]:
    """Those that have written in this round, and are not through with it. What waits for its turn is not at work, nor
    is one whose journal is damaged: nothing is done with it any more, and the others go on. One that only a newer
    build can read may be at work there."""
    begun = _newest("intent") > _newest("approved", "cleared")
    after = incidents.c.state.in_([State.VERIFYING, State.UNDOING, State.UNDONE])
    rows = select(incidents.c.id).where(
        incidents.c.cluster == tx.cluster,
        incidents.c.is_open.is_(True),
        incidents.c.id != but,
        after | ((incidents.c.state == State.EXECUTING) & begun),
    )
    found = tuple((await tx.conn.execute(rows.order_by(incidents.c.id))).scalars())
    return tuple([id_ for id_ in found if await _stands(tx, id_)])


async def _stands(tx: Tx, id_: str) -> bool:
    try:
        await load(tx, id_)
    except UnknownEvent:
        return True
    except Damaged:
        return False
    return True


def _newest(*kinds: str) -> ColumnElement[int]:
    """The last seq of one of these in the incident's journal."""
    mine: Select[tuple[int]] = select(func.coalesce(func.max(journal.c.seq), 0))
    return mine.where(journal.c.incident == incidents.c.id, journal.c.kind.in_(kinds)).scalar_subquery()
