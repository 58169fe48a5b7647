"""Budgets and freezes on the whole path: who is asked, what waits, what is written, and what people are told."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from structlog.testing import capture_logs

from handrail.core.card import card
from handrail.core.story import line
from handrail.effects.tick import Ticking
from handrail.loop import Reconciler, on_tick
from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.write import Direction
from handrail.reconciler import advance
from tests.breaks.test_again import Monitoring
from tests.breaks.test_daemon import spoil
from tests.breaks.worlds import alerted, gloomy, pass_by
from tests.factories import ONCALL, a_target, an_alert, story_to
from tests.reconciler.rig import BAD, GOOD, LOCAL, POLICY, Rig, Shop, asking, ended, rig
from tests.store.driving import arrive, drive, newest

WORSE_STILL = "registry.example/checkout:1.6.0-crash"
AT_ONCE_ONE = {"at_once": 1}


def ruled(folder: Path, **more: Any) -> None:
    (folder / "policy.yaml").write_text(yaml.safe_dump({**POLICY, **more}))


def freeze(begins: datetime, minutes: float, **more: Any) -> dict[str, Any]:
    window = {"from": begins.isoformat(), "until": (begins + timedelta(minutes=minutes)).isoformat()}
    return {"name": "year-end", "reason": "the books are closed", **window, **more}


async def told(life: Rig, id_: str) -> list[str]:
    return [said for entry in await life.tools.store.entries(id_) if (said := line(entry))]


async def kinds(life: Rig, id_: str) -> list[str]:
    return [entry.event.kind for entry in await life.tools.store.entries(id_)]


async def approve(life: Rig, incident: Incident) -> None:
    assert incident.request is not None
    reply = await life.desk.decide(incident.id, "approve", LOCAL, incident.request.id)
    assert reply.ok, reply.message


# freezes


async def test_in_a_long_freeze_nobody_is_asked_and_a_person_has_the_plan(shop: Shop, tmp_path: Path) -> None:
    ruled(tmp_path, freezes=[freeze(shop.clock.now(), 24 * 60)])
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        over = await life.run(ended)
        assert over.end is not None
        reason, detail = over.end
        assert reason is Reason.FROZEN
        assert "the freeze 'year-end' stands until" in detail
        assert "the books are closed; else it would ask to do this: undo the rollout" in detail
        assert "asked" not in await kinds(life, over.id)
        assert card(over, shop.clock.now()).diff
        assert await shop.image() == BAD


async def test_the_end_of_a_freeze_that_is_near_is_waited_for_and_then_it_is_asked(shop: Shop, tmp_path: Path) -> None:
    begins = shop.clock.now()
    ruled(tmp_path, freezes=[freeze(begins, 12)])
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        waiting = await life.run(lambda i: i.waiting is not None)
        assert waiting.waiting is not None
        assert (waiting.waiting.reason, waiting.waiting.until) == (Reason.FROZEN, begins + timedelta(minutes=12))
        assert "FROZEN: the freeze 'year-end' stands until" in card(waiting, shop.clock.now()).status
        asked = await pass_by(life, asking, minutes=15)
        await approve(life, asked)
        assert (await life.run(ended)).state is State.RESOLVED
        assert await shop.image() == GOOD


async def test_a_freeze_of_another_namespace_holds_nothing_here(shop: Shop, tmp_path: Path) -> None:
    ruled(tmp_path, freezes=[freeze(shop.clock.now(), 24 * 60, namespaces=["bank"])])
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        assert (await life.run(ended, approve=True)).state is State.RESOLVED


async def test_who_is_asked_is_told_that_a_freeze_has_begun_and_that_it_is_over(shop: Shop, tmp_path: Path) -> None:
    ruled(tmp_path)
    async with rig(shop, tmp_path) as life:
        ticking = Ticking(life.tools)
        await alerted(shop, life)
        asked = await life.run(asking)
        ruled(tmp_path, freezes=[freeze(shop.clock.now(), 5)])
        for _ in range(3):
            await on_tick(ticking)
        cautioned = await life.the_incident()
        assert "An approval now would be refused: FROZEN" in card(cautioned, shop.clock.now()).status
        shop.clock.advance(5 * 60)
        await on_tick(ticking)
        assert (await life.the_incident()).caution is None
        said = [entry.event for entry in await life.tools.store.entries(asked.id) if entry.event.kind == "cautioned"]
        assert [getattr(event, "reason", "") for event in said] == [Reason.FROZEN, None]
        assert "What would have refused an approval is over." in await told(life, asked.id)


async def test_an_approval_in_a_freeze_writes_nothing_and_is_asked_anew_when_it_is_over(
    shop: Shop, tmp_path: Path
) -> None:
    ruled(tmp_path)
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        asked = await life.run(asking)
        ruled(tmp_path, freezes=[freeze(shop.clock.now(), 14)])
        await approve(life, asked)
        held = await life.run(lambda i: i.waiting is not None)
        assert await shop.image() == BAD
        assert not [kind for kind in await kinds(life, held.id) if kind == "intent"]
        again = await pass_by(life, asking, minutes=20)
        await approve(life, again)
        assert (await life.run(ended)).state is State.RESOLVED


async def test_what_runs_when_a_freeze_begins_is_watched_and_taken_back_all_the_same(
    shop: Shop, tmp_path: Path
) -> None:
    ruled(tmp_path)
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await gloomy(life).run(lambda i: i.state is State.VERIFYING, approve=True)
        ruled(tmp_path, freezes=[freeze(shop.clock.now(), 24 * 60)])
        over = await gloomy(life).run(ended)
        assert "what was done has been taken back" in (over.end or ("", ""))[1]
        assert await shop.image() == BAD
        wrote = [e.event.direction for e in await life.tools.store.entries(over.id) if isinstance(e.event, ev.Intent)]
        assert wrote == [Direction.DO, Direction.UNDO]


async def test_a_person_has_a_run_taken_back_in_a_freeze(shop: Shop, tmp_path: Path) -> None:
    ruled(tmp_path)
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        first = await life.run(ended, approve=True)
        ruled(tmp_path, freezes=[freeze(shop.clock.now(), 24 * 60)])
        assert (await life.desk.ask(first.id, "undo", LOCAL, "the old release lacks a fix")).ok
        asked = await life.run(lambda i: i.follows is not None and asking(i))
        await on_tick(Ticking(life.tools))
        assert (await life.tools.store.incident(asked.id)) == asked, "nothing would refuse it"
        await approve(life, asked)
        await life.run(lambda i: i.follows is not None and ended(i))
        assert await shop.image() == BAD


async def test_the_status_says_which_freezes_stand_and_what_is_taken_from_the_budget(
    shop: Shop, tmp_path: Path
) -> None:
    now = shop.clock.now()
    later = freeze(now + timedelta(days=1), 60)
    bank = freeze(now, 60, namespaces=["bank"], name="audit")
    ruled(tmp_path, freezes=[bank, later])
    async with rig(shop, tmp_path) as life:
        assert (await life.desk.status())["lines"][1:] == [_frozen(now), "0 open incidents"]
        await alerted(shop, life)
        await life.run(lambda i: i.state is State.VERIFYING, approve=True)
        status = await life.desk.status()
        assert [one["name"] for one in status["freezes"]] == ["audit"]
        assert status["lines"] == [
            "not stopped",
            _frozen(now),
            "runs begun in the last 60 minutes: 1 of 10; at work now: 1 of 3",
            "1 open incident",
        ]


def _frozen(now: datetime) -> str:
    end = now + timedelta(minutes=60, seconds=59)
    return f"FROZEN: bank: the freeze 'audit' stands until {end:%Y-%m-%d %H:%M} UTC: the books are closed"


# budgets


async def test_a_budget_that_is_spent_gives_the_next_one_to_a_person_with_the_plan(shop: Shop, tmp_path: Path) -> None:
    ruled(tmp_path, saga_interval_minutes=1, budgets={"per_target": {"most": 1}})
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        first = await life.run(ended, approve=True)
        assert first.state is State.RESOLVED
    async with rig(shop, tmp_path) as life:
        shop.clock.advance(60)
        await shop.roll_out(GOOD + "-next")
        await shop.live(30)
        await shop.roll_out(WORSE_STILL)
        await shop.live(30)
        await Monitoring(shop, life).says("firing")
        second = await life.run(lambda i: i.id != first.id and ended(i))
        assert second.end is not None
        reason, detail = second.end
        assert reason is Reason.BUDGET_SPENT, second.end
        assert "1 run on Deployment shop/checkout within 1 d is the budget (per_target), and spent" in detail
        assert "or a person acts; else it would ask to do this: undo the rollout" in detail
        assert "asked" not in await kinds(life, second.id)


async def test_an_approval_waits_for_its_turn_says_so_once_and_acts_when_a_hand_is_free(
    shop: Shop, tmp_path: Path
) -> None:
    ruled(tmp_path, budgets=AT_ONCE_ONE)
    async with rig(shop, tmp_path) as life:
        other = await at_work(life)
        mine = await approved_beside(life, other)
        waiting = await life.run(lambda i: i.id == mine.id and i.caution is not None)
        said = f"it waits for its turn: HANDS_BUSY: 1 incident at once may write (at_once), and {other.id} still do"
        assert said in card(waiting, shop.clock.now()).status
        assert not waiting.writes
        assert await one_look(life) == [], "said once, in the journal"
        await gives_its_place(life, other)
        done = await life.run(lambda i: i.id == mine.id and ended(i))
        assert done.state is State.RESOLVED
        assert (await kinds(life, mine.id)).count("cautioned") == 1


async def test_what_was_before_is_what_was_when_the_turn_came_however_long_that_took(
    shop: Shop, tmp_path: Path
) -> None:
    """Else a repair that helps is measured by an older world. Older builds began a step before its turn."""
    ruled(tmp_path, budgets=AT_ONCE_ONE)
    async with rig(shop, tmp_path) as life:
        other = await at_work(life)
        mine = await approved_beside(life, other)
        waiting = await life.run(lambda i: i.id == mine.id and i.caution is not None)
        assert "step_begun" not in await kinds(life, mine.id)
        older = ev.StepBegun(step=0, before={"ready": 99})
        await life.tools.store.append(waiting, (older,))
        await gives_its_place(life, other)
        done = await life.run(lambda i: i.id == mine.id and ended(i))
        entries = await life.tools.store.entries(mine.id)
        begun = [entry for entry in entries if isinstance(entry.event, ev.StepBegun)]
        (intent,) = [entry for entry in entries if isinstance(entry.event, ev.Intent)]
        assert begun[0].event == older
        assert (begun[-1].seq, begun[-1].at) == (intent.seq - 1, intent.at)
        assert done.steps[0].before == begun[-1].event.before != older.before  # type: ignore[union-attr]
        assert done.state is State.RESOLVED


async def one_look(life: Rig) -> list[str]:
    """What the loop logs of it."""
    with capture_logs() as logged:
        async with asyncio.TaskGroup() as group:
            await Reconciler(life.tools).start_due(group)
    return [str(line) for line in logged]


async def at_work(life: Rig) -> Incident:
    """Another incident that has written and is in a person's hands."""
    store, now = life.tools.store, life.shop.clock.now()
    id_ = await arrive(store, an_alert(workload="cart", cluster="demo", starts_at=now, seen_at=now), offset=900)
    there = await drive(store, await newest(store, id_), story_to(State.VERIFYING, id_, a_target("cart"), now))
    return await store.append(there, (ev.Taken(by=ONCALL),))


