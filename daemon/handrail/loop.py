"""The loop: which open incident is due, at most so many at once, and what becomes of one whose move broke.

It decides when to look, never what happens: that is `advance` in reconciler.py. What broke goes to a person.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog

from handrail.adapters.store import OpenWork
from handrail.effects.tick import Ticking
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.errors import Damaged, HeadMoved, NotYet, Transient, UnknownEvent
from handrail.model.reason import Reason
from handrail.model.switch import Switch
from handrail.reconciler import NOW_AND_THEN, advance, said, still_waits

log = structlog.get_logger("reconciler")

TICK_SECONDS = 15.0

ALONE = 5
"""One process hears of every commit at once, so that it looks by itself so many times less often."""

LONGEST_NAP = 30.0
"""Seconds. A look is also the heartbeat, and finds that the clock was set back: neither may wait for minutes."""

SHORTEST_NAP = 0.25
"""Seconds. What falls due one just after the other shares a look; what can't wait for that nudges."""

AT_ONCE = 8
"""Incidents advanced at the same time; each one does one thing at a time."""


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
        self._cut_off: frozenset[str] = frozenset()
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
            work, switch = await self._look()
        except Transient as away:
            log.warning("the store is away", why=str(away))
            await asyncio.sleep(away.retry_after)
            return
        now = self._tools.now()
        if now < self._last_look or switch != self._switch:
            self._due.clear()  # by the old clock some would sleep for as long as it was set back; all hear of a press
        self._last_look, self._switch = now, switch
        heads, self._cut_off = work
        self._tools.signs.beat(now)
        self._due = {id_: due for id_, due in self._due.items() if id_ in heads}
        self._heads = {id_: head for id_, head in self._heads.items() if id_ in heads}
        for id_, head in self._in_own_order(heads):
            grown = self._heads.get(id_) != head
            if id_ not in self._running and (grown or self._due.get(id_, now) <= now):
                self._heads[id_] = head
                self._running.add(id_)
                group.create_task(self._advance(id_), name=f"advance {id_}")

    async def _look(self) -> tuple[OpenWork, Switch | None]:
        """No switch where it can't be read: whoever moves an incident meets that too."""
        try:
            return await self._tools.store.work_and_switch()
        except Transient:
            raise
        except Exception:
            log.exception("the stop switch can't be read")
            return OpenWork(await self._tools.store.open_work()), None

    def _in_own_order(self, heads: dict[str, int]) -> Iterable[tuple[str, int]]:
        """Oldest first; of several replicas each begins elsewhere, so that they do not all ask for the same one."""
        replica = self._tools.store.replica
        if not replica:
            return heads.items()
        return sorted(heads.items(), key=lambda found: zlib.crc32(f"{replica} {found[0]}".encode()))

    def _nap(self) -> float:
        now = self._tools.now()
        waits = [(due - now).total_seconds() for id_, due in self._due.items() if id_ not in self._running]
        return max(SHORTEST_NAP, min([self._longest, *waits]))

    async def _advance(self, id_: str) -> None:
        wait: float | None = self._tools.config.poll_seconds
        pressed = self._switch
        try:
            wait = self._still_waits(id_)
            if wait is not None:
                await self._tools.store.let_go(id_)  # as `advance` does: its last move may have been ours
            else:
                async with self._places:
                    wait = await advance(self._tools, id_)
            wait = self._with_the_others(wait)
        except HeadMoved:
            wait = 0.0
        except Transient as away:
            if not isinstance(away, NotYet):
                log.info("waiting for what is away", incident=id_, why=str(away))
            wait = away.retry_after
        except (Damaged, UnknownEvent) as unfit:
            log.error("nothing is done with it", incident=id_, reason=str(Reason.BROKEN), why=str(unfit)[:500])
            wait = NOW_AND_THEN
        except Exception as broken:
            log.exception("broken", incident=id_)
            await self._tools.store.let_go(id_)
            wait = await self._give_to_a_person(id_, broken)
        finally:
            self._running.discard(id_)
            wait = wait if pressed == self._switch else 0.0  # it may not have heard of the press
            self._due[id_] = self._tools.now() + timedelta(seconds=3600 if wait is None else wait)
            if wait is not None and wait < self._longest:
                self._tools.store.nudge()  # else the next look comes early enough, and a hundred that wait wake nobody

    def _with_the_others(self, wait: float | None) -> float | None:
        """What is only looked at now and then is looked at somewhat sooner, on a beat of the longest nap."""
        if wait is None or wait < NOW_AND_THEN:
            return wait
        return wait - (self._tools.now().timestamp() + wait) % self._longest

    def _still_waits(self, id_: str) -> float | None:
        """Seconds, where the look has shown that nothing came since it was folded, that the end of its journal is
        there, and it waits; else None. One that was damaged is read, to find that it was mended."""
        incident = self._tools.store.known(id_, self._heads.get(id_, 0))
        if incident is None or self._switch is None or id_ in self._cut_off or id_ in self._tools.store.unfit():
            return None
        return still_waits(self._tools, incident, self._switch)

    async def _give_to_a_person(self, id_: str, broken: Exception) -> float:
        """One that can't even be folded stays where it is, loudly: it must not end the daemon for all the others."""
        try:
            incident = await self._tools.store.incident(id_)
            if incident is not None and not incident.state.terminal:
                await self._tools.store.append(incident, (ev.HandedOver(reason=Reason.BROKEN, detail=said(broken)),))
        except (HeadMoved, Transient):
            return 5.0
        except Exception:
            log.exception("its journal can't be read: nothing is done with it", incident=id_)
            return NOW_AND_THEN
        return 5.0
