"""What a person asks for about a whole incident, with a reason: cancel it, try again, take back what it did.

Approvers and operators, as the last good policy names them: none of this writes to the cluster by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.adapters.http import Reply, no_such
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
        case "retry":
            return await _let_go(tools, incident.id, person, why) or await _begin(tools, incident.id, verb, person, why)
        case "undo":
            return await _begin(tools, incident.id, verb, person, why)
        case _:
            return Refusal(reason=Reason.NOT_ALLOWED, detail=f"{verb!r} is none of cancel, retry and undo")


async def _cancel(tools: Tools, id_: str, person: Person, why: str) -> Reply | Refusal:
    for _ in range(TRIES):
        incident = await tools.store.incident(id_)
        if incident is None:
            return Reply(ok=False, message=no_such(id_))
        events = again.cancel(incident, person, why)
        if isinstance(events, Refusal):
            return events
        try:
            await tools.store.append(incident, events, actor=str(person))
        except HeadMoved:
            continue
        flying = "; what is in flight is found out first" if incident.open_write is not None else ""
        told = f"cancelled by {person}: {id_} is handed over, nothing more is written{flying}"
        left = f"`handrail incidents report {id_}` says what is half-done"
        return Reply(ok=True, message=f"{told}; {left}", incident=id_)
    return MOVING


async def _let_go(tools: Tools, id_: str, person: Person, why: str) -> Refusal | None:
    """What waits for the end of a storm is gone on with by another try: the same command as for what has ended."""
    for _ in range(TRIES):
        incident = await tools.store.incident(id_)
        events = again.let_go(incident, person, why) if incident is not None else ()
        if incident is None or not events:
            return None
        try:
            await tools.store.append(incident, events, actor=str(person))
        except HeadMoved:
            continue
        return None
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
    then = f"`handrail incidents show {new}` follows it"
    if way == "retry":
        told = f"{new} begins for {person}: the same alert and object, looked at and asked anew"
        return Reply(ok=True, message=f"{told}; {then}", incident=new)
    told = f"{new} begins for {person}: what it would take back is rehearsed and shown, and an approver is asked"
    return Reply(ok=True, message=f"{told}; {then}", incident=new)
