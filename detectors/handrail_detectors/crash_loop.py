"""A container keeps ending: StatefulSets, DaemonSets, pods that nobody made, and what only events tell.

Confirmed by the container's own status: it waits in CrashLoopBackOff or has ended badly again and again, read between
two tries as well. A Deployment is the business of `workload_rollout`. Traps: exit 143 and Completed are how
containers end in a rollout; the reason flips to running between tries; a pod that has run well for ten minutes has
forgotten its crashes; a pod that somebody moves, or whose end nobody knows, is none; an event BackOff repeats with a
count and is no new trouble. Hands the planner the container, how it ended, its restarts, how many pods are ill, and
the revision to blame with the healthy one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail_detectors._made import RECENT, Made, Said, Settings, finding, many
from handrail_detectors._others import sick
from handrail_detectors._symptoms import Kind

NAME = "crash_loop"
REASONS = frozenset({"BackOff"})
"""As a Warning it means restarts; pulls are backed off as Normal events."""


class Params(Settings):
    """`restarts`: from how many on a container seen between two tries counts; `times`: so many events open."""

    restarts: int = Field(default=2, ge=1, le=20)
    times: int = Field(default=5, ge=2, le=100)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    yield from sick(NAME, window, now, Kind.CRASH, p.restarts)
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"a container was restarted with back-off {told.times} times, by its pod's events"
        said = Said(Cause.CRASH_LOOP, Handling.APPROVE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.WORKLOAD, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the container's status: CrashLoopBackOff, or bad ends again and again",
    example="its newest revision crashes (container app: CrashLoopBackOff, exit code 1) while revision 1 is ready",
)
