"""Small builders for tests: alerts, arrivals, and incidents in any state, walked there through real events.

Everything is fixed unless a test says otherwise: one cluster, one time, one Deployment shop/checkout.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from handrail.core.asking import after_rehearsal
from handrail.core.correlate import arrival
from handrail.core.fold import fold
from handrail.model import events as ev
from handrail.model.alert import Alert, Source
from handrail.model.approval import Approvers, Person
from handrail.model.arrival import Arrival, Batch
from handrail.model.evidence import EvidenceItem, Trust
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.incident import Incident, State
from handrail.model.menu import Menu, Option
from handrail.model.plan import Choice, Confidence, Hypothesis, PlanProposal
from handrail.model.policy import Mode, Policy, PolicyRule
from handrail.model.reason import Reason
from handrail.model.saga import Blast, Rehearsal, RehearsedWrite, Saga, SagaStep
from handrail.model.severity import Severity
from handrail.model.step import Risk, Verdict
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import digest
from handrail.model.write import Direction, Verb, Write, key_of

CLUSTER = "prod"
NOW = datetime(2026, 11, 3, 3, 0, tzinfo=UTC)
STEP = "rollout_undo"
ONCALL = Person(via="slack", name="U0ONCALL")
HEALTH = Severity(desired=3, ready=1)
EVIDENCE = "KubePodCrashLooping: back-off restarting failed container"


class FakeTime:
    """A clock that only tests move. Calling it gives the time."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def later(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


def an_alert(
    name: str = "KubeDeploymentReplicasMismatch",
    *,
    workload: str = "checkout",
    status: str = "firing",
    starts_at: datetime | None = NOW,
    seen_at: datetime = NOW,
    cluster: str = CLUSTER,
) -> Alert:
    return Alert.model_validate(
        {
            "name": name,
            "status": status,
            "labels": {"alertname": name, "namespace": "shop", "deployment": workload},
            "starts_at": starts_at,
            "seen_at": seen_at,
            "cluster": cluster,
            "severity": "warning",
            "wire": "test",
        }
    )


def a_finding(handling: Handling = Handling.APPROVE, workload: str = "checkout") -> Finding:
    return Finding(
        detector="test",
        cause=Cause.BAD_REVISION_CRASHES,
        handling=handling,
        target=LabelledTarget(kind="Deployment", namespace="shop", name=workload),
        summary="the newest revision crashes",
        corroborated=True,
    )


def an_arrival(alert: Alert | None = None, *, handling: Handling = Handling.APPROVE) -> Arrival:
    return arrival(alert or an_alert(), CLUSTER, (a_finding(handling),))


def a_source(offset: int = 0, *, topic: str = "alerts", partition: int = 0, seal: str = "") -> Source:
    return Source(topic=topic, partition=partition, offset=offset, digest=seal or digest([topic, partition, offset]))


def a_batch(*arrivals: Arrival, offset: int = 0, source: Source | None = None, at: datetime = NOW) -> Batch:
    return Batch(source=source or a_source(offset), at=at, arrivals=arrivals)


def a_target(workload: str = "checkout", uid: str = "") -> ObjectRef:
    return ObjectRef(
        api_version="apps/v1", kind="Deployment", namespace="shop", name=workload, uid=uid or f"uid-{workload}"
    )


def a_policy(mode: Mode = Mode.ASK) -> Policy:
    rule = PolicyRule(namespaces=("shop",), steps={STEP: mode})
    return Policy(version=1, rules=(rule,), approvers=Approvers(slack_users=(ONCALL.name,)))


def gathered(target: ObjectRef | None = None) -> ev.Gathered:
    item = EvidenceItem(
        id="e1",
        kind="event",
        source="kubernetes: events",
        at=NOW,
        trust=Trust.API,
        title="BackOff",
        excerpt=EVIDENCE,
        digest=digest(EVIDENCE),
    )
    return ev.Gathered(target=target or a_target(), findings=(a_finding(),), evidence=(item,), away=(), severity=HEALTH)


def a_saga(incident: str, target: ObjectRef | None = None, round_: int = 1) -> Saga:
    step = SagaStep(
        index=0,
        step=STEP,
        risk=Risk.DISRUPTIVE,
        target=target or a_target(),
        params={"revision": 1},
        summary="go back to revision 1",
    )
    return Saga(incident=incident, round=round_, at=NOW, steps=(step,))


def a_write(saga: Saga, direction: Direction = Direction.DO) -> Write:
    bare = Write(
        verb=Verb.PATCH,
        object=saga.steps[0].target,
        ops=({"op": "replace", "path": "/spec/template", "value": {"revision": str(direction)}},),
        summary=f"{direction}: the template of revision 1",
    )
    return bare.model_copy(update={"key": key_of(saga.incident, saga.round, 0, direction, bare)})


