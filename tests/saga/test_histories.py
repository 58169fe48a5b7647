"""Promises that hold for every reachable history, whatever world, people and clock do (design, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.asking import MOST_WAITS, WORTH_WAITING
from handrail.core.fold import fold
from handrail.core.standing import still_in_place
from handrail.model import events as ev
from handrail.model.incident import State
from handrail.model.policy import Mode
from handrail.model.reason import Reason
from handrail.model.step import Risk, Verdict
from handrail.model.switch import Reach, Scope
from handrail.model.write import Direction
from tests.saga.world import ONCALL, PureWorld

MANY = settings(deadline=None)
LONG = 400


def play(data: st.DataObject, *, mode: Mode = Mode.ASK, risk: Risk = Risk.DISRUPTIVE, ticks: int = LONG) -> PureWorld:
    def choose(what: str, options: Sequence[str]) -> str:
        return data.draw(st.sampled_from(options), label=what)

    world = PureWorld(choose, mode=mode, risk=risk)
    for _ in range(ticks):
        if world.incident.state.terminal:
            break
        world.tick()
    return world


def intents(world: PureWorld) -> list[tuple[int, ev.Intent]]:
    return [(entry.seq, entry.event) for entry in world.entries if isinstance(entry.event, ev.Intent)]


@MANY
@given(st.data())
def test_nothing_is_written_without_an_approval_of_exactly_this_rehearsal(data: st.DataObject) -> None:
    world = play(data)
    for seq, intent in intents(world):
        before = fold(world.entries[: seq - 1], cluster="prod")
        assert before.approved_by == ONCALL
        assert before.request is not None
        assert before.rehearsal is not None
        assert before.request.hash == before.rehearsal.hash
        if intent.direction is Direction.DO:
            assert intent.write in [rehearsed.write for rehearsed in before.rehearsal.writes]


@MANY
@given(st.data(), st.sampled_from([Risk.DISRUPTIVE, Risk.DANGEROUS]))
def test_no_policy_lowers_the_floor_for_disruptive_steps(data: st.DataObject, risk: Risk) -> None:
    world = play(data, mode=Mode.ACT, risk=risk)
    for seq, _ in intents(world):
        assert fold(world.entries[: seq - 1], cluster="prod").approved_by is not None


@MANY
@given(st.data())
def test_nothing_is_written_under_stop_or_while_a_person_has_taken_it(data: st.DataObject) -> None:
    world = play(data)
    for seq, _ in intents(world):
        before = fold(world.entries[: seq - 1], cluster="prod")
        assert not before.paused
        assert before.taken_by is None


@MANY
@given(st.data())
def test_no_intent_of_any_state_passes_a_stop_of_everything_its_namespace_or_its_step(data: st.DataObject) -> None:
    """Whether a person pressed it or the cluster held it; stops of others are none of its business."""
    world = play(data)
    others = {Reach(scope=Scope.NAMESPACE, name="bank"), Reach(scope=Scope.STEP, name="scale_workload")}
    assert len(world.stops_at_intents) == len(intents(world))
    for standing in world.stops_at_intents:
        assert set(standing) <= others


@MANY
@given(st.data())
def test_what_the_cluster_held_stays_until_a_person_says_start(data: st.DataObject) -> None:
    """Paused with the person's own reason, and nothing but what was in flight happens before it goes on."""
    world = play(data)
    held: Reach | None = None
    for entry in world.entries:
        match entry.event:
            case ev.Paused(by="cluster", why=why, reach=reach):
                assert why == "freeze"
                held = reach
            case ev.Paused() | ev.Resumed() | ev.HandedOver():
                held = None
            case ev.Taken() | ev.GivenBack() | ev.Rejected() | ev.Cancelled() | ev.Outcome():
                pass
            case _:
                assert held is None, f"{entry.event.kind} while {held} was held"


@MANY
@given(st.data())
def test_what_a_person_cancels_writes_nothing_more_and_is_handed_over(data: st.DataObject) -> None:
    """What is in flight is found out first."""
    world = play(data)
    cancelled = next((entry for entry in world.entries if isinstance(entry.event, ev.Cancelled)), None)
    if cancelled is None or not world.incident.state.terminal:
        return
    after = [entry.event for entry in world.entries if entry.seq > cancelled.seq]
    assert not [event for event in after if isinstance(event, (ev.Intent, ev.Attempted, ev.StepBegun, ev.Asked))]
    over = world.incident.end
    assert over == (Reason.CANCELLED, f"cancelled by {ONCALL}: known") or isinstance(after[-1], ev.Rejected)


