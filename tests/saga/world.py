"""A pure world for the core: folds events, asks for the next move, and lets a chooser say what each effect found.

No store, no cluster, no clock: the same decisions as in the daemon, at thousands of histories a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from handrail.core import again
from handrail.core.answer import decide
from handrail.core.asking import after_rehearsal, not_yet
from handrail.core.fold import apply
from handrail.core.gate import GateFacts, Recent, Rules, foresee, free_from, judge
from handrail.core.move import Decided, Do, Effect, Idle
from handrail.core.saga import next_move, paused
from handrail.core.tried import without_tried
from handrail.model import events as ev
from handrail.model.alert import Alert, Source
from handrail.model.approval import Approvers, Person
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.incident import Incident
from handrail.model.menu import Menu, Option
from handrail.model.plan import Choice, Confidence, Hypothesis, PlanProposal
from handrail.model.policy import Mode, Policy, PolicyRule
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Blast, Rehearsal, RehearsedWrite, Saga, SagaStep
from handrail.model.severity import Severity
from handrail.model.step import Risk, Verdict
from handrail.model.switch import CLUSTER, EVERYTHING, Reach, Scope, Stop, Switch
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.write import Direction, Verb, Write, key_of

START = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)
TARGET = ObjectRef(api_version="apps/v1", kind="Deployment", namespace="shop", name="checkout", uid="u1")
ONCALL = Person(via="slack", name="U0ONCALL")
STRANGER = Person(via="slack", name="U0STRANGER")

PRESSES = ("nothing", "nothing", "approve", "reject", "stranger", "take", "give_back", "switch", "cancel")
REACHES = (
    EVERYTHING,
    Reach(scope=Scope.NAMESPACE, name="shop"),
    Reach(scope=Scope.NAMESPACE, name="bank"),
    Reach(scope=Scope.STEP, name="rollout_undo"),
    Reach(scope=Scope.STEP, name="scale_workload"),
)
"""Everything, and what does and does not concern the one incident of this world."""

T = TypeVar("T")
Choose = Callable[[str, Sequence[T]], T]


def policy(mode: Mode = Mode.ASK) -> Policy:
    rule = PolicyRule(namespaces=("shop",), steps={"rollout_undo": mode, "scale_workload": mode})
    return Policy(version=1, rules=(rule,), approvers=Approvers(slack_users=("U0ONCALL",)))


class PureWorld:
    """`choose(what, options)` decides everything that the world, people or chance would."""

    id = "inc-1"
    may_be_silenced = True

    def __init__(self, choose: Choose[str], *, mode: Mode = Mode.ASK, risk: Risk = Risk.DISRUPTIVE) -> None:
        self.choose = choose
        self.policy = policy(mode)
        self.risk = risk
        self.switch = Switch()
        self.now = START
        self.entries: list[ev.Entry] = []
        self.incident: Incident = self._open()
        self.refusals: list[Refusal] = []
        self.requests = 0
        self.recent = Recent()
        self.stops_at_intents: list[tuple[Reach, ...]] = []

    def _open(self) -> Incident:
        alert = Alert(name="KubePodCrashLooping", status="firing", labels={}, seen_at=self.now, wire="test")
        labelled = LabelledTarget(kind="Deployment", namespace="shop", name="checkout")
        opened = ev.Opened(
            alert=alert,
            source=Source(topic="t", partition=0, offset=0, digest=""),
            target=labelled,
            findings=(self._finding(labelled),),
            identity="i",
            episode="e",
        )
        self.incident = None  # type: ignore[assignment]  # the first event makes it
        self.append(opened)
        return self.incident

    def _finding(self, labelled: LabelledTarget) -> Finding:
        return Finding(
            detector="test",
            cause=Cause.BAD_REVISION_CRASHES,
            handling=Handling.APPROVE,
            target=labelled,
            summary="revision 2 crashes",
            corroborated=True,
        )

    def append(self, *events: ev.Event) -> None:
        for event in events:
            seq = len(self.entries) + 1
            entry = ev.Entry(
                incident=self.id, seq=seq, at=self.now, actor="test", event=event, previous="", hash=str(seq)
            )
            self.incident = apply(self.incident, entry, cluster="prod")
            self.entries.append(entry)

    def tick(self) -> None:
        """One move of the daemon, and whatever people and the clock do beside it."""
        self.people()
        move = next_move(self.incident, self.switch, self.policy, self.now)
        match move:
            case Decided():
                self.append(*move.events)
            case Do():
                self._perform(move)
            case Idle():
                self.now += timedelta(minutes=float(self.choose("idle minutes", ("1", "11", "61"))))
        self.now += timedelta(seconds=1)

    def people(self) -> None:
        act = self.choose("people", PRESSES)
        if act == "switch":
            self.press(REACHES[int(self.choose("reach", tuple(map(str, range(len(REACHES))))))])
        elif act == "cancel":
            if self.choose("really cancel", ("no", "no", "yes")) == "yes":
                events = again.cancel(self.incident, ONCALL, "known")
                self.append(*(() if isinstance(events, Refusal) else events))
        elif act != "nothing":
            person = STRANGER if act == "stranger" else ONCALL
            verb = "approve" if act == "stranger" else act
            request = self.incident.request.id if self.incident.request else None
            answer = decide(self.incident, verb, request, person, self.now)
            if not isinstance(answer, Refusal):
                self.append(*answer)

    def press(self, reach: Reach, by: str = "ops") -> None:
        """Stops what goes on, starts what stands."""
        standing = self.switch.of(reach)
        pressed = Stop(reach=reach, on=standing is None or not standing.on, by=by, why="freeze", at=self.now)
        others = (stop for stop in self.switch.pressed if stop.reach != reach)
        order = list(Scope)
        self.switch = Switch(
            pressed=tuple(sorted((pressed, *others), key=lambda s: (order.index(s.reach.scope), s.reach.name)))
        )

    def latch(self) -> None:
        """The API server refused a dry-run because of a stop of the cluster's own: as effects/latch.py does it."""
        reach = REACHES[int(self.choose("held", ("0", "1")))]
        self.append(paused(self.incident, self._latched(reach)))

    def _latched(self, reach: Reach) -> Stop:
        standing = self.switch.of(reach)
        if standing is None or not standing.on:
            self.press(reach, by=CLUSTER)
        return Stop(reach=reach, by=CLUSTER, why="freeze")

    def start_everything(self) -> None:
        for stop in self.switch.stops:
            self.press(stop.reach)

    def _perform(self, move: Do) -> None:
        handlers: dict[Effect, Callable[[], None]] = {
            Effect.GATHER: self._gather,
            Effect.OFFER: lambda: self.append(ev.Offered(menu=without_tried(_menu(self.risk), self.incident.tried))),
            Effect.PLAN: self._plan,
            Effect.COMPILE: self._compile,
            Effect.REHEARSE: self._rehearse,
            Effect.RECHECK: lambda: self.append(ev.Voided(reason=Reason.STATE_CHANGED, detail="again")),
            Effect.STEP: lambda: self._step(move.step),
            Effect.UNDO: lambda: self._undo(move.step),
            Effect.SETTLE: self._settle,
            Effect.VERIFY: self._verify,
        }
        handlers[move.effect]()

    def _gather(self) -> None:
        found = self.choose("gather", ("found", "away", "silenced") if self.may_be_silenced else ("found", "away"))
        if found == "silenced":
            self.silence()
        elif found == "found":
            self.append(
                ev.Gathered(
                    target=TARGET,
                    findings=self.incident.findings,
                    evidence=(),
                    away=(),
                    severity=Severity(desired=3, ready=2),
                )
            )
        else:
            self.now += timedelta(minutes=4)

    def silence(self) -> None:
        """Somebody has silenced its alert, as effects/quiet.py finds it."""
        minutes = int(self.choose("silenced for", ("5", "50")))
        self.append(ev.Silenced(until=self.now + timedelta(minutes=minutes), detail="by alice"))

    def _plan(self) -> None:
        options = self.incident.menu.options if self.incident.menu else ()
        if not options or self.choose("plan", ("planned", "refused")) == "refused":
            self.append(ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="none"))
            return
        hypothesis = Hypothesis(statement="bad revision", confidence=Confidence.HIGH, evidence=("e1",))
        proposal = PlanProposal(
            diagnosis=(hypothesis,),
            choices=(Choice(option=options[0].id),),
            expected_effect="heals",
            would_disprove="no",
        )
        self.append(ev.Planned(planner="test", proposal=proposal))

    def _compile(self) -> None:
        if self.choose("compile", ("compiled", "refused")) == "refused":
            self.append(ev.CompileRefused(reason=Reason.PARAMETER_OUT_OF_RANGE, detail="no"))
            return
        assert self.incident.menu is not None
        assert self.incident.proposal is not None
        option = self.incident.menu.option(self.incident.proposal.choices[0].option)
        assert option is not None
        steps = tuple(_step(index, self.risk, option.params) for index in range(2))
        self.append(ev.Compiled(saga=Saga(incident=self.id, round=self.incident.round, at=self.now, steps=steps)))

    def _rehearse(self) -> None:
        found = ("shown", "moved", "held", "silenced") if self.may_be_silenced else ("shown", "moved", "held")
        match self.choose("rehearse", found):
            case "silenced":
                self.silence()
                return
            case "moved":
                self.append(self.moved())
                return
            case "held":
                self.latch()
                return
        saga = self.incident.saga
        assert saga is not None
        writes = tuple(
            RehearsedWrite(
                step=step.index,
                write=write(saga, step.index),
                fingerprint="f0",
                after="f1",
                diff="-a\n+b",
                undo_diff="",
            )
            for step in saga.steps
        )
        rehearsal = Rehearsal(saga=saga, writes=writes, blast=Blast(pods=3, ready=2, percent=50))
        self.recent = self._others()
        rules = Rules(policy=self.policy, own_namespace="handrail", now=self.now)
        refusal = foresee(self.incident, [one.write for one in writes], self.recent, rules)
        if refusal is not None:
            after = not_yet(refusal, self.incident, free_from(self.recent, self.policy), self.now)
        else:
            self.requests += 1
            after = after_rehearsal(rehearsal, self.policy, f"r{self.requests}", self.now)
        self.append(ev.Rehearsed(rehearsal=rehearsal), after)

    def moved(self) -> ev.Event:
        """What comes of an object that somebody has touched before anybody was asked."""
        return ev.Voided(reason=Reason.DRIFTED, detail="moved")

    def _others(self) -> Recent:
        """What other incidents did to the same objects."""
        match self.choose("others", ("nothing", "nothing", "just now", "a while ago", "busy")):
            case "just now":
                return Recent(last_saga_at=self.now - timedelta(minutes=1))
            case "a while ago":
                return Recent(last_saga_at=self.now - timedelta(minutes=20))
            case "busy":
                return Recent(busy_with="inc-2")
            case _:
                return Recent()

    def gate(self, planned: Write, direction: Direction) -> Refusal | None:
        facts = GateFacts(
            incident=self.incident,
            switch=self.switch,
            epoch=1,
            holder_epoch=1,
            last_saga_at=self.recent.last_saga_at,
            busy_with=self.recent.busy_with,
            now=self.now,
        )
        return judge(facts, self.policy, "handrail", planned, direction)

    def _step(self, index: int) -> None:
        saga = self.incident.saga
        assert saga is not None
        mine = write(saga, index)
        run = self.incident.run_of(mine.key)
        if run is not None and run.done:
            self.append(ev.StepDone(step=index))
            return
        begun = self.incident.has_acted or not self.may_be_silenced
        if not begun and self.choose("silenced", ("no", "no", "no", "yes")) == "yes":
            self.silence()
            return
        dry_run = self.choose("before writing", ("same", "same", "drifted", "held"))
        if dry_run == "held":
            self.latch()
            return
        if dry_run == "drifted":
            no = ev.StepFailed(step=index, reason=Reason.DRIFTED, detail="drifted")
            self.append(no if self.incident.has_acted else ev.Voided(reason=Reason.DRIFTED, detail="drifted"))
            return
        self._intend(index, mine, Direction.DO)

    def _intend(self, index: int, mine: Write, direction: Direction) -> None:
        refusal = self.gate(mine, direction)
        if refusal is not None:
            self.refusals.append(refusal)
            if refusal.reason not in (Reason.STOPPED, Reason.TAKEN, Reason.CANCELLED):
                self.append(ev.HandedOver(reason=refusal.reason, detail=refusal.detail))
            return
        if direction is Direction.DO and self.incident.step_run(index) is None:
            self.append(ev.StepBegun(step=index, before={}))
        self.stops_at_intents.append(tuple(stop.reach for stop in self.switch.stops))
        self.append(ev.Intent(step=index, direction=direction, write=mine, expected="f0", resource_version="1"))
        if self.choose("send", ("answered", "answered", "lost")) == "answered":
            self._settle()

    def _settle(self) -> None:
        run = self.incident.open_write
        assert run is not None
        found = self.choose("outcome", ("done", "done", "refused", "absent", "stuck", "held"))
        if found == "held":
            self._latched(REACHES[1])
        result = ev.Result.ABSENT if found == "held" else ev.Result(found)
        attempts = [r for r in self.incident.writes if r.intent.write.key == run.intent.write.key]
        if result is ev.Result.ABSENT and len(attempts) >= 3:
            result = ev.Result.REFUSED
        self.append(ev.Outcome(key=run.intent.write.key, result=result, after="f1"))

    def _undo(self, index: int) -> None:
        saga = self.incident.saga
        assert saga is not None
        back = write(saga, index, Direction.UNDO)
        run = self.incident.run_of(back.key)
        if run is not None and run.done:
            self.append(ev.StepUndone(step=index))
            return
        match self.choose("undo", ("can", "can", "cannot", "held")):
            case "cannot":
                self.append(ev.HandedOver(reason=Reason.CANNOT_UNDO, detail="somebody changed it"))
            case "held":
                self.latch()
            case _:
                self._intend(index, back, Direction.UNDO)

    def _verify(self) -> None:
        verdict = Verdict(self.choose("verify", ("healed", "no_effect", "worse", "not_yet")))
        if verdict is Verdict.NOT_YET:
            self.now += timedelta(minutes=1)
            return
        self.append(ev.Verified(verdict=verdict, severity=Severity(desired=3, ready=3), detail="seen"))


def write(saga: Saga, index: int, direction: Direction = Direction.DO) -> Write:
    bare = Write(verb=Verb.PATCH, object=saga.steps[index].target, ops=({"op": "replace"},), summary=f"step {index}")
    return bare.model_copy(update={"key": key_of(saga.incident, saga.round, index, direction, bare)})


def _step(index: int, risk: Risk, params: dict[str, int]) -> SagaStep:
    target = TARGET.model_copy(update={"uid": f"u{index + 1}"})
    return SagaStep(index=index, step="rollout_undo", risk=risk, target=target, params=params, summary="undo")


def _menu(risk: Risk) -> Menu:
    options = (
        Option(id=f"o{n}", step="rollout_undo", risk=risk, target=TARGET, params={"to": n}, summary="undo")
        for n in (1, 2, 3)
    )
    return Menu(options=tuple(options))
