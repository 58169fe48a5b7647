"""What only the clock brings: signals that no longer come, and telling those who are asked that a condition or a freeze
stands.

Looked at by one replica at a time. Opens incidents in the way that alerts do, once for each silence; closes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from handrail.adapters.store import Duty
from handrail.core import freeze
from handrail.core.awaiting import awaited, silence, source
from handrail.core.conditions import TOLD, raised, refused
from handrail.core.correlate import arrival
from handrail.core.storm import concerning
from handrail.core.windows import overdue
from handrail.effects import last_words, storm
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.arrival import Arrival, Batch
from handrail.model.condition import Condition
from handrail.model.detector import Awaited
from handrail.model.errors import Damaged, HeadMoved, UnknownEvent
from handrail.model.incident import Incident, State
from handrail.model.policy import Policy
from handrail.model.reason import Refusal

TIDY_EVERY = timedelta(minutes=10)
LAST_WORDS_EVERY = timedelta(minutes=1)

MOST_ASKED = 200
"""Open questions that are looked through; more at once nobody reads."""


class Ticking:
    """Since when this process waits, and which silence it has told of last, of each signal: as many as are awaited.

    `_asked` are open questions as they were looked at last: while nothing has happened to them they are not read again,
    so that a hundred of them cost one list and not a hundred journals.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._since = tools.now()
        self._told: dict[str, str] = {}
        self._tidied = self._said = self._since
        self._asked: dict[str, Incident] = {}

    async def tick(self) -> None:
        """Nothing where another replica has the duty. Raises Transient."""
        tools = self._tools
        if not await tools.store.on_duty(Duty.TICK):
            return
        now = tools.now()
        if tools.config.alerts.awaited:
            standing = {one.identity: one for one in await tools.store.watching.standing()}
            seen = await tools.store.watching.sightings()
            for signal in awaited(tools.config.alerts, seen, self._since):
                await self._look(signal, standing, now)
        with suppress(Damaged, UnknownEvent):  # of its page: said by whoever drives that, and all else goes on
            await storm.watch(tools)
        if now - self._said >= LAST_WORDS_EVERY:
            await last_words.say(tools)
            self._said = now
        await self._tell_asked(now)
        if now - self._tidied >= TIDY_EVERY:
            await tools.store.watching.tidy()
            await tools.store.prune()
            self._tidied = now

    async def _look(self, signal: Awaited, standing: dict[str, Condition], now: datetime) -> None:
        found = overdue(signal, self._tools.detectors, now)
        cluster = self._tools.config.cluster.name
        arrived = arrival(silence(signal, found, cluster, now), cluster, found)
        if not found:
            await self._lift(arrived, signal, standing)
            return
        condition = raised(arrived.identity, found, now, TOLD)
        if condition is not None:
            await self._tools.store.watching.raise_(condition)
        if self._told.get(arrived.identity) != arrived.episode:
            await self._open(arrived, found[0].detector, now)
            self._told[arrived.identity] = arrived.episode

    async def _lift(self, arrived: Arrival, signal: Awaited, standing: dict[str, Condition]) -> None:
        """Only by the signal itself: a start gives it time, and takes nothing back."""
        condition = standing.get(arrived.identity)
        if condition is not None and signal.last_seen is not None and signal.last_seen > condition.since:
            await self._tools.store.watching.lift(arrived.identity)

    async def _open(self, arrived: Arrival, detector: str, now: datetime) -> None:
        batch = Batch(source=source(detector, arrived.alert), at=now, arrivals=(arrived,))
        max_age = timedelta(minutes=self._tools.policy.last_good().alert_age_minutes)
        await self._tools.store.take((batch,), max_age=max_age)

    async def _tell_asked(self, now: datetime) -> None:
        """Whoever is asked learns on the card that an approval would be refused now, and when that is over."""
        store, policy = self._tools.store, self._tools.policy.last_good()
        standing, heads = await store.watching.asked(MOST_ASKED)
        self._asked = {id_: known for id_, known in self._asked.items() if heads.get(id_) == known.seq}
        for id_ in heads:
            # Somebody has just answered, or something came in: the next tick looks again. One whose journal can't be
            # read is said by whoever drives it; its neighbours are told.
            with suppress(HeadMoved, Damaged, UnknownEvent):
                incident = self._asked.get(id_) or await store.incident(id_)
                if incident is None or incident.state is not State.ASKING:
                    continue
                refusal = _frozen(incident, policy, now) or refused(concerning(incident, standing), now)
                if not _told(incident.caution, refusal):
                    incident = await store.append(incident, (_cautioned(refusal),))
                self._asked[id_] = incident


def _frozen(incident: Incident, policy: Policy, now: datetime) -> Refusal | None:
    """A freeze that has begun since it was asked. Whatever takes back is not held by one."""
    return None if incident.taking_back else freeze.refused(policy, freeze.about(incident), now)


def _told(caution: Refusal | None, refusal: Refusal | None) -> bool:
    """By reason: the sentence may change while it stands."""
    return (caution.reason if caution else None) is (refusal.reason if refusal else None)


def _cautioned(refusal: Refusal | None) -> ev.Cautioned:
    return ev.Cautioned(reason=refusal.reason, detail=refusal.detail) if refusal else ev.Cautioned()