@MANY
@given(st.data())
def test_each_pause_says_what_is_half_done(data: st.DataObject) -> None:
    world = play(data)
    for entry in world.entries:
        if isinstance(entry.event, ev.Paused):
            before = fold(world.entries[: entry.seq - 1], cluster="prod")
            assert all(done in entry.event.half_done for done in still_in_place(before))
            assert still_in_place(before) or before.open_write or entry.event.half_done


@MANY
@given(st.data())
def test_nobody_is_asked_for_what_the_gate_would_refuse_however_they_answer(data: st.DataObject) -> None:
    """But for what happens after the question: a stop, a person who takes it, time that goes by."""
    world = play(data)
    late = {Reason.STOPPED, Reason.TAKEN, Reason.CANCELLED, Reason.APPROVAL_EXPIRED}
    assert {no.reason for no in world.refusals} <= late


@MANY
@given(st.data())
def test_there_are_no_more_rounds_than_policy_allows_and_each_is_asked_by_itself(data: st.DataObject) -> None:
    world = play(data)
    assert sum(isinstance(entry.event, ev.Replanned) for entry in world.entries) < world.policy.max_rounds
    asked_in: dict[str, int] = {}
    for seq, intent in intents(world):
        before = fold(world.entries[: seq - 1], cluster="prod")
        assert before.request is not None
        assert asked_in.setdefault(before.request.id, before.round) == before.round
        assert intent.write.key.split("/")[1] == str(before.round)


@MANY
@given(st.data())
def test_what_came_to_nothing_is_not_tried_again(data: st.DataObject) -> None:
    world = play(data)
    for entry in world.entries:
        if isinstance(entry.event, ev.Compiled):
            before = fold(world.entries[: entry.seq - 1], cluster="prod")
            tried = [(one.step, one.target, one.params) for one in before.tried]
            assert not [step for step in entry.event.saga.steps if (step.step, step.target, step.params) in tried]


@MANY
@given(st.data())
def test_another_round_begins_only_after_no_effect_or_a_whole_undo(data: st.DataObject) -> None:
    world = play(data)
    for entry in world.entries:
        if isinstance(entry.event, ev.Replanned):
            before = fold(world.entries[: entry.seq - 1], cluster="prod")
            assert before.verified is not None
            assert before.open_write is None
            wrote = {run.intent.step for run in before.done_writes if run.intent.direction is Direction.DO}
            undone = before.state is State.UNDONE and wrote == set(before.undone_steps)
            assert undone or before.verified.verdict is Verdict.NO_EFFECT
            after = fold(world.entries[: entry.seq], cluster="prod")
            assert len(after.tried) - len(before.tried) == len(wrote)
            assert (after.request, after.approved_by, after.rehearsal, after.writes) == (None, None, None, ())


@MANY
@given(st.data())
def test_each_wait_has_a_deadline_and_there_are_few(data: st.DataObject) -> None:
    world = play(data)
    waits = [entry for entry in world.entries if isinstance(entry.event, ev.Waiting)]
    assert len(waits) <= MOST_WAITS
    for entry in waits:
        assert isinstance(entry.event, ev.Waiting)
        assert timedelta(0) < entry.event.until - entry.at <= WORTH_WAITING


@MANY
@given(st.data())
def test_what_is_silenced_is_left_alone_until_then_and_asked_anew(data: st.DataObject) -> None:
    """No approval outlives a silence, and none is found once something was written."""
    world = play(data)
    silence: ev.Silenced | None = None
    for entry in world.entries:
        match entry.event:
            case ev.Silenced():
                silence = entry.event
                assert not fold(world.entries[: entry.seq - 1], cluster="prod").has_acted
                after = fold(world.entries[: entry.seq], cluster="prod")
                assert (after.state, after.approved_by, after.request) == (State.GATHERING, None, None)
            case ev.Gathered():
                assert silence is None or entry.at >= silence.until
                silence = None
            case ev.Intent() | ev.Asked() | ev.Cleared():
                assert silence is None