def a_rehearsal(saga: Saga) -> Rehearsal:
    shown = RehearsedWrite(
        step=0, write=a_write(saga), fingerprint="before", after="after", diff="-image: v2\n+image: v1", undo_diff=""
    )
    return Rehearsal(saga=saga, writes=(shown,), blast=Blast(pods=3, ready=1, percent=34))


def an_intent(saga: Saga, direction: Direction = Direction.DO, version: str = "100") -> ev.Intent:
    write = a_write(saga, direction)
    return ev.Intent(step=0, direction=direction, write=write, expected="before", resource_version=version)


def an_outcome(intent: ev.Intent, result: ev.Result = ev.Result.DONE) -> ev.Outcome:
    return ev.Outcome(key=intent.write.key, result=result, resource_version="101", after="after")


def a_proposal() -> PlanProposal:
    hypothesis = Hypothesis(statement="revision 2 crashes", confidence=Confidence.HIGH, evidence=("e1",))
    return PlanProposal(
        diagnosis=(hypothesis,),
        choices=(Choice(option="o1"),),
        expected_effect="all pods become ready",
        would_disprove="revision 1 crashes too",
    )


def a_menu(target: ObjectRef | None = None) -> Menu:
    option = Option(
        id="o1",
        step=STEP,
        risk=Risk.DISRUPTIVE,
        target=target or a_target(),
        params={"revision": 1},
        summary="go back to revision 1",
    )
    return Menu(options=(option,))


def verified(verdict: Verdict) -> ev.Verified:
    return ev.Verified(verdict=verdict, severity=HEALTH, detail="as the test says")


def opened(arrived: Arrival | None = None) -> ev.Opened:
    arrived = arrived or an_arrival()
    return ev.Opened(
        alert=arrived.alert,
        source=a_source(),
        target=arrived.target,
        findings=arrived.findings,
        identity=arrived.identity,
        episode=arrived.episode,
    )


def story_to(state: State, incident: str, target: ObjectRef | None = None, now: datetime = NOW) -> tuple[ev.Event, ...]:
    """The events after `opened` that lead an incident to a state, approved by a person on the way."""
    saga = a_saga(incident, target)
    rehearsal = a_rehearsal(saga)
    asked = after_rehearsal(rehearsal, a_policy(), "request-1", now)
    to_gathering: tuple[ev.Event, ...] = (ev.GatheringBegun(),)
    to_planning = (*to_gathering, gathered(target))
    to_compiling = (*to_planning, ev.Offered(menu=a_menu(target)), ev.Planned(planner="test", proposal=a_proposal()))
    to_rehearsing = (*to_compiling, ev.Compiled(saga=saga))
    to_asking = (*to_rehearsing, ev.Rehearsed(rehearsal=rehearsal), asked)
    to_executing = (*to_asking, ev.Approved(request="request-1", by=ONCALL))
    did, took_back = an_intent(saga), an_intent(saga, Direction.UNDO)
    acted = (ev.StepBegun(step=0, before={"revision": 2}), did, an_outcome(did), ev.StepDone(step=0), ev.Acted())
    to_verifying = (*to_executing, *acted)
    to_undoing = (*to_verifying, verified(Verdict.WORSE))
    stories: dict[State, tuple[ev.Event, ...]] = {
        State.OPENED: (),
        State.GATHERING: to_gathering,
        State.PLANNING: to_planning,
        State.COMPILING: to_compiling,
        State.REHEARSING: to_rehearsing,
        State.ASKING: to_asking,
        State.EXECUTING: to_executing,
        State.VERIFYING: to_verifying,
        State.UNDOING: to_undoing,
        State.UNDONE: (*to_undoing, took_back, an_outcome(took_back), ev.StepUndone(step=0), ev.Undone()),
        State.RESOLVED: (*to_verifying, verified(Verdict.HEALED)),
        State.HANDED_OVER: (*to_asking, ev.Rejected(request="request-1", by=ONCALL, why="not now")),
        State.SUPPRESSED: (*to_gathering, ev.Suppressed(reason=Reason.RESOLVED_BY_ITSELF, detail="healthy again")),
    }
    return stories[state]


def entries_of(events: Iterable[ev.Event], incident: str = "inc-1", at: datetime = NOW) -> tuple[ev.Entry, ...]:
    """A journal in memory; its hashes are numbers, since nothing here verifies them."""
    return tuple(
        ev.Entry(incident=incident, seq=seq, at=at, actor="test", event=event, previous=str(seq - 1), hash=str(seq))
        for seq, event in enumerate(events, start=1)
    )


def an_incident_in(
    state: State, incident: str = "inc-1", *, arrived: Arrival | None = None, target: ObjectRef | None = None
) -> Incident:
    return fold(entries_of((opened(arrived), *story_to(state, incident, target)), incident), cluster=CLUSTER)
