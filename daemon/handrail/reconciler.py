"""The path of an alert: `on_records` takes it in, `advance` moves its incident by one effect, until it has ended.

Decode, identify, journal; then load, decide, commit, perform. What happens next is decided by core/saga.py from folded
state; what an effect does is in effects/; the loop that calls `advance` is loop.py. The broad `except`s of the product
stand in these two files alone: whatever breaks, the incident goes to a person (a record to the dead letters), and its
neighbours go on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import datetime

import structlog

from handrail.core import stops
from handrail.core.move import Decided, Do, Effect, Idle, Move
from handrail.core.redact import redact
from handrail.core.saga import next_move, too_late
from handrail.effects import act, gather, plan, rehearse, send, storm, take_in, verify
from handrail.effects.tools import Tools
from handrail.model.errors import Bug, HandrailError, Transient, Undecodable, UnknownEvent
from handrail.model.incident import Incident
from handrail.model.reason import Reason
from handrail.model.record import Received, Record, Undecoded
from handrail.model.switch import Switch

log = structlog.get_logger("reconciler")


async def on_records(tools: Tools, records: Sequence[Record]) -> Sequence[tuple[Record, Undecoded]]:
    """Decode, identify, journal: all in one transaction, before any offset is committed. Returns the dead letters.

    What breaks us raises Undecodable: intake finds the record by halving and buries it, and its neighbours go on. A Bug
    is the same: tried for ever, it would hold up all that comes after it.
    """
    try:
        return await take_in.take_in(tools, records)
    except Bug as broken:
        log.exception("broken by a record")
        raise _poison(tools, records, broken) from broken
    except HandrailError:
        raise
    except Exception as broken:
        log.exception("broken by a record")
        raise _poison(tools, records, broken) from broken


async def on_requests(tools: Tools, records: Sequence[Record]) -> tuple[Received, ...]:
    """As `on_records`, of HTTP requests. What breaks us is found by taking each alone, and refused like what can't be
    read: sent again, it would break us again."""
    try:
        return await take_in.receive_posted(tools, records)
    except Bug as broken:
        log.exception("broken by a request")
        return await _each_alone(tools, records, broken)
    except HandrailError:
        raise
    except Exception as broken:
        log.exception("broken by a request")
        return await _each_alone(tools, records, broken)


async def _each_alone(tools: Tools, records: Sequence[Record], broken: Exception) -> tuple[Received, ...]:
    if len(records) > 1:
        return tuple([(await on_requests(tools, [record]))[0] for record in records])
    poison = _poison(tools, records, broken)
    return (Received(record=records[0], refused=Undecoded(reason=Reason.BROKEN, detail=poison.detail)),)


def _poison(tools: Tools, records: Sequence[Record], broken: Exception) -> Undecodable:
    if len(records) == 1:
        tools.signs.refused(Reason.BROKEN, "intake")
    return Undecodable(Reason.BROKEN, said(broken))


def said(broken: Exception) -> str:
    """It ends in journals, headers and Slack: what broke on an object's content often quotes it."""
    return redact(f"{type(broken).__name__}: {broken}"[:4000], 500)


async def contained(work: Awaitable[None]) -> None:
    """For what runs beside the reconciler and is about one incident: whatever breaks in it is a Bug, so that its caller
    can go on with the others."""
    try:
        await work
    except HandrailError:
        raise
    except Exception as broken:
        log.exception("broken")
        raise Bug(said(broken)) from broken


async def advance(tools: Tools, incident_id: str) -> float | None:
    """One move of one incident. Returns seconds until it is worth looking again; None when it has ended.

    Where several replicas share the store, only who drives an incident moves it, and nothing of it is held while it
    waits. What ends this from outside, as a kill does, leaves the lease to its time.
    """
    try:
        wait = await _advance(tools, incident_id)
    except Exception:
        await tools.store.let_go(incident_id)
        raise
    if wait != 0.0:
        await tools.store.let_go(incident_id)
    return wait


def still_waits(tools: Tools, incident: Incident, switch: Switch) -> float | None:
    """Seconds until it is worth looking again, where there is nothing to do but to wait; else None. Reads nothing."""
    if switch.newer:
        return None
    move = _decide(tools, incident, switch)
    return _until(move, tools.now(), tools.config.poll_seconds) if isinstance(move, Idle) else None


def _decide(tools: Tools, incident: Incident, switch: Switch) -> Move:
    return next_move(incident, switch, tools.policy.last_good(), tools.now(), tools.listens_since)


async def _advance(tools: Tools, incident_id: str) -> float | None:
    incident, switch = await tools.store.with_switch(incident_id)
    if incident is None or incident.state.terminal:
        return None
    if switch.newer and incident.open_write is None:
        raise UnknownEvent(f"{stops.of_newer(switch)}; what is open is left to it")
    move = _decide(tools, incident, switch)
    if isinstance(move, Idle):
        return _until(move, tools.now(), tools.config.poll_seconds)
    async with tools.store.driving(incident) as ours:
        if not ours:
            return tools.config.poll_seconds
        moved = await _make(tools, incident, move)
    _say(incident, moved)
    if moved.state.terminal and moved.open_write is None:
        return None
    return 0.0 if moved.seq != incident.seq else tools.config.poll_seconds


async def _make(tools: Tools, incident: Incident, move: Decided | Do) -> Incident:
    match move:
        case Decided():
            return await tools.store.append(incident, move.events)
        case Do():
            return await _patiently(tools, incident, move)


def _say(before: Incident, after: Incident) -> None:
    """Each move in the log, with the reason of a no: the same word as in the journal and on the card."""
    if after.state is not before.state:
        failed = after.failure if after.failure != before.failure else None
        reason, detail = after.end or failed or (None, "")
        log.info("moved", incident=after.id, to=str(after.state), reason=str(reason or ""), detail=detail[:300])


async def _patiently(tools: Tools, incident: Incident, move: Do) -> Incident:
    """Always tried; what stays away for too long is told to a person instead of being tried for ever."""
    try:
        held = await storm.hold(tools, incident)
        return held if held is not None else await _perform(tools, incident, move)
    except Transient as away:
        over = too_late(incident, move, str(away)[:500], tools.now())
        if over is None:
            raise
        return await tools.store.append(incident, (over,))


async def _perform(tools: Tools, incident: Incident, move: Do) -> Incident:
    match move.effect:
        case Effect.GATHER:
            return await gather.gather(tools, incident)
        case Effect.RECHECK:
            return await gather.recheck(tools, incident)
        case Effect.OFFER:
            return await plan.offer(tools, incident)
        case Effect.PLAN:
            return await plan.plan(tools, incident)
        case Effect.COMPILE:
            return await plan.compile_(tools, incident)
        case Effect.REHEARSE:
            return await rehearse.rehearse(tools, incident)
        case Effect.STEP:
            return await act.step(tools, incident, move.step)
        case Effect.UNDO:
            return await act.undo(tools, incident, move.step)
        case Effect.SETTLE:
            return await send.settle(tools, incident)
        case Effect.VERIFY:
            return await verify.verify(tools, incident)


NOW_AND_THEN = 60.0
"""Seconds after which it is looked at again what waits for nothing that has a time, or for one that is far off."""


def _until(idle: Idle, now: datetime, poll_seconds: float) -> float:
    """A journal append wakes the loop anyway; this is for what only the clock brings."""
    if idle.until is None:
        return NOW_AND_THEN
    return min(NOW_AND_THEN, max(poll_seconds, (idle.until - now).total_seconds() + 0.01))
