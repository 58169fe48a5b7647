"""Alert storms: when there is one, what waits for its end, and in what words it is told. Pure.

Alerts of many objects at once are nearly always one cause that none of them shows. Owners are counted: what the labels
name, and for a pod what gathering finds to own it. While it may still turn out a storm, owners are looked up and
nothing is planned. In a storm people get one page, nothing is asked and nothing written; what waits is looked at again
on the live object afterwards, and asked about a few at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from handrail.core.correlate import identity as identity_of
from handrail.core.words import clock, one_line, plural
from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.condition import Condition
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.incident import Incident, State
from handrail.model.policy import StormLimit
from handrail.model.reason import Reason
from handrail.model.value import Value

NAME = "Handrail: alert storm"
DETECTOR = "alert_storm"

FEW = 5
"""So many of those that waited are planned, asked about and acted on at a time."""

PATIENCE = timedelta(minutes=2)
"""So long a pod's owner may stay unknown: then the pod counts as an object. Many owners that can't be looked up are as
good a reason to leave people alone."""

TURN = timedelta(minutes=5)
"""Who must let others go first looks anew after that: most get well meanwhile."""

LONGEST = timedelta(hours=6)
"""After that it is a person's, whatever goes on around it."""

MOST_NAMES = 10

_ANY = datetime(2000, 1, 1, tzinfo=UTC)
"""An identity holds no time."""

WAITS = frozenset({State.GATHERING, State.PLANNING, State.REHEARSING})
"""From these nothing has been asked or begun yet in this round, and all can be looked at anew."""


class Count(Value):
    """What incidents of a window are about (their identities where they name nothing). `owners` are known, or nobody
    will know them better. `unresolved` are pods and Jobs that have not been looked up yet, `overdue` those of them for
    longer than PATIENCE. `newest` is the newest opening."""

    owners: int = 0
    unresolved: int = 0
    overdue: int = 0
    newest: datetime | None = None


class Seen(Value):
    """What the store counts from the beginning of a storm's window on. `opened` holds what the first of the incidents
    were opened for."""

    count: Count = Count()
    alerts: int = 0
    names: tuple[ev.Counted, ...] = ()
    opened: tuple[ev.Opened, ...] = ()


def page_of(cluster: str) -> str:
    """The identity of a storm's page, and of the condition that the storm raises."""
    shape = Alert(name=NAME, status="firing", labels={"alertname": NAME}, seen_at=_ANY, wire="tick")
    return identity_of(shape, None, cluster)


def condition(identity: str, count: Count, limit: StormLimit) -> Condition | None:
    """What stops every write: more objects than `limit` within its minutes, until nothing new came for as long."""
    objects = count.owners + count.overdue
    if count.newest is None or objects <= limit.targets:
        return None
    what = f"alerts of {objects} objects came within {plural(limit.minutes, 'minute')}"
    until = count.newest + timedelta(minutes=limit.minutes)
    return Condition(identity=identity, reason=Reason.STORM, what=what, since=count.newest, until=until)


def undecided(count: Count, limit: StormLimit) -> bool:
    """Whether pods that have not been looked up yet may make it a storm. Of each it is known after PATIENCE."""
    return count.owners + count.overdue <= limit.targets < count.owners + count.unresolved


def worth_waiting(incident: Incident, now: datetime) -> bool:
    """Whether it still waits for the owners of pods: new ones may come for ever, as fast as they are looked up."""
    return now - max(incident.moved_at, incident.freed_at or incident.moved_at) <= TURN


def alert(storm: Condition, cluster: str) -> Alert:
    """The alert that a storm is: it goes the way of all, and opens the page."""
    return Alert(
        name=NAME,
        status="firing",
        labels={"alertname": NAME},
        starts_at=storm.since,
        seen_at=storm.since,
        cluster=cluster,
        severity="critical",
        wire="tick",
    )


def finding(storm: Condition) -> Finding:
    return Finding(
        detector=DETECTOR,
        cause=Cause.ALERT_STORM,
        handling=Handling.DIAGNOSE,
        target=None,
        severity="critical",
        summary=storm.what,
    )


def is_page(incident: Incident) -> bool:
    """The incident that is the page of a storm: it waits for the end, and nothing is looked at for it."""
    return any(found.cause is Cause.ALERT_STORM and found.detector == DETECTOR for found in incident.findings)


def counted(seen: Seen, storm: Condition, limit: StormLimit, waiting: int) -> ev.StormCounted:
    """What the page shows. `since` is the beginning of the window that showed it."""
    nodes = Counter(node for node in map(_node, seen.opened) if node)
    spaces = Counter(one.target.namespace for one in seen.opened if one.target and one.target.namespace)
    return ev.StormCounted(
        since=storm.since - timedelta(minutes=limit.minutes),
        until=storm.until,
        objects=seen.count.owners,
        unresolved=seen.count.unresolved,
        alerts=seen.alerts,
        waiting=waiting,
        names=seen.names[:MOST_NAMES],
        namespaces=_most(spaces),
        nodes=_most(nodes),
    )


def _node(opened: ev.Opened) -> str:
    if opened.target is not None and opened.target.kind == "Node":
        return opened.target.name
    return one_line(opened.alert.labels.get("node", ""), 100)


def _most(counts: Counter[str]) -> tuple[ev.Counted, ...]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(ev.Counted(name=name, times=times) for name, times in ranked[:MOST_NAMES])


def lines(event: ev.StormCounted) -> tuple[str, ...]:
    """The counts, a line each. Names are text of the world."""
    more = f" and {plural(event.unresolved, 'pod')} whose owner is not looked up yet" if event.unresolved else ""
    about = f"{plural(event.objects, 'object')}{more}"
    since = f"{plural(event.alerts, 'alert')} about {about} since {clock(event.since)}"
    rows = (("by alert", event.names), ("by namespace", event.namespaces), ("by node", event.nodes))
    return (since, *(f"{what}: {_listed(found)}" for what, found in rows if found))


def _listed(found: Iterable[ev.Counted]) -> str:
    return ", ".join(f"{one_line(one.name, 60)} {one.times}" for one in found)


def may_wait(incident: Incident) -> bool:
    """What a person asked for is not kept from that person."""
    asked_for = incident.taking_back or (incident.follows is not None and incident.follows.how != "alert")
    return incident.state in WAITS and not asked_for and not is_page(incident)


def hold(incident: Incident, storm: Condition | None, its_turn: bool, now: datetime) -> ev.Event | None:
    """What to record instead of going on; None lets it go on."""
    if not may_wait(incident):
        return None
    since = incident.storm_at
    if storm is not None:
        return _given_up(since, now) or ev.Silenced(until=storm.until, reason=Reason.STORM, detail=storm.what)
    if since is None or its_turn or incident.state is not State.PLANNING:
        return None
    detail = f"it fired in a storm, and {FEW} others that are not well go first"
    return _given_up(since, now) or ev.Silenced(until=now + TURN, reason=Reason.STORM, detail=detail)


def _given_up(since: datetime | None, now: datetime) -> ev.HandedOver | None:
    if since is None or now - since <= LONGEST:
        return None
    hours = int(LONGEST.total_seconds() // 3600)
    return ev.HandedOver(reason=Reason.STORM, detail=f"it has waited for {hours} hours since the storm began")


def over(incident: Incident, now: datetime) -> ev.Suppressed:
    """The page's end."""
    said = incident.storm
    told = f"; {lines(said)[0]}; {said.waiting} waited and are looked at again now" if said else ""
    return ev.Suppressed(reason=Reason.STORM, detail=f"the storm is over since {clock(now)}{told}")
