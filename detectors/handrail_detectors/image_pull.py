"""An image can't be pulled: StatefulSets, DaemonSets, pods that nobody made, and what only events tell.

Confirmed by the container's waiting reason. A Deployment is the business of `workload_rollout`. Traps: a restart
never helps; the older revision may need the same registry; an image that was pulled before is the registry's trouble,
not the revision's; the event Failed has three meanings, so it only says that a container does not start. Hands the
planner the container, the reason, how many pods are ill, and the revision to blame with the healthy one.
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

NAME = "image_pull"
REASONS = frozenset({"Failed", "InspectFailed", "ErrImageNeverPull"})


class Params(Settings):
    """`times`: so many events open."""

    times: int = Field(default=3, ge=2, le=100)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    yield from sick(NAME, window, now, Kind.IMAGE, restarts=1)
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"a container did not start {told.times} times, by its pod's events: its image, or what it needs"
        said = Said(Cause.NOT_READY, Handling.APPROVE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.WORKLOAD, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the container's waiting reason, such as ImagePullBackOff",
    example="its newest revision can't pull an image (container app: ImagePullBackOff) while revision 1 is ready",
)
