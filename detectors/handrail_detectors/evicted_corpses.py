"""Pods that a kubelet evicted are still listed, and the alert is about one of them.

Confirmed by the pods' own status: Failed, Evicted, and a controller that has made others, which are all ready. Traps:
hundreds of corpses are one storm of alerts; deleting them removes the evidence, so one is left per owner; a pod that
nobody makes again is no corpse to sweep; what fills the node is found elsewhere. Hands the planner how many there
are.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.labels import labelled_target
from handrail.model.pods import is_corpse
from handrail.model.value import Raw
from handrail.model.workload import controller_of
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, tally, target_of

NAME = "evicted_corpses"
REASONS = frozenset({"Evicted"})


class Params(Settings):
    """`times`: so many events open."""

    times: int = Field(default=5, ge=2, le=1000)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    w = window.workload
    corpses = [pod for pod in w.pods if _evicted(pod)] if w else []
    if w is not None and corpses and not w.being_deleted and _about(window, corpses, now):
        well = w.ready >= w.desired > 0
        facts: Facts = {"corpses": len(corpses), "ready": w.ready, "desired": w.desired}
        summary = f"{len(corpses)} evicted pods of it are still listed; {w.ready} of {w.desired} are ready"
        sweep = well and len(corpses) > 1  # the last one is left as evidence
        said = Said(Cause.EVICTED_CORPSES, Handling.APPROVE if sweep else Handling.DIAGNOSE, summary, facts)
        yield finding(NAME, target_of(w.object), said)
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"pods were evicted {told.times} times, by events"
        said = Said(Cause.EVICTED_CORPSES, Handling.DIAGNOSE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _evicted(pod: Raw) -> bool:
    reason = (pod.get("status") or {}).get("reason")
    return is_corpse(pod) and reason == "Evicted" and controller_of(pod) is not None


def _about(window: Window, corpses: list[Raw], now: datetime) -> bool:
    """Corpses lie about for long: only where something was said of one of them do they matter now."""
    names = {str(pod["metadata"]["name"]) for pod in corpses}
    told = (labelled_target(alert) for alert in window.alerts)
    named = any(about and about.kind == "Pod" and about.name in names for about in told)
    return named or tally(window, REASONS, now) is not None


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.WORKLOAD}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="pods Failed for the reason Evicted whose controller has made others",
    example="3 evicted pods of it are still listed; 3 of 3 are ready",
)
