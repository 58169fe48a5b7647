"""Gathers the evidence about an alert's object: who owns it, what it owns, and what each source says about it.

Decides which sources are asked and how much of each is kept. Judges nothing and plans nothing. A source that is away
is named; only where the object itself can't be read is there nothing to go on with.
"""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import Protocol

from handrail.adapters.evidence import objects, templates
from handrail.adapters.evidence.events import events
from handrail.adapters.evidence.logs import restarted, worst
from handrail.adapters.evidence.metrics import metrics
from handrail.adapters.evidence.pieces import MOST_PIECES, Origin, lines, newest, piece
from handrail.adapters.kubernetes.eyes import LOOKED_AT, look_at
from handrail.adapters.kubernetes.resolve import resolve
from handrail.adapters.prometheus import Prometheus
from handrail.core.redact import redact
from handrail.model.alert import Alert
from handrail.model.autoscaler import Autoscaler
from handrail.model.errors import Permanent, Transient
from handrail.model.evidence import Away, Piece, Trust
from handrail.model.gathering import Gathering
from handrail.model.node import Node
from handrail.model.occurrence import Occurrence, distinct, reported
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Eyes, Thing
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload, owned_by, pod_is_ready, revision_of

MOST_FAILING = 5
"""Pods whose events are read."""


class Source(Eyes, Protocol):
    """What gathering needs of the eyes."""

    async def events(self, namespace: str, uid: str) -> tuple[Raw, ...]: ...

    async def logs(self, pod: ObjectRef, container: str, *, previous: bool = False) -> str | None: ...


class ClusterGatherer:
    """`metrics` is None where no Prometheus is configured: then it is not asked, and not away."""

    def __init__(self, eyes: Source, metrics: Prometheus | None = None) -> None:
        self._eyes = eyes
        self._metrics = metrics

    async def gather(self, target: LabelledTarget | None, alert: Alert, now: datetime) -> Gathering | Refusal:
        """Raises Transient when the API server is away."""
        if target is None:
            return Refusal(reason=Reason.NO_TARGET, detail="the alert's labels name no object, or several")
        try:
            found = await self._target(target)
        except Permanent as error:
            return Refusal(reason=Reason.SOURCE_AWAY, detail=f"{error}")
        if isinstance(found, Refusal):
            return found
        whole, thing = found
        return await _Round(self._eyes, self._metrics, whole, thing, now).gathering(target, alert)

    async def _target(self, target: LabelledTarget) -> tuple[Raw, Thing | None] | Refusal:
        ref = await resolve(self._eyes, target)
        if isinstance(ref, Refusal):
            return ref
        if ref.kind in LOOKED_AT:
            thing = await look_at(self._eyes, ref)
            whole = thing.object if thing else None
        else:
            thing, whole = None, await self._eyes.get(ref)
        if whole is None:
            return Refusal(reason=Reason.TARGET_GONE, detail=f"{ref} went away while it was looked at")
        return whole, thing


