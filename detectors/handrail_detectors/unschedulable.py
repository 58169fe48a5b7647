"""Pods find no node that takes them.

Confirmed by the pod's own condition PodScheduled, False for Unschedulable for a while. Traps: SchedulingGated waits
by design; an autoscaler of nodes needs its time; a restart makes it worse, since a surge needs more room; the event
FailedScheduling repeats with a count and is no new trouble. Hands the planner how many wait, since when, and how many
are ready. No step makes room: a person gets it, with the cause named.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.rollout import live
from handrail.model.value import Raw, moment
from handrail.model.workload import pod_is_ready
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, subject, target_of
from handrail_detectors._symptoms import not_placed

NAME = "unschedulable"
REASONS = frozenset({"FailedScheduling"})


class Params(Settings):
    """`seconds`: for so long a pod waits for a node; `times`: so many events open."""

    seconds: int = Field(default=60, ge=10, le=3600)
    times: int = Field(default=3, ge=2, le=100)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    who = subject(window)
    waiting = [pod for pod in live(who.pods) if _waits(pod, now, p.seconds)] if who else []
    if who is not None and waiting:
        ready = sum(map(pod_is_ready, who.pods))
        facts: Facts = {"reason": "Unschedulable", "pods": len(waiting), "ready": ready}
        summary = f"no node takes {len(waiting)} of its pods; {ready} are ready"
        yield finding(NAME, target_of(who.raw), Said(Cause.CAPACITY, Handling.DIAGNOSE, summary, facts))
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"the scheduler found no node for a pod {told.times} times, by its events"
        said = Said(Cause.CAPACITY, Handling.DIAGNOSE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _waits(pod: Raw, now: datetime, seconds: int) -> bool:
    if not_placed(pod) != "Unschedulable":
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    placed: Raw = next((one for one in conditions if one.get("type") == "PodScheduled"), {})
    since = moment(placed.get("lastTransitionTime"))
    return since is not None and (now - since).total_seconds() >= seconds


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.WORKLOAD, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the pod's condition PodScheduled: False, Unschedulable, for a minute",
    example="no node takes 1 of its pods; 2 are ready",
)
