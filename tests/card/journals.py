"""Journals of one incident (a bad rollout of shop/checkout), written event by event and folded like the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from handrail.core.fold import fold
from handrail.model import events as ev
from handrail.model.alert import Alert, Source
from handrail.model.approval import ApprovalRequest, Approvers, Person
from handrail.model.evidence import Away, EvidenceItem, Trust
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.incident import Incident
from handrail.model.menu import Menu, NotOffered, Option
from handrail.model.plan import Choice, Confidence, Hypothesis, PlanProposal
from handrail.model.reason import Reason
from handrail.model.saga import Blast, Rehearsal, RehearsedWrite, Saga, SagaStep
from handrail.model.severity import Severity
from handrail.model.step import Risk, Verdict
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.write import Direction, Verb, Write, key_of

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ID = "inc-abcdefghij"
ONA = Person(via="slack", name="U0ONCALL")
SAM = Person(via="slack", name="U0SECOND")
STRANGER = Person(via="slack", name="U0STRANGER")
APPROVERS = Approvers(slack_users=("U0ONCALL", "U0SECOND"), users=("alice",), groups=("sre",), local=False)

REF = ObjectRef(api_version="apps/v1", kind="Deployment", namespace="shop", name="checkout", uid="uid-1")
SEVERITY = Severity(desired=3, ready=2)
DIFF = "--- before\n+++ after\n@@ -1,3 +1,3 @@\n spec:\n-  image: shop/checkout:1.5.0\n+  image: shop/checkout:1.4.2"
UNDO_DIFF = (
    "--- before\n+++ after\n@@ -1,3 +1,3 @@\n spec:\n-  image: shop/checkout:1.4.2\n+  image: shop/checkout:1.5.0"
)


def alert(status: str = "firing", name: str = "KubeDeploymentRolloutStuck") -> Alert:
    began = T0 - timedelta(minutes=2)
    return Alert.model_validate(
        {"name": name, "status": status, "labels": {}, "starts_at": began, "seen_at": T0, "wire": "otlp"}
    )


SOURCE = Source(topic="alerts", partition=0, offset=7, digest="d")


def opened(name: str = "KubeDeploymentRolloutStuck") -> ev.Opened:
    target = LabelledTarget(kind="Deployment", namespace="shop", name="checkout")
    return ev.Opened(alert=alert(name=name), source=SOURCE, target=target, findings=(), identity="i", episode="e")


def item(id_: str, trust: Trust, title: str, excerpt: str = "it says so") -> EvidenceItem:
    return EvidenceItem(
        id=id_, kind="k", source="kubernetes: pods", at=T0, trust=trust, title=title, excerpt=excerpt, digest="d"
    )


EVIDENCE = (
    item("e1", Trust.TEXT, "log of checkout-x", "panic: no route"),
    item("e2", Trust.METRIC, "restarts", "7 in 5 minutes"),
    item("e3", Trust.API, "pods of revision 2 crash", "CrashLoopBackOff"),
    item("e4", Trust.API, "revision 1 was healthy", "3 of 3 ready"),
)
FINDING = Finding(
    detector="bad_rollout",
    cause=Cause.BAD_REVISION_CRASHES,
    handling=Handling.APPROVE,
    target=None,
    summary="revision 2 crashes, revision 1 was healthy",
    corroborated=True,
)


def gathered(evidence: tuple[EvidenceItem, ...] = EVIDENCE, away: tuple[Away, ...] = ()) -> ev.Gathered:
    return ev.Gathered(target=REF, findings=(FINDING,), evidence=evidence, away=away, severity=SEVERITY)


OPTION = Option(id="o1", step="rollout_undo", risk=Risk.DISRUPTIVE, target=REF, params={"revision": 1}, summary="undo")
MENU = Menu(
    options=(OPTION,), not_offered=(NotOffered(step="scale_workload", reason="AUTOSCALED", detail="an HPA sets it"),)
)
PLAN = PlanProposal(
    diagnosis=(
        Hypothesis(statement="revision 2 crashes at start", confidence=Confidence.HIGH, evidence=("e3", "e1")),
        Hypothesis(statement="the node is sick", confidence=Confidence.LOW, evidence=("e2",)),
    ),
    choices=(Choice(option="o1"),),
    expected_effect="all pods of revision 1 get ready",
    would_disprove="revision 1 crashes too",
)
STEP = SagaStep(
    index=0,
    step="rollout_undo",
    risk=Risk.DISRUPTIVE,
    target=REF,
    params={"revision": 1},
    summary="roll Deployment shop/checkout back to revision 1 (shop/checkout:1.4.2)",
)
SAGA = Saga(incident=ID, round=1, at=T0, steps=(STEP,))


def write(summary: str = "set the template of revision 1", direction: Direction = Direction.DO) -> Write:
    bare = Write(verb=Verb.PATCH, object=REF, ops=({"op": "replace", "path": "/spec", "value": 1},), summary=summary)
    return bare.model_copy(update={"key": key_of(ID, 1, 0, direction, bare)})


def rehearsal(diff: str = DIFF, undo_diff: str = UNDO_DIFF) -> Rehearsal:
    one = RehearsedWrite(step=0, write=write(), fingerprint="f", after="a", diff=diff, undo_diff=undo_diff)
    blast = Blast(pods=3, ready=2, percent=50, notes=("2 of 3 pods are ready now",))
    return Rehearsal(saga=SAGA, writes=(one,), blast=blast)


def request(id_: str = "req-1", bound_to: Rehearsal | None = None, approvers: Approvers = APPROVERS) -> ApprovalRequest:
    asked = T0 + timedelta(minutes=1)
    return ApprovalRequest(
        id=id_,
        hash=(bound_to or rehearsal()).hash,
        asked_at=asked,
        expires=asked + timedelta(minutes=30),
        run_until=asked + timedelta(minutes=60),
        approvers=approvers,
    )


def intent(direction: Direction = Direction.DO) -> ev.Intent:
    summary = "set the template of revision 1" if direction is Direction.DO else "set the template of revision 2 again"
    return ev.Intent(step=0, direction=direction, write=write(summary, direction), expected="f", resource_version="10")


def outcome(result: ev.Result, direction: Direction = Direction.DO, reason: Reason | None = None) -> ev.Outcome:
    return ev.Outcome(key=intent(direction).write.key, result=result, after="a", reason=reason, detail="")


LOOKING: tuple[ev.Event, ...] = (opened(), ev.GatheringBegun(), gathered())
PLANNED: tuple[ev.Event, ...] = (*LOOKING, ev.Offered(menu=MENU), ev.Planned(planner="runbooks", proposal=PLAN))
REHEARSED: tuple[ev.Event, ...] = (*PLANNED, ev.Compiled(saga=SAGA), ev.Rehearsed(rehearsal=rehearsal()))
ASKED: tuple[ev.Event, ...] = (*REHEARSED, ev.Asked(request=request()))
APPROVED: tuple[ev.Event, ...] = (*ASKED, ev.Approved(request="req-1", by=ONA))
WROTE: tuple[ev.Event, ...] = (
    *APPROVED,
    ev.StepBegun(step=0, before={}),
    intent(),
    outcome(ev.Result.DONE),
    ev.StepDone(step=0),
)
VERIFYING: tuple[ev.Event, ...] = (*WROTE, ev.Acted())
HEALED: tuple[ev.Event, ...] = (
    *VERIFYING,
    ev.Verified(verdict=Verdict.HEALED, severity=Severity(desired=3, ready=3), detail="all 3 pods are ready"),
)
WORSE: tuple[ev.Event, ...] = (
    *VERIFYING,
    ev.Verified(verdict=Verdict.WORSE, severity=Severity(desired=3, ready=0), detail="0 of 3 pods are ready"),
)
UNDONE: tuple[ev.Event, ...] = (
    *WORSE,
    intent(Direction.UNDO),
    outcome(ev.Result.DONE, Direction.UNDO),
    ev.StepUndone(step=0),
    ev.Undone(),
)


def handed_over(reason: Reason = Reason.NO_RUNBOOK, detail: str = "no runbook is sure") -> ev.HandedOver:
    return ev.HandedOver(reason=reason, detail=detail)


def entries(events: Sequence[ev.Event], every: timedelta = timedelta(seconds=10)) -> tuple[ev.Entry, ...]:
    """The events in their places, one every ten seconds."""
    return tuple(
        ev.Entry(incident=ID, seq=n, at=T0 + every * (n - 1), actor="handrail", event=event, previous="", hash=str(n))
        for n, event in enumerate(events, start=1)
    )


def incident(events: Sequence[ev.Event]) -> Incident:
    return fold(entries(events), cluster="prod-eu1")
