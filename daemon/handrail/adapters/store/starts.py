"""When sagas began on which objects, who holds them now, and what stops every write: what stands beside a saga.

Read by the gate inside its transaction, and beforehand, so that nobody is asked for what the gate would refuse.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import func, select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.schema import incidents, saga_starts
from handrail.adapters.store.watching import standing
from handrail.core.gate import Recent
from handrail.core.storm import concerning
from handrail.model.incident import Incident


async def recent(tx: Tx, incident: Incident, uids: Iterable[str]) -> Recent:
    """By any other incident, on any of these objects or on the incident's own target. Its own rounds are its own
    business: each is asked, and policy bounds them (docs/adr/0005-rounds.md); an undo belongs to the run that it takes
    back."""
    wanted = {*uids, incident.target.uid if incident.target else ""} - {""}
    mine = {incident.id, *((incident.follows.incident,) if incident.taking_back and incident.follows else ())}
    others = saga_starts.c.target_uid.in_(wanted) & saga_starts.c.incident.not_in(mine)
    busy = select(incidents.c.id).where(
        incidents.c.cluster == incident.cluster,
        incidents.c.target_uid.in_(wanted),
        incidents.c.is_open.is_(True),
        incidents.c.id != incident.id,
    )
    return Recent(
        last_saga_at=(await tx.conn.execute(select(func.max(saga_starts.c.at)).where(others))).scalar_one(),
        busy_with=(await tx.conn.execute(busy.limit(1))).scalar_one_or_none() or "",
        conditions=concerning(incident, await standing(tx)),
    )
