"""What a person asks for about a whole incident, with a reason: cancel it, try again, take back what it did.

Approvers and operators, as the last good policy names them: none of this writes to the cluster by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.adapters.http import Reply
from handrail.core import again
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.approval import Person
from handrail.model.errors import Damaged, HeadMoved, UnknownEvent
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal

MOVING = Refusal(reason=Reason.STATE_CHANGED, detail="the incident keeps moving; try again")
TRIES = 10


async def ask(tools: Tools, incident: Incident, verb: str, person: Person, why: str) -> Reply | Refusal:
    """`verb` is cancel, retry or undo. Events with name and reason, in one transaction, or a refusal."""
    if not why.strip():
        return Reply(ok=False, message=f"say why: handrail incidents {verb} {incident.id} --reason TEXT")
    match verb:
        case "cancel":
            return await _cancel(tools, incident.id, person, why)
        case "retry" | "undo":
            return await _begin(tools, incident.id, verb, person, why)
        case _:
            return Refusal(reason=Reason.NOT_ALLOWED, detail=f"{verb!r} is none of cancel, retry and undo")


async def _cancel(tools: Tools, id_: str, person: Person, why: str) -> Reply | Refusal:
    for _ in range(TRIES):
        incident = await tools.store.incident(id_)
        if incident is None:
            return Reply(ok=False, message=f"no incident {id_!r}; see `handrail incidents list`")
        events = again.cancel(incident, person, why)
        if isinstance(events, Refusal):
            return events
        try:
            await tools.store.append(incident, events, actor=str(person))
        except HeadMoved:
            continue
        flying = "; what is in flight is found out first" if incident.open_write is not None else ""
        return Reply(ok=True, message=f"cancelled: {id_} is handed over, nothing more is written{flying}")
    return MOVING


async def _begin(tools: Tools, id_: str, way: again.Way, person: Person, why: str) -> Reply | Refusal:
    def begun(entries: Sequence[ev.Entry], new: str) -> again.Begun | Refusal:
        return again.begin(way, entries, new, person, why)

    try:
        new = await tools.store.open_again(id_, begun, actor=str(person))
    except HeadMoved:
        return MOVING
    except (Damaged, UnknownEvent) as unfit:
        return Refusal(reason=Reason.BROKEN, detail=str(unfit)[:500])
    if isinstance(new, Refusal):
        return new
    if way == "retry":
        return Reply(ok=True, message=f"{new} begins: the same alert and object, looked at anew")
    return Reply(ok=True, message=f"{new} begins: what it would take back is rehearsed, shown and asked")
