"""The path of an alert: `on_records` takes it in, `advance` moves its incident by one effect, until it has ended.

Decode, identify, journal; then load, decide, commit, perform. What happens next is decided by core/saga.py from folded
state; what an effect does is in effects/. The broad `except`s of the product stand here alone: whatever breaks, the
incident goes to a person (a record to the dead letters), and its neighbours go on.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Iterable, Sequence
from datetime import datetime, timedelta

import structlog

from handrail.core import saga
from handrail.core.redact import redact
from handrail.core.saga import Do, Effect, Idle, next_move, too_late
from handrail.effects import act, gather, plan, rehearse, send, storm, take_in, verify
from handrail.effects.tick import Ticking
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.errors import Bug, Damaged, HandrailError, HeadMoved, Transient, Undecodable, UnknownEvent
from handrail.model.incident import Incident
from handrail.model.reason import Reason
from handrail.model.record import Received, Record, Undecoded
from handrail.model.switch import Switch

log = structlog.get_logger("reconciler")

TICK_SECONDS = 15.0

ALONE = 5
"""One process hears of every commit at once, so that it looks by itself so many times less often."""

LONGEST_NAP = 30.0
"""Seconds. A look is also the heartbeat, and finds that the clock was set back: neither may wait for minutes."""

AT_ONCE = 8
"""Incidents advanced at the same time; each one does one thing at a time."""


async def on_records(tools: Tools, records: Sequence[Record]) -> Sequence[tuple[Record, Undecoded]]:
    """Decode, identify, journal: all in one transaction, before any offset is committed. Returns the dead letters.

    What breaks us raises Undecodable: intake finds the record by halving and buries it, and its neighbours go on.
    """
    try:
        return await take_in.take_in(tools, records)
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
    except HandrailError:
        raise
    except Exception as broken:
        log.exception("broken by a request")
        if len(records) > 1:
            return tuple([(await on_requests(tools, [record]))[0] for record in records])
        poison = _poison(tools, records, broken)
        return (Received(record=records[0], refused=Undecoded(reason=Reason.BROKEN, detail=poison.detail)),)


def _poison(tools: Tools, records: Sequence[Record], broken: Exception) -> Undecodable:
    if len(records) == 1:
        tools.signs.refused(Reason.BROKEN, "intake")
    return Undecodable(Reason.BROKEN, _said(broken))


def _said(broken: Exception) -> str:
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
        raise Bug(_said(broken)) from broken


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


async def _advance(tools: Tools, incident_id: str) -> float | None:
    incident = await tools.store.incident(incident_id)
    if incident is None or incident.state.terminal:
        return None
    switch, policy = await tools.store.switch(), tools.policy.last_good()
    move = next_move(incident, switch, policy, tools.now(), tools.listens_since)
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


async def _make(tools: Tools, incident: Incident, move: saga.Record | Do) -> Incident:
    match move:
        case saga.Record():
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


def _until(idle: Idle, now: datetime, poll_seconds: float) -> float:
    """A journal append wakes the loop anyway; this is for what only the clock brings."""
    if idle.until is None:
        return 60.0
    return min(60.0, max(poll_seconds, (idle.until - now).total_seconds() + 0.01))


async def on_tick(ticking: Ticking) -> None:
    """What only the clock brings; whatever breaks in it, the next tick looks again."""
    try:
        await ticking.tick()
    except Transient as away:
        log.info("waiting for what is away", why=str(away))
    except Exception:
        log.exception("broken by the clock")


class Clock:
    """Asks every so often what only the clock brings."""

    def __init__(self, tools: Tools) -> None:
        self._ticking = Ticking(tools)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await on_tick(self._ticking)
            await asyncio.sleep(TICK_SECONDS)


class Reconciler:
    """Drives every open incident of this process. Nothing is held while an incident waits."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._due: dict[str, datetime] = {}
        self._running: set[str] = set()
        self._heads: dict[str, int] = {}
        self._places = asyncio.Semaphore(AT_ONCE)
        self._last_look = tools.now()
        self._switch: Switch | None = None
        poll = tools.config.poll_seconds
        self._longest = poll if tools.store.replica else max(poll, min(ALONE * poll, LONGEST_NAP))

    async def run(self) -> None:
        """Until cancelled. A move in progress is given no grace: everything resumes from the journal."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self.start_due(group)
                await self._tools.store.wait_changed(self._nap())

    async def start_due(self, group: asyncio.TaskGroup) -> None:
        """Starts a task for each open incident that is due or whose journal has grown since it was looked at, but for
        those that another replica drives just now."""
        try:
            heads, switch = await self._tools.store.open_work(), await self._pressed()
        except Transient as away:
            log.warning("the store is away", why=str(away))
            await asyncio.sleep(away.retry_after)
            return
        now = self._tools.now()
        if now < self._last_look or switch != self._switch:
            self._due.clear()  # by the old clock some would sleep for as long as it was set back; all hear of a press
        self._last_look, self._switch = now, switch
        self._tools.signs.beat(now)
        self._due = {id_: due for id_, due in self._due.items() if id_ in heads}
        self._heads = {id_: head for id_, head in self._heads.items() if id_ in heads}
        for id_, head in self._in_own_order(heads):
            grown = self._heads.get(id_) != head
            if id_ not in self._running and (grown or self._due.get(id_, now) <= now):
                self._heads[id_] = head
                self._running.add(id_)
                group.create_task(self._advance(id_), name=f"advance {id_}")

    async def _pressed(self) -> Switch | None:
        """None where it can't be read: whoever moves an incident meets that too."""
        try:
            return await self._tools.store.switch()
        except Transient:
            raise
        except Exception:
            log.exception("the stop switch can't be read")
            return None

    def _in_own_order(self, heads: dict[str, int]) -> Iterable[tuple[str, int]]:
        """Oldest first; of several replicas each begins elsewhere, so that they do not all ask for the same one."""
        replica = self._tools.store.replica
        if not replica:
            return heads.items()
        return sorted(heads.items(), key=lambda found: zlib.crc32(f"{replica} {found[0]}".encode()))

    def _nap(self) -> float:
        now = self._tools.now()
        waits = [(due - now).total_seconds() for id_, due in self._due.items() if id_ not in self._running]
        return max(0.01, min([self._longest, *waits]))

    async def _advance(self, id_: str) -> None:
        wait: float | None = self._tools.config.poll_seconds
        try:
            async with self._places:
                wait = await advance(self._tools, id_)
        except HeadMoved:
            wait = 0.0
        except Transient as away:
            log.info("waiting for what is away", incident=id_, why=str(away))
            wait = away.retry_after
        except (Damaged, UnknownEvent) as unfit:
            log.error("nothing is done with it", incident=id_, reason=str(Reason.BROKEN), why=str(unfit)[:500])
            wait = 60.0
        except Exception as broken:
            log.exception("broken", incident=id_)
            wait = await self._give_to_a_person(id_, broken)
        finally:
            self._running.discard(id_)
            self._due[id_] = self._tools.now() + timedelta(seconds=wait if wait is not None else 3600)
            if wait is not None and wait < self._longest:
                self._tools.store.nudge()  # else the next look comes early enough, and a hundred that wait wake nobody

    async def _give_to_a_person(self, id_: str, broken: Exception) -> float:
        """One that can't even be folded stays where it is, loudly: it must not end the daemon for all the others."""
        try:
            incident = await self._tools.store.incident(id_)
            if incident is not None and not incident.state.terminal:
                await self._tools.store.append(incident, (ev.HandedOver(reason=Reason.BROKEN, detail=_said(broken)),))
        except (HeadMoved, Transient):
            return 5.0
        except Exception:
            log.exception("its journal can't be read: nothing is done with it", incident=id_)
            return 60.0
        return 5.0
