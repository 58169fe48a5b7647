"""Cancel, retry and undo hold their promises in every reachable history, in any order and however often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core import again
from handrail.core.fold import fold
from handrail.model import events as ev
from handrail.model.incident import State
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Risk
from handrail.model.write import Direction
from tests.saga.chain import WHY, Chain
from tests.saga.world import ONCALL, PureWorld

MANY = settings(deadline=None)
TICKS, MOST = 150, 5
LUCKY = {"gather": 0, "plan": 0, "compile": 0, "rehearse": 0, "before writing": 0, "send": 0, "outcome": 0, "others": 0}


def play(data: st.DataObject, *, risk: Risk = Risk.DISRUPTIVE) -> Chain:
    """Half of the worlds are lucky: else hardly any chain would come so far that there is something to take back."""

    def choose(what: str, options: Sequence[str]) -> str:
        if lucky and what in LUCKY:
            return options[LUCKY[what]]
        if lucky and what == "people":
            waits = chain.last.incident.state is State.ASKING
            options = ("approve", "approve", "switch", "cancel", "take") if waits else ("nothing", "nothing", *options)
        return data.draw(st.sampled_from(options), label=what)

    lucky = data.draw(st.booleans(), label="lucky")
    chain = Chain(choose, risk)
    for _ in range(MOST):
        for _ in range(TICKS):
            if chain.last.incident.state.terminal:
                break
            chain.last.tick()
        way: again.Way | None = data.draw(st.sampled_from(("undo", "retry", None)), label="way")
        if way is None or chain.ask(way) is not None:
            break
    return chain


def links(chain: Chain) -> Iterator[tuple[PureWorld, PureWorld]]:
    return zip(chain.worlds, chain.worlds[1:], strict=False)


@MANY
@given(st.data())
def test_both_journals_name_each_other_the_person_and_the_reason(data: st.DataObject) -> None:
    for old, new in links(play(data)):
        told, first = old.entries[-1].event, new.entries[0].event
        assert isinstance(told, ev.Retried | ev.UndoAsked)
        assert (told.into, told.by, told.why) == (new.id, ONCALL, WHY)
        assert isinstance(first, ev.Opened)
        assert first.follows is not None
        assert (first.follows.incident, first.follows.by, first.follows.why) == (old.id, ONCALL, WHY)


@MANY
@given(st.data())
def test_what_has_ended_stays_as_it_ended_whatever_is_begun_from_it(data: st.DataObject) -> None:
    for old, _ in links(play(data)):
        before = fold(old.entries[:-1], cluster="prod")
        assert before.state.terminal
        assert (old.incident.state, old.incident.end, old.incident.writes) == (before.state, before.end, before.writes)


@MANY
@given(st.data())
def test_an_undo_takes_back_exactly_what_the_last_run_left_last_step_first(data: st.DataObject) -> None:
    for old, new in links(play(data)):
        if not new.incident.taking_back:
            continue
        left = [one.target for one in again.last_run(old.entries)]
        assert left, "else it would have been refused"
        assert [one.target for one in new.incident.taking_back] == left
        wrote = [entry.event for entry in old.entries if isinstance(entry.event, ev.Intent)]
        assert {target.uid for target in left} <= {one.write.object.uid for one in wrote}
        assert [target.uid for target in left] == sorted((target.uid for target in left), reverse=True)


@MANY
@given(st.data(), st.sampled_from(list(Risk)))
def test_nothing_is_taken_back_without_an_approval_of_its_own(data: st.DataObject, risk: Risk) -> None:
    """Whatever was approved of the run itself, and whatever the step's own risk is."""
    for world in play(data, risk=risk).worlds[1:]:
        for entry in world.entries:
            if isinstance(entry.event, ev.Intent) and world.incident.taking_back:
                before = fold(world.entries[: entry.seq - 1], cluster="prod")
                assert before.approved_by == ONCALL
                assert before.request is not None
                assert before.rehearsal is not None
                assert before.request.hash == before.rehearsal.hash


