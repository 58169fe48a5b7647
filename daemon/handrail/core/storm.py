"""Alert storms: when there is one, what waits for its end, and in what words it is told. Pure.

Alerts of many objects at once are nearly always one cause that none of them shows. Owners are counted: what the labels
name, and for a pod what gathering finds to own it. While it may still turn out a storm, owners are looked up and
nothing is planned. In a storm people get one page, nothing is asked and nothing written but what a person asks for by
name; what waits is looked at again on the live object afterwards, and asked about a few at a time. A storm may never
end, since anybody who may send alerts can keep one up: so nobody waits for it longer than policy says
(docs/adr/0011-patience-in-a-storm.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from handrail.core.correlate import identity as identity_of
from handrail.core.words import clock, one_line, plural, span
from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.condition import Condition
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.incident import Incident, State
from handrail.model.policy import StormLimit
from handrail.model.reason import Reason, Refusal
from handrail.model.value import Value

NAME = "Handrail: alert storm"
DETECTOR = "alert_storm"

FEW = 5
"""So many of those that waited are planned, asked about and acted on at a time."""

PATIENCE = timedelta(minutes=2)
"""So long a pod's owner may stay unknown: then the pod counts as an object. Many owners that can't be looked up are as
good a reason to leave people alone."""

TURN = timedelta(minutes=5)
"""Who must let others go first looks anew after that: most get well meanwhile. So few are given to people in that time,
too: nobody reads hundreds."""

LONGEST = timedelta(hours=2)
"""After a storm, of those that let others go first: then it is a person's."""

AWAY = timedelta(minutes=10)
"""So long an API server may be away when it is time to look at one that fired in a storm."""

PAGE_AGE = timedelta(hours=6)
"""So old may a storm's beginning be when its page is opened."""

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


def asked_for(incident: Incident) -> bool:
    """By a person, by name: another try, or an undo."""
    return bool(incident.taking_back) or (incident.follows is not None and incident.follows.how != "alert")


