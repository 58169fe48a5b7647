"""Readiness and metrics, read at the moment of asking: how old the last poll is, how far behind, is the store there.

Not ready is not dead: a daemon whose brokers are away still serves people and finishes what it began. Nor is degraded
not ready: an incident whose journal is damaged stands still, and all the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from handrail import __version__
from handrail.adapters.kafka import Pulse
from handrail.adapters.publishing import Publisher
from handrail.adapters.store import Store
from handrail.adapters.telemetry.tally import Tally
from handrail.model.errors import Transient
from handrail.model.incident import State

OLDEST_POLL_SECONDS = 30.0
STUCK_SECONDS = 120.0
"""A turn of the intake's loop takes 45 s at most, with all brokers hanging."""


class Gauges:
    """`clock` is monotonic, the same as the pulse's. `policy` says what is wrong with it now, or ""."""

    def __init__(
        self,
        store: Store,
        pulse: Pulse,
        clock: Callable[[], float],
        policy: Callable[[], str] = lambda: "",
        tally: Tally | None = None,
    ) -> None:
        self._store = store
        self._pulse = pulse
        self._clock = clock
        self._policy = policy
        self._tally = tally or Tally()
        self.publisher: Publisher | None = None

    async def ready(self) -> dict[str, Any]:
        age = self._poll_age()
        store = await self._store_problem()
        polled = age is not None and age <= OLDEST_POLL_SECONDS
        return {
            "ready": polled and not store,
            "last_poll_seconds": None if age is None else round(age, 1),
            "lag": dict(self._pulse.lag),
            "intake_paused": self._pulse.paused,
            "intake_waits_for": self._pulse.waits_for,
            "set_aside": dict(self._pulse.set_aside),
            "kafka": self._pulse.last_error or ("ok" if polled else "not polled yet"),
            "store": store or "ok",
            "policy": self._policy() or "ok",
            **({"events": self.publisher.problem or "ok"} if self.publisher else {}),
            "degraded": len(self._store.unfit()),
            "degraded_incidents": self._store.unfit(),
        }

    def stuck(self) -> str:
        """Why only a restart can help, "" while none is needed. Brokers or a store that are away are no such reason:
        the loop turns and says so. Asks nobody, so that an answer is always there."""
        turned = self._pulse.turned
        if turned is None or self._clock() - turned <= STUCK_SECONDS:
            return ""
        return f"the intake's loop has stood still for {self._clock() - turned:.0f} s"

    async def text(self) -> bytes:
        registry = CollectorRegistry()
        info = Gauge("handrail_build_info", "The running version.", ["version"], registry=registry)
        info.labels(version=__version__).set(1)
        age = self._poll_age()
        polled = Gauge("handrail_last_poll_age_seconds", "Since Kafka last answered; -1 never.", registry=registry)
        polled.set(-1 if age is None else age)
        lag = Gauge("handrail_kafka_lag_records", "Records behind.", ["partition"], registry=registry)
        for partition, behind in self._pulse.lag.items():
            lag.labels(partition=partition).set(behind)
        paused = Gauge("handrail_intake_paused", "1 while intake waits for the store.", registry=registry)
        paused.set(int(self._pulse.paused))
        aside = Gauge("handrail_kafka_set_aside_partitions", "Partitions that can't be read.", registry=registry)
        aside.set(len(self._pulse.set_aside))
        if self.publisher is not None:
            events = Gauge("handrail_events_behind_incidents", "Whose events are not published yet.", registry=registry)
            events.set(self.publisher.behind)
        damaged = Gauge("handrail_journal_damaged", "Incidents left alone for their journal.", registry=registry)
        damaged.set(len(self._store.unfit()))
        await self._from_store(registry)
        return generate_latest(registry) + await self._tally.text(self._store)

    async def _from_store(self, registry: CollectorRegistry) -> None:
        up = Gauge("handrail_store_up", "1 while the store answers.", registry=registry)
        try:
            by_state = await self._store.count_by_state()
            switch = await self._store.switch()
        except Transient:
            up.set(0)
            return
        up.set(1)
        incidents = Gauge("handrail_incidents", "Incidents by state.", ["state"], registry=registry)
        for state in State:  # zero too: an alert on growth needs where it grew from
            incidents.labels(state=state.value).set(by_state.get(state.value, 0))
        Gauge("handrail_stopped", "1 while everything is stopped.", registry=registry).set(int(switch.stopped))
        stops = Gauge(
            "handrail_stops",
            "1 for each stop that is on: of everything, a namespace or a step, by a person or held by the cluster. Of "
            "scope `newer`: only a newer build knows what it concerns, and all is left to that one.",
            ["scope", "name", "by"],
            registry=registry,
        )
        for stop in switch.stops:
            by = "cluster" if stop.held else "person"
            stops.labels(scope=str(stop.reach.scope), name=stop.reach.name, by=by).set(1)
        for reach in switch.newer:
            stops.labels(scope="newer", name=reach, by="newer build").set(1)

    def _poll_age(self) -> float | None:
        return None if self._pulse.last_poll is None else self._clock() - self._pulse.last_poll

    async def _store_problem(self) -> str:
        try:
            await self._store.ping()
        except Transient as away:
            return str(away)
        return ""