@MANY
@given(st.data())
def test_no_key_is_ever_done_twice_along_a_chain(data: st.DataObject) -> None:
    done = [
        entry.event.key
        for world in play(data).worlds
        for entry in world.entries
        if isinstance(entry.event, ev.Outcome) and entry.event.result is ev.Result.DONE
    ]
    assert len(done) == len(set(done))


@MANY
@given(st.data())
def test_an_undo_is_never_undone_and_never_plans_another_round(data: st.DataObject) -> None:
    for world in play(data).worlds:
        if not world.incident.taking_back:
            continue
        assert not [entry for entry in world.entries if isinstance(entry.event, ev.Replanned | ev.ModelAsked)]
        if world.incident.state.terminal:
            again_ = again.begin("undo", world.entries, "inc-9", ONCALL, WHY)
            assert isinstance(again_, Refusal)
            assert again_.reason is Reason.CANNOT_UNDO


@MANY
@given(st.data())
def test_what_is_open_begins_nothing_and_what_has_ended_is_not_cancelled(data: st.DataObject) -> None:
    for world in play(data).worlds:
        for length in range(1, len(world.entries) + 1):
            now = fold(world.entries[:length], cluster="prod")
            if now.state.terminal:
                refused = again.cancel(now, ONCALL, WHY)
                assert isinstance(refused, Refusal)
            else:
                ways: tuple[again.Way, ...] = ("retry", "undo")
                for way in ways:
                    begun = again.begin(way, world.entries[:length], "inc-9", ONCALL, WHY)
                    assert isinstance(begun, Refusal)
                    assert begun.reason is Reason.STATE_CHANGED


@MANY
@given(st.data())
def test_what_is_cancelled_writes_nothing_more_wherever_in_the_chain(data: st.DataObject) -> None:
    for world in play(data).worlds:
        cancelled = next((entry.seq for entry in world.entries if isinstance(entry.event, ev.Cancelled)), None)
        if cancelled is None:
            continue
        after = [entry.event for entry in world.entries if entry.seq > cancelled]
        assert not [event for event in after if isinstance(event, ev.Intent | ev.StepBegun | ev.Asked | ev.Attempted)]
        assert sum(isinstance(entry.event, ev.Cancelled) for entry in world.entries) == 1


@MANY
@given(st.data())
def test_a_stop_holds_every_link_of_the_chain(data: st.DataObject) -> None:
    for world in play(data).worlds:
        for entry in world.entries:
            if isinstance(entry.event, ev.Intent):
                before = fold(world.entries[: entry.seq - 1], cluster="prod")
                assert not before.paused
                assert before.taken_by is None
                assert before.cancelled is None


@MANY
@given(st.data())
def test_a_retry_begins_with_the_same_alert_and_knows_of_no_approval(data: st.DataObject) -> None:
    for old, new in links(play(data)):
        first, again_ = old.entries[0].event, new.entries[0].event
        assert isinstance(first, ev.Opened)
        assert isinstance(again_, ev.Opened)
        assert (again_.alert, again_.identity, again_.episode) == (first.alert, first.identity, first.episode)
        begun = fold(new.entries[: 1 + bool(new.incident.taking_back)], cluster="prod")
        assert (begun.state, begun.approved_by, begun.request, begun.writes) == (State.OPENED, None, None, ())


def test_the_straight_chain_is_a_repair_its_undo_and_nothing_that_could_be_undone_after() -> None:
    answers = {"people": "nothing"}
    chain = Chain(lambda what, options: answers.get(what, options[0]))
    for way, ends in (("undo", State.RESOLVED), (None, State.RESOLVED)):
        for _ in range(40):
            answers["people"] = "approve" if chain.last.incident.state is State.ASKING else "nothing"
            chain.last.tick()
        assert chain.last.incident.state is ends, chain.last.incident.end
        if way == "undo":
            assert chain.ask("undo") is None
    refused = chain.ask("undo")
    assert refused is not None
    assert refused.reason is Reason.CANNOT_UNDO
    directions = [
        entry.event.direction for world in chain.worlds for entry in world.entries if isinstance(entry.event, ev.Intent)
    ]
    assert directions == [Direction.DO] * 4