def concerning(incident: Incident, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """What a person asked for is not kept from that person by a storm; it is by all else. What policy lets act by
    itself is not what anybody approved in the storm."""
    by_itself = incident.state is State.EXECUTING and incident.approved_by is None
    spared = asked_for(incident) and not by_itself
    return tuple(one for one in conditions if not (spared and one.reason is Reason.STORM))


def waits(incident: Incident) -> bool:
    """For the end of a storm, or for its turn."""
    return incident.state in WAITS and incident.silenced is not None and incident.silenced.reason is Reason.STORM


def may_wait(incident: Incident) -> bool:
    return incident.state in WAITS and not asked_for(incident) and not is_page(incident)


class Turn(NamedTuple):
    """Whose turn it is: `asked` to be asked about, `given` to be given to a person."""

    asked: bool = True
    given: bool = True


def overdue(incident: Incident, limit: StormLimit, now: datetime) -> bool:
    """It has waited for the end of a storm for as long as anything may."""
    return incident.storm_at is not None and now - incident.storm_at >= timedelta(minutes=limit.wait_minutes)


def hold(incident: Incident, storm: Condition | None, limit: StormLimit, turn: Turn, now: datetime) -> ev.Event | None:
    """What to record instead of going on; None lets it go on. Who has waited for long enough is looked at, storm or
    not: what is well ends quietly, what is not is a person's."""
    if not may_wait(incident):
        return None
    if storm is not None:
        return _in_storm(incident, storm, limit, turn, now)
    since = incident.storm_at
    if since is None or turn.asked or incident.state is not State.PLANNING:
        return None
    if now - since > LONGEST and turn.given:
        hours = int(LONGEST.total_seconds() // 3600)
        return ev.HandedOver(reason=Reason.STORM, detail=f"it has waited for {hours} hours since the storm began")
    return _let_others(f"it fired in a storm, and {FEW} others that are not well go first", now)


def _in_storm(incident: Incident, storm: Condition, limit: StormLimit, turn: Turn, now: datetime) -> ev.Event | None:
    if not overdue(incident, limit, now):
        at_most = (incident.storm_at or now) + timedelta(minutes=limit.wait_minutes)
        return ev.Silenced(until=min(storm.until, at_most), reason=Reason.STORM, detail=storm.what)
    if incident.state is State.GATHERING:
        return None
    return still_on(incident, now) if turn.given else _let_others(f"{STILL}, and others go first", now)


STILL = "the storm still goes on"


def still_on(incident: Incident, now: datetime) -> ev.HandedOver:
    """Given to a person, who can have it gone on with."""
    waited = plural(int((now - (incident.storm_at or now)).total_seconds() // 60), "minute")
    goes_on = f"`handrail incidents retry {incident.id} --reason TEXT` goes on with it"
    return ev.HandedOver(reason=Reason.STORM, detail=f"{STILL}, and it has waited for {waited}; {goes_on}")


def _let_others(why: str, now: datetime) -> ev.Silenced:
    return ev.Silenced(until=now + TURN, reason=Reason.STORM, detail=why)


def not_found(incident: Incident, no: Refusal, given: bool, page: str, now: datetime) -> ev.Event | None:
    """Of one that fired in a storm and whose object can't be looked at. None hands it over like any other.

    An object that is not there is no reason to call anybody beside the page: else whoever sends alerts about objects
    that he made up, by the thousand, fills the channel. It opens again if it fires again.
    """
    if incident.storm_at is None or asked_for(incident):
        return None
    if no.reason is Reason.TARGET_GONE:
        detail = f"it fired in a storm, and {no.detail}"
        return ev.Suppressed(reason=Reason.STORM, detail=detail, into=page)
    return None if given else _let_others(f"it fired in a storm, and others go first ({no.reason})", now)


def away(incident: Incident, limit: StormLimit, given: bool, why: str, now: datetime) -> ev.Event | None:
    """Of one that fired in a storm while the API server, as `why` says, is away. None tries again as with any other.

    What makes a storm takes the API server along often enough: then nobody is shown hundreds that wait for it."""
    if incident.storm_at is None or asked_for(incident):
        return None
    its_time = incident.storm_at + timedelta(minutes=limit.wait_minutes)
    if given and now - max(its_time, incident.moved_at, incident.freed_at or its_time) >= AWAY:
        return ev.HandedOver(reason=Reason.SOURCE_AWAY, detail=f"it could not be looked at for too long: {why}")
    return _let_others(f"it fired in a storm, and can't be looked at: {why}", now)


def again(incident: Incident, limit: StormLimit, waiting: int, longest: Iterable[str], now: datetime) -> str:
    """The note on the page that it still goes on, each time that the wait that policy allows is over once more; ""
    for none. `longest` are those that have waited longest, as people name them."""
    if _waits_over(incident, limit, now) <= _waits_over(incident, limit, incident.storm_told_at):
        return ""
    some = "; ".join(one_line(one, 100) for one in longest)
    those = f", longest of all {some}" if some else ""
    return f"{STILL} after {span(now - incident.opened_at)}; {plural(waiting, 'incident')} wait for its end{those}"


def _waits_over(incident: Incident, limit: StormLimit, at: datetime | None) -> int:
    """How often, by then, the wait that policy allows has gone by since the page was opened."""
    return (at - incident.opened_at) // timedelta(minutes=limit.wait_minutes) if at is not None else 0


def over(incident: Incident, now: datetime) -> ev.Suppressed:
    """The page's end."""
    said = incident.storm
    told = f"{lines(said)[0]}; {said.waiting} waited and are looked at again now" if said else ""
    told = told or f"it began at {clock(incident.opened_at)}"
    return ev.Suppressed(reason=Reason.STORM, detail=f"the storm is over since {clock(now)}; {told}")
