"""Counts what was committed to the journal since this process began: each no with its reason, each end, what it took.

Begins at zero with the process, as Prometheus expects of counters; what must survive a restart is read from the store
at each scrape (gauges.py). Never decides anything, and counts nothing that was not committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from handrail.adapters.store import Committed
from handrail.core.noes import reasons
from handrail.core.report_times import times
from handrail.model import events as ev
from handrail.model.errors import Damaged, Transient, UnknownEvent
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason

log = structlog.get_logger("telemetry")

disable_created_metrics()  # type: ignore[no-untyped-call]

SECONDS = (30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200)
AT_ONCE = 200
"""Ended incidents whose journals are read for one scrape; the others wait for the next."""


class Journals(Protocol):
    async def incident(self, id_: str) -> Incident | None: ...

    async def entries(self, id_: str) -> tuple[ev.Entry, ...]: ...


class Tally:
    """Call it with what was committed, in order."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._refusals = self._counter("handrail_refusals", "Each no, by reason and by where.", "reason", "stage")
        self._ended = self._counter("handrail_incidents_ended", "Ended incidents.", "state", "reason")
        self._calls = self._counter("handrail_model_calls", "Model calls; asked counts before the call.", "result")
        self._tokens = self._counter("handrail_model_tokens", "Tokens of model calls.", "direction")
        self._heartbeat = Gauge(
            "handrail_heartbeat_timestamp_seconds",
            "When all open incidents were looked at last; 0 never.",
            registry=self._registry,
        )
        self._mitigated = self._histogram("handrail_time_to_mitigate_seconds", "From taking in to healed.")
        self._unwaited = self._histogram(
            "handrail_time_to_mitigate_without_people_seconds", "The same without the time that people were waited for."
        )
        self._resolved: deque[str] = deque()
        self._at_zero()

    def _counter(self, name: str, help_: str, *labels: str) -> Counter:
        return Counter(name, help_, labels, registry=self._registry)

    def _histogram(self, name: str, help_: str) -> Histogram:
        return Histogram(name, help_, buckets=SECONDS, registry=self._registry)

    def _at_zero(self) -> None:
        """An alert on growth needs where it grew from: the first hand-over of a reason is one too."""
        self._ended.labels(state=str(State.RESOLVED), reason="")
        for reason in Reason:
            self._ended.labels(state=str(State.HANDED_OVER), reason=str(reason))
        for direction in ("input", "output"):
            self._tokens.labels(direction=direction)

    def __call__(self, committed: Sequence[Committed]) -> None:
        for one in committed:
            for reason in reasons(one.event):
                self._refusals.labels(reason=reason, stage=str(one.before)).inc()
            self._count_model(one.event)
            if one.after.state is not one.before and one.after.state.terminal:
                self._count_end(one.after)

    def refused(self, reason: Reason, stage: str, times: int = 1) -> None:
        self._refusals.labels(reason=str(reason), stage=stage).inc(times)

    def beat(self, at: datetime) -> None:
        self._heartbeat.set(at.timestamp())

    def _count_end(self, incident: Incident) -> None:
        reason = incident.end[0] if incident.end else None
        self._ended.labels(state=str(incident.state), reason=str(reason or "")).inc()
        if incident.state is State.RESOLVED:
            self._resolved.append(incident.id)

    def _count_model(self, event: ev.Event) -> None:
        match event:
            case ev.ModelAsked():
                self._calls.labels(result="asked").inc()
            case ev.ModelAnswered():
                self._calls.labels(result=str(event.failed or "answered")).inc()
                self._tokens.labels(direction="input").inc(event.input_tokens)
                self._tokens.labels(direction="output").inc(event.output_tokens)

    async def text(self, store: Journals) -> bytes:
        """The Prometheus text format, after the times of what has healed since the last scrape were read."""
        for id_ in list(islice(self._resolved, AT_ONCE)):
            try:
                await self._observe(store, id_)
            except Transient:
                break
            except (Damaged, UnknownEvent) as unfit:
                log.error("how long it took can't be told", incident=id_, why=str(unfit)[:300])
            self._resolved.popleft()
        return generate_latest(self._registry)

    async def _observe(self, store: Journals, id_: str) -> None:
        incident = await store.incident(id_)
        if incident is None:
            return
        took = times(incident, await store.entries(id_))
        if took.mitigated is not None:
            self._mitigated.observe(took.mitigated.total_seconds())
            self._unwaited.observe(max(0.0, (took.mitigated - took.waited).total_seconds()))