@MANY
@given(st.data())
def test_a_write_that_is_done_is_never_intended_again(data: st.DataObject) -> None:
    world = play(data)
    done: set[str] = set()
    for entry in world.entries:
        if isinstance(entry.event, ev.Intent):
            assert entry.event.write.key not in done
        if isinstance(entry.event, ev.Outcome) and entry.event.result is ev.Result.DONE:
            done.add(entry.event.key)


@MANY
@given(st.data())
def test_a_failed_step_is_never_followed_by_the_next_one(data: st.DataObject) -> None:
    world = play(data)
    failed: int | None = None
    for entry in world.entries:
        match entry.event:
            case ev.StepFailed():
                failed = entry.event.step
            case ev.Intent(direction=Direction.DO):
                assert failed is None
            case ev.Replanned():
                failed = None


@MANY
@given(st.data())
def test_only_what_was_done_is_undone_last_step_first(data: st.DataObject) -> None:
    world = play(data)
    done: set[int] = set()
    undone: list[int] = []
    for entry in world.entries:
        if isinstance(entry.event, ev.StepUndone):
            assert entry.event.step in done
            undone.append(entry.event.step)
        if isinstance(entry.event, ev.Outcome) and entry.event.result is ev.Result.DONE:
            run = world.incident.run_of(entry.event.key)
            if run is not None:
                done.add(run.intent.step)
    assert undone == sorted(undone, reverse=True)


@settings(deadline=None)
@given(st.data())
def test_every_incident_ends_or_waits_for_a_person_who_holds_it(data: st.DataObject) -> None:
    """With people who in the end do nothing more, a stop that is lifted, and time that goes on."""
    world = play(data)
    world.start_everything()
    calm = PureWorldCalm(world)
    for _ in range(200):
        if world.incident.state.terminal:
            break
        calm.tick()
    assert world.incident.state.terminal


class PureWorldCalm:
    """The same world with nobody pressing anything and every effect giving its first answer."""

    def __init__(self, world: PureWorld) -> None:
        self.world = world
        world.choose = lambda what, options: "61" if what == "idle minutes" else options[0]

    def tick(self) -> None:
        self.world.tick()


@MANY
@given(st.data(), st.integers(min_value=1, max_value=60))
def test_the_fold_of_every_prefix_is_the_state_at_that_moment(data: st.DataObject, length: int) -> None:
    world = play(data, ticks=60)
    prefix = world.entries[: min(length, len(world.entries))]
    folded = fold(prefix, cluster="prod")
    assert folded.seq == prefix[-1].seq
    assert fold(world.entries, cluster="prod") == world.incident


def test_the_straight_path_goes_from_alert_to_resolved() -> None:
    answers = {"people": "nothing"}
    world = PureWorld(lambda what, options: answers.get(what, options[0]))
    path = [world.incident.state]
    for _ in range(30):
        answers["people"] = "approve" if world.incident.state is State.ASKING else "nothing"
        world.tick()
        path.append(world.incident.state)
    assert list(dict.fromkeys(path)) == [
        State.OPENED,
        State.GATHERING,
        State.PLANNING,
        State.COMPILING,
        State.REHEARSING,
        State.ASKING,
        State.EXECUTING,
        State.VERIFYING,
        State.RESOLVED,
    ]


def test_after_no_effect_another_round_is_asked_for_something_else_and_then_a_person_has_it() -> None:
    answers = {"people": "nothing", "verify": "no_effect"}
    world = PureWorld(lambda what, options: answers.get(what, options[0]))
    for _ in range(80):
        answers["people"] = "approve" if world.incident.state is State.ASKING else "nothing"
        world.tick()
    said = [entry.event for entry in world.entries]
    asked = [event.request.id for event in said if isinstance(event, ev.Asked)]
    chosen = [event.saga.steps[0].params for event in said if isinstance(event, ev.Compiled)]
    assert (len(asked), chosen) == (2, [{"to": 1}, {"to": 2}])
    assert world.incident.end is not None
    assert world.incident.end[0] is Reason.NO_EFFECT
