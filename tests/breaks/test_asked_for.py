"""Cancel, retry and undo: what a person asks for about a whole incident, and what both journals say of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handrail.adapters.http import Reply
from handrail.cli.demo_alert import alert_as_otlp
from handrail.core.card import card
from handrail.core.report import report
from handrail.core.story import line
from handrail.model import events as ev
from handrail.model.approval import Person
from handrail.model.incident import TERMINAL, Incident, State
from handrail.model.reason import Reason
from handrail.model.switch import Reach, Scope
from tests.breaks.guards import SHOP, guarded
from tests.breaks.worlds import alerted, gloomy, lossy, pass_by
from tests.reconciler.rig import BAD, GOOD, LOCAL, Killed, Rig, Shop, asking, ended, killed_after, rig

STRANGER = Person(via="slack", name="U0STRANGER")
LATER = 31 * 60
"""Beyond the interval between two sagas on one target."""


async def asked(life: Rig, verb: str, why: str = "because", person: Person = LOCAL) -> Reply:
    first = next(i for i in await life.incidents() if i.follows is None)
    return await life.desk.ask(first.id, verb, person, why)


async def newest(life: Rig) -> Incident:
    return next(i for i in await life.incidents() if i.follows is not None)


async def until(life: Rig, *states: State) -> Incident:
    """Of the incident that was begun from the first one; where asking is not waited for, its question is answered with
    yes."""
    while True:
        found = await life.run(lambda i: i.follows is not None and i.state in (*states, State.ASKING))
        if found.state in states:
            return found
        await approve(life)


async def approve(life: Rig) -> None:
    begun = await newest(life)
    assert begun.request is not None
    reply = await life.desk.decide(begun.id, "approve", LOCAL, begun.request.id)
    assert reply.ok, reply.message


async def resolved(shop: Shop, life: Rig) -> Incident:
    await alerted(shop, life)
    done = await life.run(ended, approve=True)
    assert done.state is State.RESOLVED, done.end
    return done


async def told(life: Rig, id_: str) -> list[str]:
    return [said for entry in await life.tools.store.entries(id_) if (said := line(entry))]


# cancel


@pytest.mark.parametrize("state", [State.GATHERING, State.REHEARSING, State.ASKING, State.VERIFYING])
async def test_cancelled_in_any_state_it_is_handed_over_with_what_is_half_done(
    shop: Shop, tmp_path: Path, state: State
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(lambda i: i.state is state, approve=True)
        reply = await asked(life, "cancel", "known, rolled back by hand")
        assert reply.ok, reply.message
        over = await life.run(ended)
        assert (over.state, over.end) == (
            State.HANDED_OVER,
            (Reason.CANCELLED, "cancelled by local:tester: known, rolled back by hand"),
        )
        assert "local:tester cancelled it: known, rolled back by hand." in await told(life, over.id)
        half = "Done so far: " if state is State.VERIFYING else "Nothing has been changed."
        assert half in card(over, shop.clock.now()).status
        again = await asked(life, "cancel")
        assert (again.ok, again.reason) == (False, Reason.STATE_CHANGED)


async def test_cancelled_under_a_stop_it_ends_all_the_same(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await life.desk.switch(True, LOCAL, "freeze")
        await life.run(lambda i: i.paused)
        assert (await asked(life, "cancel")).ok
        assert (await life.run(ended)).state is State.HANDED_OVER


async def test_cancelled_while_a_write_is_in_flight_it_is_found_out_first_and_nothing_is_sent_again(
    shop: Shop, tmp_path: Path
) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        losing = lossy(life, applied, before=frozenset({1}))
        await losing.run(lambda i: i.open_write is not None, approve=True)
        reply = await asked(losing, "cancel")
        assert "what is in flight is found out first" in reply.message
        over = await pass_by(losing, ended, minutes=60)
        assert (over.state, over.open_write, applied) == (State.HANDED_OVER, None, [])


async def test_an_approval_after_the_cancel_is_refused(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await asked(life, "cancel")
        late = await life.answer("approve")
        assert (late.ok, late.reason) == (False, Reason.CANCELLED)


# who may


@pytest.mark.parametrize("verb", ["cancel", "retry", "undo"])
async def test_nobody_asks_but_who_the_policy_names_and_never_without_a_reason(
    shop: Shop, tmp_path: Path, verb: str
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        refused = await asked(life, verb, person=STRANGER)
        assert (refused.ok, refused.reason) == (False, Reason.NOT_AN_APPROVER)
        silent = await asked(life, verb, "  ")
        assert not silent.ok
        assert "--reason" in silent.message
        assert (await life.the_incident()).state is State.ASKING


@pytest.mark.parametrize("verb", ["retry", "undo"])
async def test_what_is_open_is_neither_tried_again_nor_taken_back(shop: Shop, tmp_path: Path, verb: str) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        reply = await asked(life, verb)
        assert (reply.ok, reply.reason) == (False, Reason.STATE_CHANGED)
        assert len(await life.incidents()) == 1


# retry


async def test_a_retry_is_another_incident_of_the_same_alert_linked_both_ways(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await life.answer("reject")
        old = await life.run(ended)
        before = old.seq
        reply = await asked(life, "retry", "the registry is back")
        assert reply.ok, reply.message
        begun = await newest(life)
        assert (begun.alert, begun.identity, begun.episode) == (old.alert, old.identity, old.episode)
        assert begun.labelled is not None
        assert old.target is not None
        assert (begun.labelled.kind, begun.labelled.name) == (old.target.kind, old.target.name)
        closed = await life.tools.store.incident(old.id)
        assert closed is not None
        assert (closed.state, closed.end, closed.seq) == (old.state, old.end, before + 1), "terminal is terminal"
        assert (await told(life, old.id))[-1] == (f"local:tester began another try, {begun.id}: the registry is back.")
        assert (await told(life, begun.id))[0].startswith(
            f"local:tester asked for another try of {old.id}: the registry is back. Opened for the alert "
        )
        second = await asked(life, "retry")
        assert (second.ok, second.reason) == (False, Reason.TARGET_BUSY), "one open per target, as always"
        done = await until(life, State.RESOLVED)
        assert await shop.image() == GOOD
        assert done.id == begun.id
        assert (await life.tools.store.audit()).ok


async def test_a_retry_of_what_is_well_is_closed_at_once_and_writes_nothing(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        assert (await asked(life, "retry")).ok
        closed = await until(life, State.SUPPRESSED)
        assert closed.end is not None
        assert closed.end[0] is Reason.NOTHING_WRONG


async def test_two_retries_at_once_begin_one(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await life.answer("reject")
        await life.run(ended)
        replies = await asyncio.gather(*(asked(life, "retry") for _ in range(3)))
        assert [reply.ok for reply in replies].count(True) == 1
        assert len(await life.incidents()) == 2


# undo


async def test_an_undo_is_shown_asked_and_takes_back_what_the_run_did(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        old = await resolved(shop, life)
        assert await shop.image() == GOOD
        assert f"`handrail incidents undo {old.id} --reason TEXT`" in card(old, shop.clock.now()).next_action
        assert (await asked(life, "undo", "the old release lacks a fix")).ok
        waiting = await until(life, State.ASKING)
        assert await shop.image() == GOOD, "nothing before a person has approved"
        shown = card(waiting, shop.clock.now())
        assert BAD in shown.diff
        assert shown.request
        assert shown.actions[0].startswith("1. take back: ")
        assert any("the old release lacks a fix" in line_ for line_ in shown.diagnosis)
        await approve(life)
        done = await until(life, State.RESOLVED)
        assert await shop.image() == BAD
        assert [run.intent.write.key.split("/")[0] for run in done.writes] == [done.id]
        closed = await life.tools.store.incident(old.id)
        assert closed is not None
        assert (closed.state, closed.moved_at) == (State.RESOLVED, old.moved_at)
        assert any(f"asked to take it back, as {done.id}" in said for said in await told(life, old.id))
        text = report(done, await life.tools.store.entries(done.id))
        assert "the old release lacks a fix" in text
        assert (await life.tools.store.audit()).ok


async def test_an_undo_that_nobody_approves_writes_nothing(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        await asked(life, "undo")
        waiting = await until(life, State.ASKING)
        assert waiting.request is not None
        await life.desk.decide(waiting.id, "reject", LOCAL, waiting.request.id)
        await until(life, State.HANDED_OVER)
        assert await shop.image() == GOOD


async def test_what_somebody_has_touched_since_is_not_taken_back(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
        await asked(life, "undo")
        over = await until(life, State.HANDED_OVER)
        assert over.end is not None
        assert over.end[0] is Reason.CANNOT_UNDO
        assert "somebody has changed" in over.end[1]
        assert await shop.image() == GOOD


async def test_touched_after_the_card_of_the_undo_nothing_is_written(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        await asked(life, "undo")
        await until(life, State.ASKING)
        await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
        await approve(life)
        over = await until(life, State.HANDED_OVER)
        assert over.writes == ()
        assert await shop.image() == GOOD


async def test_what_left_nothing_in_place_and_an_undo_itself_are_not_undone(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await gloomy(life).run(ended, approve=True)
        nothing = await asked(life, "undo")
        assert (nothing.ok, nothing.reason) == (False, Reason.CANNOT_UNDO)


async def test_an_undo_is_not_undone(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        await asked(life, "undo")
        await until(life, State.ASKING)
        await approve(life)
        undo = await until(life, State.RESOLVED)
        reply = await life.desk.ask(undo.id, "undo", LOCAL, "again")
        assert (reply.ok, reply.reason) == (False, Reason.CANNOT_UNDO)


@pytest.mark.parametrize("reach", [SHOP, Reach(scope=Scope.STEP, name="rollout_undo")], ids=str)
async def test_a_stop_holds_an_undo_too(shop: Shop, tmp_path: Path, reach: Reach) -> None:
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        await asked(life, "undo")
        await until(life, State.ASKING)
        await approve(life)
        await life.desk.switch(True, LOCAL, "freeze", reach)
        await life.run(lambda i: i.paused)
        await shop.live(60)
        assert await shop.image() == GOOD
        await life.desk.switch(False, LOCAL, "", reach)
        await until(life, State.RESOLVED)
        assert await shop.image() == BAD


async def test_an_undo_that_the_cluster_refuses_latches_and_goes_on_after_start(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as plain:
        await resolved(shop, plain)
        life, hands = guarded(plain, annotated=True)
        await asked(life, "undo")
        await life.run(lambda i: i.paused)
        assert len(hands.refused) == 1
        hands.annotated = False
        await life.desk.switch(False, LOCAL, "", SHOP)
        await until(life, State.ASKING)


async def test_the_alert_that_fires_again_after_an_undo_opens_another_one_later(shop: Shop, tmp_path: Path) -> None:
    """What the undo brought back is trouble again: it is nobody's secret."""
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        await asked(life, "undo")
        await until(life, State.ASKING)
        await approve(life)
        await until(life, State.RESOLVED)
        await shop.live(LATER)
        await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)), offset=7)
        assert len(await life.incidents()) == 3


@pytest.mark.parametrize("commits", range(1, 12))
async def test_killed_after_any_commit_an_undo_is_done_once(shop: Shop, tmp_path: Path, commits: int) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await resolved(shop, life)
        await asked(life, "undo")
    async with rig(shop, tmp_path) as life:
        dying = killed_after(lossy(life, applied), commits)
        try:
            await until(dying, *TERMINAL)
        except Killed:
            pass
    async with rig(shop, tmp_path) as life:
        done = await until(lossy(life, applied), *TERMINAL)
        assert done.state is State.RESOLVED, done.end
        assert len(applied) == 1
        assert await shop.image() == BAD
        kinds = [entry.event.kind for entry in await life.tools.store.entries(done.id)]
        assert kinds[:2] == ["opened", "taking_back"]
        assert [kind for kind in kinds if kind == "intent"] == ["intent"]


def test_the_events_of_people_carry_a_name_and_a_reason() -> None:
    for event in (
        ev.Cancelled(by=LOCAL, why="w"),
        ev.Retried(by=LOCAL, why="w", into="inc-b"),
        ev.UndoAsked(by=LOCAL, why="w", into="inc-b"),
    ):
        assert ev.read(ev.dump(event)) == event
