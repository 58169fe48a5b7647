"""A storm without end: whoever may send alerts can keep one up, and an incident that is hurt must not wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.adapters.http import Reply
from handrail.adapters.telling import Teller
from handrail.core import storm
from handrail.effects.tick import Ticking
from handrail.model.errors import Transient
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.step import Risk, Step
from tests.breaks.test_telling import Channel
from tests.reconciler.rig import BAD, LOCAL, POLICY, Rig, Shop, asking, rig
from tests.reconciler.test_storm import body, make, minutes, others, page_of, told

WAIT = 6


@dataclass
class World:
    """A shop whose checkout is broken, and a stranger who keeps a storm up with names that he makes up."""

    life: Rig
    ticking: Ticking
    teller: Teller
    slack: Channel
    hook: Channel
    made_up: int = 0
    offset: int = 10

    async def hurt(self) -> Incident:
        """The one incident about an object that there is and that is not well."""
        (found,) = [one for one in await self.rows("checkout") if not one.state.terminal or one.end]
        return found

    async def rows(self, name: str) -> list[Incident]:
        store = self.life.tools.store
        ids = [row.id for row in await store.rows(1000) if row.target.endswith(f"/{name}")]
        return [found for id_ in ids if (found := await store.incident(id_)) is not None]

    async def flood(self, *, until_minutes: int) -> None:
        """Six new names in three minutes: as few as keep it up."""
        for _ in range(until_minutes):
            names = [f"made-up-{self.made_up + n}" for n in range(2)]
            self.made_up, self.offset = self.made_up + 2, self.offset + 1
            await self.life.take(body(*names), offset=self.offset)
            await minutes(self.life, self.ticking, self.teller, 1, seconds=30)

    async def ask(self, incident: Incident, verb: str) -> Reply:
        return await self.life.desk.ask(incident.id, verb, LOCAL, "orders are lost")


@asynccontextmanager
async def stormy(shop: Shop, folder: Path) -> AsyncIterator[World]:
    limit = {"targets": 5, "minutes": 3, "wait_minutes": WAIT}
    (folder / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "storm": limit}))
    await shop.roll_out(BAD)
    await shop.live(60)
    async with rig(shop, folder) as life:
        slack, hook = Channel(), Channel()
        teller = Teller(life.tools.store, slack, hook, life.tools.now)
        world = World(life, Ticking(life.tools), teller, slack, hook)
        await life.take(body("checkout", *(f"early-{n}" for n in range(8))))
        await minutes(life, world.ticking, teller, 1)
        yield world


async def test_in_a_storm_without_end_the_one_that_is_hurt_is_given_to_a_person_and_what_is_made_up_calls_nobody(
    shop: Shop, tmp_path: Path
) -> None:
    async with stormy(shop, tmp_path) as world:
        assert {one.state for one in await others(world.life)} == {State.GATHERING}
        await world.flood(until_minutes=WAIT + 3)
        page = await page_of_all(world)
        assert not page.state.terminal, "it still goes on"
        hurt = await world.hurt()
        assert hurt.state is State.HANDED_OVER
        assert hurt.end is not None
        assert hurt.end[0] is Reason.STORM
        assert hurt.end[1].startswith("the storm still goes on, and it has waited for 6")
        assert hurt.end[1].endswith(f"`handrail incidents retry {hurt.id} --reason TEXT` goes on with it")
        assert hurt.evidence, "looked at before it was given away"
        assert set(told(world.slack)) == {page.id, hurt.id}
        early = [one for n in range(8) for one in await world.rows(f"early-{n}")]
        assert {(one.state, one.end[0] if one.end else None) for one in early} == {(State.SUPPRESSED, Reason.STORM)}
        again = [line for line in world.slack.lines if "the storm still goes on after 6 min" in line]
        assert len(again) == 1
        assert "incidents wait for its end, longest of all inc-" in again[0]
        assert not hurt.done_writes


async def page_of_all(world: World) -> Incident:
    store = world.life.tools.store
    found = await store.incident(await store.storms.page(storm.page_of("demo")))
    assert found is not None
    return found


async def test_a_person_may_have_one_incident_gone_on_with_in_the_storm_and_only_that_one_is_written(
    shop: Shop, tmp_path: Path
) -> None:
    async with stormy(shop, tmp_path) as world:
        page = await page_of(world.life)
        assert "`handrail incidents retry ID --reason TEXT`" in told(world.slack)[page.id].next_action
        waits = await world.hurt()
        reply = await world.ask(waits, "retry")
        assert reply.ok, reply.message
        await world.flood(until_minutes=2)
        ended = await world.life.tools.store.incident(waits.id)
        assert ended is not None
        assert ended.end is not None
        assert (ended.state, ended.end[0]) == (State.HANDED_OVER, Reason.CANCELLED)
        (again,) = [one for one in await world.rows("checkout") if one.id != waits.id]
        assert asking(again), (again.state, again.end, again.waiting)
        assert again.request is not None
        await world.ticking.tick()
        fresh = await world.life.tools.store.incident(again.id)
        assert fresh is not None
        assert fresh.caution is None
        await world.life.desk.decide(again.id, "approve", LOCAL, again.request.id)
        await world.flood(until_minutes=4)
        assert not (await page_of_all(world)).state.terminal, "all in the storm"
        after = await world.life.tools.store.incident(again.id)
        assert after is not None
        assert after.state is State.RESOLVED, (after.state, after.end, after.failure)
        assert await shop.image() != BAD


class Mild:
    """A step that policy may let act by itself."""

    risk = Risk.REVERSIBLE

    def __init__(self, step: Step) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)


def by_itself(world: World, folder: Path) -> None:
    """From now on policy lets the hands undo rollouts without asking."""
    told = yaml.safe_load((folder / "policy.yaml").read_text())
    told["rules"] = [{"namespaces": ["shop"], "steps": {"rollout_undo": "act"}}]
    (folder / "policy.yaml").write_text(yaml.safe_dump(told))
    steps: Any = {name: Mild(step) for name, step in world.life.tools.steps.items()}
    world.life = Rig(replace(world.life.tools, steps=steps), world.life.shop)


async def test_in_a_storm_an_approver_is_asked_also_for_what_policy_lets_act_by_itself(
    shop: Shop, tmp_path: Path
) -> None:
    async with stormy(shop, tmp_path) as world:
        by_itself(world, tmp_path)
        waits = await world.hurt()
        assert (await world.ask(waits, "retry")).ok
        await world.flood(until_minutes=2)
        (again,) = [one for one in await world.rows("checkout") if one.id != waits.id]
        assert asking(again), (again.state, again.end)
        assert await shop.image() == BAD
        assert again.request is not None
        await world.life.desk.decide(again.id, "approve", LOCAL, again.request.id)
        await world.flood(until_minutes=4)
        (again,) = [one for one in await world.rows("checkout") if one.id != waits.id]
        assert again.state is State.RESOLVED
        assert again.approved_by == LOCAL


async def test_what_policy_cleared_before_a_storm_is_asked_about_in_it(shop: Shop, tmp_path: Path) -> None:
    async with stormy(shop, tmp_path) as world:
        by_itself(world, tmp_path)
        store, waits = world.life.tools.store, await world.hurt()
        assert (await world.ask(waits, "retry")).ok
        standing = await store.watching.standing()
        await store.watching.lift(standing[0].identity)
        again = await world.life.run(lambda one: one.follows is not None and one.state is State.EXECUTING)
        assert again.cleared_hash
        await store.watching.raise_(standing[0])
        asked = await world.life.run(lambda one: one.id == again.id and (asking(one) or bool(one.writes)))
        assert asking(asked)
        assert not asked.writes
        assert await shop.image() == BAD


async def test_retry_of_what_waits_for_nothing_is_refused_as_ever(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await shop.roll_out(BAD)
        await shop.live(60)
        await life.take(body("checkout"))
        incident = await life.run(asking)
        reply = await life.desk.ask(incident.id, "retry", LOCAL, "now")
        assert (reply.ok, reply.reason) == (False, Reason.STATE_CHANGED)


async def test_many_that_are_hurt_are_given_to_people_a_few_at_a_time(shop: Shop, tmp_path: Path) -> None:
    async with stormy(shop, tmp_path) as world:
        sick = [f"sick-{n}" for n in range(7)]
        await make(shop, *sick, image=BAD)
        await shop.live(60)
        await world.life.take(body(*sick), offset=5)
        await world.flood(until_minutes=WAIT + 2)
        found = [one for name in (*sick, "checkout") for one in await world.rows(name)]
        states = Counter(one.state for one in found)
        assert 0 < states[State.HANDED_OVER] <= storm.FEW + 1
        await world.flood(until_minutes=8)
        found = [one for name in (*sick, "checkout") for one in await world.rows(name)]
        assert Counter(one.state for one in found) == {State.HANDED_OVER: 8}


class Gone:
    """An API server that is away."""

    async def gather(self, *_: object) -> Any:
        raise Transient("no connection to the API server", retry_after=1.0)


async def test_while_the_api_server_is_away_in_a_storm_people_are_given_a_few_and_shown_no_others(
    shop: Shop, tmp_path: Path
) -> None:
    async with stormy(shop, tmp_path) as world:
        life, store = world.life, world.life.tools.store
        (standing,) = await store.watching.standing()
        await store.watching.raise_(standing.model_copy(update={"until": standing.until + timedelta(hours=1)}))
        gone: Any = Gone()
        world.life = Rig(replace(life.tools, gatherer=gone), life.shop)
        page = await page_of_all(world)
        await minutes(world.life, world.ticking, world.teller, WAIT + 9, seconds=30)
        assert set(told(world.slack)) == {page.id}, "what only waits is shown to nobody"
        await minutes(world.life, world.ticking, world.teller, 5, seconds=30)
        given = [one for one in await others(world.life) if one.state is State.HANDED_OVER]
        assert len(given) == storm.FEW
        assert {one.end for one in given} == {
            (Reason.SOURCE_AWAY, "it could not be looked at for too long: no connection to the API server")
        }
        assert set(told(world.slack)) == {page.id, *(one.id for one in given)}
        world.life = life
        await minutes(world.life, world.ticking, world.teller, 6, seconds=30)
        assert not [one for one in await others(world.life) if not one.state.terminal]


@pytest.mark.parametrize("webhook", [True, False])
async def test_a_storm_that_slack_slept_through_is_told_afterwards_and_by_the_second_channel_at_once(
    shop: Shop, tmp_path: Path, webhook: bool
) -> None:
    async with stormy(shop, tmp_path) as world:
        slack, hook = Channel(Transient("away", retry_after=5.0)), Channel(None if webhook else Transient("away"))
        world.teller = Teller(world.life.tools.store, slack, hook, world.life.tools.now)
        store = world.life.tools.store
        page = await page_of_all(world)
        await store.save_telling(page.id, (await store.telling(page.id)).model_copy(update={"ts": "", "told_seq": 0}))
        await minutes(world.life, world.ticking, world.teller, 5)
        ended = await store.incident(page.id)
        assert ended is not None
        assert ended.state is State.SUPPRESSED
        mine = [told["state"] for told in hook.payloads if told["incident"] == page.id]
        assert mine == (["opened", "SUPPRESSED"] if webhook else [])
        slack.away = None
        await minutes(world.life, world.ticking, world.teller, 2)
        card = told(slack)[page.id]
        assert card.status.startswith("Over: the storm is over since ")
        assert "9 alerts about 9 objects since " in card.status
        assert sum("storm is over" in line for line in slack.lines) == 1
