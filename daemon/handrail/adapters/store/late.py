"""What may come at any time, from a process that has been replaced too: results of writes, answers of the model.

Appended without looking at the head, and once (design, state rules 5 and 7). What is recorded stays, but for two that
are no knowledge: that nobody can tell gives way to who knows that it was applied, a failed call to an answer.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sqlalchemy import select

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import extend, lock
from handrail.adapters.store.schema import journal
from handrail.adapters.store.stop import latch
from handrail.core.gate import attempts
from handrail.model.errors import Bug
from handrail.model.events import ModelAnswered, Noted, Outcome, Result
from handrail.model.incident import Incident
from handrail.model.switch import Stop

_KNOWN = Noted(text="It is known by now: the write of which nobody could tell was applied.")


class Beside(NamedTuple):
    """What goes with an outcome: the stop of the cluster's that refused it, and the only attempt that it speaks of."""

    held: Stop | None = None
    attempt: int | None = None


async def append_outcome(tx: Tx, id_: str, outcome: Outcome, beside: Beside, actor: str) -> Incident:
    """Raises Bug for a key that was never intended."""
    incident = await lock(tx, id_)
    if beside.held is not None:
        await latch(tx, beside.held)
    run = incident.run_of(outcome.key)
    if run is not None and beside.attempt not in (None, attempts(incident, outcome.key)):
        return incident
    unknown = run.takes(outcome) if run is not None else await _in_flight_before(tx, id_, outcome)
    if not unknown:
        return incident
    known = (_KNOWN,) if run is not None and not run.open else ()
    return await extend(tx, incident, (outcome, *known), actor)


async def _in_flight_before(tx: Tx, id_: str, outcome: Outcome) -> bool:
    """A write of an earlier round is no longer in the fold, but still in the journal."""
    of_writes = select(journal.c.kind, journal.c.data).where(
        journal.c.incident == id_, journal.c.kind.in_(("intent", "outcome"))
    )
    last = ""
    for kind, text in await tx.conn.execute(of_writes.order_by(journal.c.seq)):
        data = json.loads(text)
        if (data["write"]["key"] if kind == "intent" else data["key"]) == outcome.key:
            last = kind if kind == "intent" else data["result"]
    if not last:
        raise Bug(f"{id_}: an outcome of {outcome.key}, which was never intended")
    return last == "intent" or Result(last).gives_way_to(outcome.result)


async def answer_model(tx: Tx, id_: str, answered: ModelAnswered, actor: str) -> Incident:
    """An answer stays for ever; a failure gives way to an answer that came after all. Raises Bug if never asked."""
    incident = await lock(tx, id_)
    call = next((call for call in incident.model_calls if call.request == answered.request), None)
    if call is None:
        raise Bug(f"{id_}: an answer to {answered.request}, which was never asked")
    if call.answered and call.failed is None:
        return incident
    return await extend(tx, incident, (answered,), actor)