class _Round:
    """One gathering: collects pieces, and what was away."""

    def __init__(
        self, eyes: Source, prometheus: Prometheus | None, whole: Raw, thing: Thing | None, now: datetime
    ) -> None:
        self._eyes = eyes
        self._prometheus = prometheus
        self._whole = whole
        self._node = thing if isinstance(thing, Node) else None
        self._autoscaler = thing if isinstance(thing, Autoscaler) else None
        scaled = self._autoscaler.workload if self._autoscaler else None
        self._workload = thing if isinstance(thing, Workload) else scaled
        self._now = now
        self._ref = ObjectRef.of(whole)
        self._pods = (whole,) if self._ref.kind == "Pod" else self._node.pods if self._node else ()
        self._pods = self._workload.pods if self._workload else self._pods
        self._owned: tuple[Raw, ...] = ()
        self._happened: list[Occurrence] = []
        self._pieces: list[Piece] = []
        self._away: list[Away] = []

    async def gathering(self, target: LabelledTarget, alert: Alert) -> Gathering:
        """In a fixed order: what the API server states, what it reports, what programs print, numbers, the alert."""
        self._stated()
        if target.kind == "Pod" and self._ref.kind == "Node":
            await self._ask(f"kubernetes: {target}", self._static(target))
        if self._ref.kind == "CronJob":
            await self._ask(f"kubernetes: jobs of {self._ref}", self._jobs())
        await self._ask(f"kubernetes: events of {self._ref}", self._events())
        await self._ask(f"kubernetes: logs of pods of {self._ref}", self._logs(target.container))
        if self._prometheus is not None and self._workload is not None:
            await self._ask("prometheus", self._numbers(self._prometheus, self._workload))
        self._keep(_alert(alert, self._now))
        return Gathering(
            ref=self._ref,
            workload=None if self._autoscaler else self._workload,
            node=self._node,
            autoscaler=self._autoscaler,
            object=None if self._workload or self._node or self._autoscaler else self._whole,
            owned=self._owned,
            happened=distinct(tuple(self._happened)),
            pieces=tuple(self._pieces[:MOST_PIECES]),
            away=tuple(self._away),
        )

    def _keep(self, found: Piece | None) -> None:
        if found is not None:
            self._pieces.append(found)

    async def _ask(self, source: str, asking: Awaitable[None]) -> None:
        try:
            await asking
        except (Transient, Permanent) as error:
            self._away.append(Away(source=source, why=redact(str(error), 300)))

    def _stated(self) -> None:
        self._keep(objects.about(self._whole, None if self._autoscaler else self._workload, self._now))
        if self._autoscaler is not None and self._workload is not None:
            self._keep(objects.about(self._workload.object, self._workload, self._now))
        if self._node is not None:
            self._keep(objects.neighbours(self._node, self._now))
        if self._pods:
            self._keep(objects.pods(self._pods, self._ref, self._now))
        if self._workload is not None:
            self._keep(objects.revisions(self._workload, self._now))
            self._pieces += templates.diffs(self._workload, self._now)
        owned = () if self._pods == (self._whole,) else self._pods
        self._keep(objects.messages(self._whole, owned, self._now))

    async def _static(self, target: LabelledTarget) -> None:
        """What only a file on the node can change is shown, and never touched."""
        pod = await self._eyes.get(
            ObjectRef(api_version="v1", kind="Pod", namespace=target.namespace, name=target.name)
        )
        if pod is not None:
            self._keep(objects.static(pod, self._ref, self._now))

    async def _events(self) -> None:
        """Of the object, its newest ReplicaSet and the pods that fail."""
        sets = self._workload.replica_sets if self._workload else ()
        failing = [pod for pod in objects.worst_first(self._pods) if not pod_is_ready(pod)][:MOST_FAILING]
        about = [self._whole, *sorted(sets, key=revision_of)[-1:], *failing]
        found: list[Raw] = []
        try:
            for uid in dict.fromkeys(one["metadata"]["uid"] for one in about):
                found += await self._eyes.events(self._ref.namespace, uid)
        finally:
            self._happened += [one for raw in found if (one := reported(raw, self._now))]
            self._keep(events(found, self._ref, self._now))

    async def _jobs(self) -> None:
        """What the CronJob has made, and the newest of it as evidence."""
        jobs = await self._eyes.list("Job", self._ref.namespace)
        self._owned = tuple(job for job in jobs if owned_by(job, self._ref.uid))
        newest = sorted(self._owned, key=lambda job: str((job.get("status") or {}).get("startTime") or ""))[-3:]
        for job in reversed(newest):
            self._keep(objects.about(job, None, self._now))

    async def _logs(self, wanted: str) -> None:
        """Of the run before, which tells why it ended, then of the present one."""
        chosen = worst(self._pods, wanted)
        if chosen is None:
            return
        pod, state = ObjectRef.of(chosen[0]), chosen[1]
        container = str(state.get("name", ""))
        read: list[str] = []
        for previous in (True, False) if restarted(state) else (False,):
            text = await self._eyes.logs(pod, container, previous=previous)
            if not text or text in read:
                continue
            read.append(text)
            which = "the run before" if previous else "the present run"
            title = f"Logs of container {container} in {pod}, {which}, newest last"
            kind = "previous_logs" if previous else "logs"
            self._keep(newest(Origin(kind, f"kubernetes: logs of {pod}", self._now, Trust.TEXT), title, text))

    async def _numbers(self, prometheus: Prometheus, workload: Workload) -> None:
        self._keep(await metrics(prometheus, workload, self._now))


def _alert(alert: Alert, now: datetime) -> Piece:
    """The sender's own words. Never proof of anything."""
    begun = alert.starts_at or alert.seen_at
    said = [
        f"{alert.name}, {alert.status}, severity {alert.severity or 'not given'}, since {begun:%Y-%m-%d %H:%M:%S} UTC"
    ]
    said += [f"label {name}: {text}" for name, text in sorted(alert.labels.items())]
    said += [f"annotation {name}: {text}" for name, text in sorted(alert.annotations.items())]
    return piece(Origin("alert", f"alert: {alert.name}", now, Trust.TEXT), f"The alert {alert.name}", lines(said))