async def approved_beside(life: Rig, other: Incident) -> Incident:
    await alerted(life.shop, life)
    mine = await life.run(lambda i: i.id != other.id and asking(i))
    await approve(life, mine)
    return mine


async def gives_its_place(life: Rig, other: Incident) -> None:
    held = await life.tools.store.incident(other.id)
    assert held is not None
    await life.tools.store.append(held, (ev.HandedOver(reason=Reason.CANCELLED, detail="as the test says"),))


async def test_a_turn_that_does_not_come_while_the_approval_holds_ends_with_a_person(
    shop: Shop, tmp_path: Path
) -> None:
    ruled(tmp_path, budgets=AT_ONCE_ONE, approval_minutes=5)
    async with rig(shop, tmp_path) as life:
        other = await at_work(life)
        mine = await approved_beside(life, other)
        over = await life.run(lambda i: i.id == mine.id and ended(i))
        assert over.end is not None
        assert over.end[0] is Reason.APPROVAL_EXPIRED
        assert f"its turn never came: 1 incident at once may write (at_once), and {other.id} still do" in over.end[1]
        assert await shop.image() == BAD


async def test_one_whose_journal_is_damaged_in_the_middle_of_its_run_takes_nobodys_turn(
    shop: Shop, tmp_path: Path
) -> None:
    ruled(tmp_path, budgets=AT_ONCE_ONE)
    async with rig(shop, tmp_path) as life:
        other = await at_work(life)
    spoil(tmp_path, other.id, "{not json")
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        (mine,) = [id_ for id_ in await life.tools.store.open_ids() if id_ != other.id]
        status = await on_its_way(life, mine)
        assert status.state is State.RESOLVED, (status.end, status.caution)


async def on_its_way(life: Rig, id_: str) -> Incident:
    """Until it has ended, approved as soon as it is asked."""
    for _ in range(200):
        wait = await advance(life.tools, id_)
        found = await life.tools.store.incident(id_)
        assert found is not None
        if ended(found):
            return found
        if asking(found):
            await approve(life, found)
        await life.shop.live(min(wait or 0.0, 10.0))
    raise AssertionError(f"time is up for {id_}")
