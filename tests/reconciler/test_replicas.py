"""Two replicas of the daemon's inside on one PostgreSQL: one write, whoever makes it, and nobody's incident is lost."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from handrail.adapters.claude import ModelFailed, ModelReply, ModelRequest
from handrail.adapters.slack.desk import Posted
from handrail.adapters.store import Duty, Store, Telling
from handrail.adapters.telling import Teller
from handrail.adapters.telling.away import StoreWatch
from handrail.adapters.telling.duty import DeskOnDuty, JournalsOnDuty
from handrail.cli.demo_alert import alert_as_otlp
from handrail.loop import Reconciler
from handrail.model.card import Card
from handrail.model.config import PlannerConfig, PlannerMode
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.sim.clock import ManualClock
from tests.breaks.worlds import alerted, lossy
from tests.factories import FakeTime
from tests.reconciler.rig import GOOD, Killed, Rig, Shop, ended, killed_after, rig
from tests.store.places import Template, behind, migrated


@pytest.fixture
def both(template: Template) -> str:
    """The URL of one database for two replicas."""
    return template.url(template.copy().name)


@pytest.mark.server
async def test_two_replicas_that_both_drive_end_with_one_write(shop: Shop, tmp_path: Path, both: str) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path, url=both) as one, rig(shop, tmp_path, url=both) as two:
        await alerted(shop, one)
        await asyncio.gather(*(lossy(life, applied).run(ended, approve=True) for life in (one, two)))
        incident = await one.the_incident()
        assert incident.state is State.RESOLVED, incident.end
        assert await shop.image() == GOOD
        assert len(applied) == 1
        assert (await one.tools.store.audit()).ok


@pytest.mark.server
@pytest.mark.parametrize("commits", [3, 8, 11, 12])
async def test_a_replica_that_dies_is_replaced_by_the_other_which_was_there_all_the_time(
    shop: Shop, tmp_path: Path, both: str, commits: int
) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path, url=both) as one, rig(shop, tmp_path, url=both) as two:
        await alerted(shop, one)
        with contextlib.suppress(Killed):
            await killed_after(lossy(one, applied), commits).run(ended, approve=True)
        incident = await lossy(two, applied).run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert len(applied) == 1


@pytest.mark.server
async def test_an_approval_may_come_in_on_any_replica(shop: Shop, tmp_path: Path, both: str) -> None:
    async with rig(shop, tmp_path, url=both) as one, rig(shop, tmp_path, url=both) as two:
        await alerted(shop, one)
        await one.run(lambda i: i.state is State.ASKING)
        assert (await two.answer("approve")).ok
        assert not (await one.answer("approve")).ok
        assert (await one.run(ended)).state is State.RESOLVED


@pytest.mark.server
async def test_the_loops_of_two_replicas_share_the_incidents_and_lose_none(
    shop: Shop, tmp_path: Path, both: str
) -> None:
    async with rig(shop, tmp_path, url=both) as one, rig(shop, tmp_path, url=both) as two:
        for number in range(12):
            value = alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)).replace(b"checkout", b"other%03d" % number)
            await (one, two)[number % 2].take(value, offset=number)
        loops = [asyncio.create_task(Reconciler(life.tools).run()) for life in (one, two)]
        for _ in range(600):
            await shop.live(1)
            if not await one.tools.store.open_ids():
                break
            await asyncio.sleep(0.05)
        for loop in loops:
            loop.cancel()
        await asyncio.wait(loops)
        assert await one.tools.store.open_ids() == ()
        assert {incident.state for incident in await one.incidents()} == {State.HANDED_OVER}
        assert (await one.tools.store.audit()).ok


@pytest.mark.server
async def test_a_loop_that_brought_it_as_far_as_a_question_holds_nothing_of_it(
    shop: Shop, tmp_path: Path, both: str
) -> None:
    """What it knows of it from memory, so that nothing is read, is no reason to keep it from the others."""
    async with rig(shop, tmp_path, url=both) as one, rig(shop, tmp_path, url=both) as two:
        await alerted(shop, one)
        reconciler = Reconciler(one.tools)
        for _ in range(30):
            async with asyncio.TaskGroup() as group:
                await reconciler.start_due(group)
            incident = await one.the_incident()
            if incident.state is State.ASKING:
                break
            await shop.live(2)
        assert incident.state is State.ASKING
        async with asyncio.TaskGroup() as group:
            await reconciler.start_due(group)
        assert incident.id in await two.tools.store.open_work()
        assert (await two.answer("approve")).ok
        for _ in range(3):
            async with asyncio.TaskGroup() as group:
                await Reconciler(two.tools).start_due(group)
        assert (await two.the_incident()).writes, "the first is dead, and nobody waits for the end of its lease"


class Answers:
    """A model whose calls are counted; the process dies while the first one is in flight."""

    def __init__(self, dies: bool) -> None:
        self.asked: list[str] = []
        self._dies = dies

    async def call(self, request: ModelRequest) -> ModelReply | ModelFailed:
        self.asked.append(request.hash)
        if self._dies and len(self.asked) == 1:
            raise Killed
        return ModelReply(raw="this is no plan", input_tokens=100, output_tokens=5, stop_reason="end_turn")


async def test_a_model_call_in_flight_at_a_crash_is_repeated_once_and_a_recorded_one_never(
    shop: Shop, tmp_path: Path, url: str
) -> None:
    model, by_model = Answers(dies=True), PlannerConfig(mode=PlannerMode.MODEL)
    async with rig(shop, tmp_path, url=url, model=model, planner=by_model) as life:
        await alerted(shop, life)
        with contextlib.suppress(Killed):
            await life.run(ended)
    for _ in range(2):
        async with rig(shop, tmp_path, url=url, model=model, planner=by_model) as life:
            incident = await life.run(ended)
            assert incident.state is State.HANDED_OVER
            assert len(model.asked) == 2
            assert len(set(model.asked)) == 1
            assert incident.model_calls[0].times == 2


@dataclass
class Slack:
    said: list[str] = field(default_factory=list)

    async def show(self, card: Card, where: Posted | None) -> Posted:
        self.said.append(f"{'changed' if where else 'new'} {card.incident}")
        return where or Posted(channel="C1", ts=str(len(self.said)))

    async def say(self, where: Posted, line: str) -> None:
        self.said.append(line)

    async def notice(self, text: str, where: Posted | None) -> None:
        self.said.append(text)


def teller(store: Store, slack: Slack, clock: ManualClock) -> Teller:
    return Teller(JournalsOnDuty(store, store), DeskOnDuty(slack, store), None, clock.now)


@pytest.mark.server
async def test_two_replicas_tell_people_once_and_the_second_goes_on_when_the_first_is_gone(
    shop: Shop, tmp_path: Path, both: str
) -> None:
    slack = Slack()
    async with rig(shop, tmp_path, url=both) as two:
        async with rig(shop, tmp_path, url=both) as one:
            await alerted(shop, one)
            await one.run(lambda i: i.state is State.ASKING)
            tellers = [teller(life.tools.store, slack, shop.clock) for life in (one, two)]
            for _ in range(3):
                await asyncio.gather(*(each.tell_all() for each in tellers))
            assert sum(line.startswith("new") for line in slack.said) == 1
            assert len(slack.said) == len(set(slack.said))
            incident = await one.the_incident()
            assert await two.tools.store.untold() == ()
        told = len(slack.said)
        await two.run(ended, approve=True)
        await tellers[1].tell_all()
        assert len(slack.said) > told
        assert sum(line.startswith("new") for line in slack.said) == 1
        assert (await two.tools.store.telling(incident.id)) != Telling()
        assert await two.tools.store.on_duty(Duty.TELLING)


@dataclass
class Hook:
    sent: list[str] = field(default_factory=list)

    async def send(self, payload: object) -> None:
        assert isinstance(payload, dict)
        self.sent.append(str(payload["state"]))


async def test_a_store_that_is_away_is_said_by_webhook_once_and_so_is_its_return(tmp_path: Path) -> None:
    time, hook = FakeTime(), Hook()
    store = await Store.open(f"sqlite:///{migrated(tmp_path / 'h.db')}", cluster="demo", clock=time)
    watch = StoreWatch(store.ping, hook, store.replica, time)
    await watch.look()
    await store.close()
    for _ in range(6):
        await watch.look()
        time.later(seconds=10)
    assert hook.sent == ["store_away"]
    back = await Store.open(f"sqlite:///{migrated(tmp_path / 'h.db')}", cluster="demo", clock=time)
    watch._ping = back.ping
    for _ in range(3):
        await watch.look()
    assert hook.sent == ["store_away", "store_back"]
    await back.close()


async def test_a_short_restart_of_the_database_calls_nobody(tmp_path: Path) -> None:
    time, hook = FakeTime(), Hook()
    store = await Store.open(f"sqlite:///{migrated(tmp_path / 'h.db')}", cluster="demo", clock=time)
    await store.close()
    watch = StoreWatch(store.ping, hook, "", time)
    await watch.look()
    time.later(seconds=5)
    await watch.look()
    assert hook.sent == []


class Waits:
    """A model that answers when it is let: `asked` says that it was."""

    def __init__(self, answer: ModelReply | ModelFailed) -> None:
        self._answer = answer
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    async def call(self, _request: ModelRequest) -> ModelReply | ModelFailed:
        self.asked.set()
        await self.may.wait()
        return self._answer


@pytest.mark.server
async def test_a_call_that_failed_on_a_replaced_replica_ends_nothing_that_its_successor_asks(
    shop: Shop, tmp_path: Path, template: Template
) -> None:
    """It is frozen beyond its lease while the model thinks; its successor repeats the call, once and within budget."""
    database, planner = template.copy(), PlannerConfig(mode=PlannerMode.MODEL)
    both = template.url(database.name)
    failed = Waits(ModelFailed(reason=Reason.MODEL_AWAY, detail="no answer", spent=True, retry_after=10.0))
    prose = Waits(ModelReply(raw="this is no plan", input_tokens=1, output_tokens=1, stop_reason="end_turn"))
    async with (
        rig(shop, tmp_path, url=both, model=failed, planner=planner) as one,
        rig(shop, tmp_path, url=both, model=prose, planner=planner) as two,
    ):
        await alerted(shop, one)
        (id_,) = await one.tools.store.open_ids()
        before = asyncio.create_task(one.run(lambda i: len(i.model_calls) > 0 and i.model_calls[0].answered))
        await asyncio.wait_for(failed.asked.wait(), 30)
        frozen(one, id_)
        behind(database).execute("UPDATE incidents SET lease_until = now() - interval '1 s'")
        after = asyncio.create_task(two.run(ended))
        await asyncio.wait_for(prose.asked.wait(), 30)
        failed.may.set()
        known = await before
        assert not known.state.terminal, known.end
        prose.may.set()
        over = await after
        assert over.end is not None
        assert over.model_calls[0].raw, "what its successor heard is what counts"
        assert over.model_calls[0].times == 2


def frozen(life: Rig, id_: str) -> None:
    """It renews nothing any more."""
    leases = life.tools.store._database.leases
    assert leases is not None
    leases.forget(id_)
