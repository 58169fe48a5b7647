"""The storm's page, and who waits for its end. What a storm is, is core/storm.py's; the counts are the store's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from handrail.core import storm
from handrail.core.awaiting import source
from handrail.core.correlate import arrival
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.arrival import Batch
from handrail.model.condition import Condition
from handrail.model.errors import HeadMoved
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason, Refusal

REWRITE = timedelta(seconds=10)
"""The page is written anew at most so often."""

MOST_NAMED = 5
"""Of those that wait, when the page says that the storm still goes on."""


async def watch(tools: Tools) -> None:
    """By whoever has the duty of the ticks: counts anew, keeps the page, and ends it. Raises Transient."""
    limit, page = tools.policy.last_good().storm, storm.page_of(tools.config.cluster.name)
    seen = await tools.store.storms.look(page, limit)
    standing, found = _of_them(seen.standing), storm.condition(page, seen.count, limit)
    if found is not None and (standing is None or standing.until < found.until):
        await tools.store.watching.raise_(found)
        standing = await standing_now(tools)
    if standing is None:
        await _end(tools, seen.page)
        return
    await _keep(tools, seen.page or await _open(tools, standing), standing)


async def standing_now(tools: Tools) -> Condition | None:
    return _of_them(await tools.store.watching.standing())


def _of_them(standing: Iterable[Condition]) -> Condition | None:
    return next((one for one in standing if one.reason is Reason.STORM), None)


async def asks_anyway(tools: Tools, incident: Incident) -> bool:
    """A storm stops what acts by itself; what a person goes on with in it is an approver's to let go."""
    return storm.asked_for(incident) and await standing_now(tools) is not None


async def _open(tools: Tools, standing: Condition) -> str:
    """The same page whichever replica opens it: its episode is the storm's beginning, as the store has it."""
    cluster, now = tools.config.cluster.name, tools.now()
    alert = storm.alert(standing, cluster)
    arrived = arrival(alert, cluster, (storm.finding(standing),))
    batch = Batch(source=source(storm.DETECTOR, alert), at=now, arrivals=(arrived,))
    ((took,),) = await tools.store.take((batch,), max_age=storm.PAGE_AGE)
    return took.incident


async def _keep(tools: Tools, id_: str, standing: Condition) -> None:
    incident = await tools.store.incident(id_) if id_ else None
    if incident is None or incident.state is not State.OPENED:
        return
    if incident.storm_told_at is not None and tools.now() - incident.storm_told_at < REWRITE:
        return
    limit, page = tools.policy.last_good().storm, standing.identity
    since = standing.since - timedelta(minutes=limit.minutes)
    seen, waiting, longest = await tools.store.storms.seen(page, since, MOST_NAMED)
    counted = storm.counted(seen, standing, limit, waiting)
    said = storm.again(incident, limit, waiting, longest, tools.now())
    if counted != incident.storm or said:
        await _append(tools, incident, counted, *((ev.Noted(text=said),) if said else ()))


async def _end(tools: Tools, id_: str) -> None:
    incident = await tools.store.incident(id_) if id_ else None
    if incident is not None and incident.state is State.OPENED:
        await _append(tools, incident, storm.over(incident, tools.now()))


async def _append(tools: Tools, incident: Incident, *events: ev.Event) -> None:
    try:
        await tools.store.append(incident, events)
    except HeadMoved:
        return  # somebody took it, or something came in: the next tick looks again


async def hold(tools: Tools, incident: Incident) -> Incident | None:
    """The incident as it waits, while there is a storm, there may be one, or others that fired in it go first; None
    lets it go on."""
    if not storm.may_wait(incident):
        return None
    standing, undecided = await _counted_anew(tools, incident)
    limit = tools.policy.last_good().storm
    turn = await _turn(tools, incident) if incident.storm_at is not None else storm.Turn()
    event = storm.hold(incident, standing, limit, turn, tools.now())
    if event is not None:
        return await tools.store.append(incident, (event,))
    return incident if undecided and storm.worth_waiting(incident, tools.now()) else None


async def _turn(tools: Tools, incident: Incident) -> storm.Turn:
    """Asked of the store only where the answer matters: after a look."""
    if incident.state is not State.PLANNING:
        return storm.Turn()
    asked = await tools.store.storms.ahead(incident.id) < storm.FEW
    return storm.Turn(asked=asked, given=await _given(tools, known=True))


async def _given(tools: Tools, *, known: bool) -> bool:
    return await tools.store.storms.given(storm.TURN, known=known) < storm.FEW


async def not_found(tools: Tools, incident: Incident, no: Refusal) -> ev.Event | None:
    """What becomes of one that fired in a storm and whose object can't be looked at; None: as of any other."""
    if incident.storm_at is None:
        return None
    page = await tools.store.storms.page(storm.page_of(tools.config.cluster.name))
    return storm.not_found(incident, no, await _given(tools, known=False), page, tools.now())


async def away(tools: Tools, incident: Incident, why: str) -> ev.Event | None:
    """What becomes of one that fired in a storm while the API server is away; None: tried again, as any other."""
    if incident.storm_at is None:
        return None
    limit = tools.policy.last_good().storm
    return storm.away(incident, limit, await _given(tools, known=False), why, tools.now())


async def _counted_anew(tools: Tools, incident: Incident) -> tuple[Condition | None, bool]:
    """The storm that stands, and whether there may be one. What gathering has found to own pods is counted before
    anything is planned: no alert says it."""
    standing = await standing_now(tools)
    if standing is not None or incident.state is State.GATHERING:
        return standing, False
    limit, page = tools.policy.last_good().storm, storm.page_of(tools.config.cluster.name)
    count = await tools.store.storms.count(page, limit)
    found = storm.condition(page, count, limit)
    if found is None or found.until <= tools.now():
        return None, storm.undecided(count, limit)
    await tools.store.watching.raise_(found)
    return found, False
