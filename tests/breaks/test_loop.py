"""The loop: what waits costs next to nothing, and hears of everything all the same."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.store import Store
from handrail.loop import SHORTEST_NAP, Reconciler
from handrail.model.errors import Damaged, Transient
from handrail.model.incident import Incident
from handrail.reconciler import NOW_AND_THEN
from tests.breaks.test_daemon import turn
from tests.breaks.worlds import alerted
from tests.reconciler.rig import LOCAL, Rig, Shop, asking, rig
from tests.store.places import behind

READING = ("incident", "switch", "with_switch", "open_work", "work_and_switch")


class Watched:
    """The store, and which of the loop's questions reached it; while `gate` is shut, what was read is not given yet."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.waits = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        if name in READING:
            self.read.append(name)
        return self._given_later if name == "with_switch" else getattr(self._store, name)

    async def _given_later(self, id_: str) -> Any:
        found = await self._store.with_switch(id_)
        self.waits.set()
        await self.gate.wait()
        return found


def watched(life: Rig) -> tuple[Watched, Reconciler]:
    store = Watched(life.tools.store)
    return store, Reconciler(replace(life.tools, store=store))  # type: ignore[arg-type]


async def question(shop: Shop, life: Rig) -> Incident:
    await alerted(shop, life)
    return await life.run(asking)


async def test_what_only_waits_is_read_once_and_not_at_each_look(shop: Shop, tmp_path: Path) -> None:
    """A hundred questions cost a list of them a look, and not a hundred journals."""
    async with rig(shop, tmp_path) as life:
        await question(shop, life)
        store, reconciler = watched(life)
        await turn(reconciler, 3)
        for _ in range(5):
            shop.clock.advance(NOW_AND_THEN)
            await turn(reconciler, 1)
        assert store.read == ["work_and_switch"] * 8
        await life.answer("reject")
        await turn(reconciler, 1)
        assert store.read[8:] == ["work_and_switch"], "it has ended: nothing is left to look at"


async def test_what_is_looked_at_now_and_then_shares_its_looks(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        reconciler = Reconciler(life.tools)
        dues = set()
        for _ in range(9):
            shop.clock.advance(1.0)
            wait = reconciler._with_the_others(NOW_AND_THEN)
            assert wait is not None
            assert NOW_AND_THEN - reconciler._longest < wait <= NOW_AND_THEN
            dues.add(round(life.tools.now().timestamp() + wait, 3))
        assert len(dues) <= 2
        assert reconciler._with_the_others(NOW_AND_THEN - 1) == NOW_AND_THEN - 1


async def test_what_falls_due_one_just_after_the_other_shares_a_look(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        reconciler = Reconciler(life.tools)
        reconciler._due = {"inc-a": life.tools.now(), "inc-b": life.tools.now()}
        assert reconciler._nap() == SHORTEST_NAP > 0


class Away(ClusterGatherer):
    """An API server that says when it wants to be asked again, which is when it is asked again."""

    def __init__(self, asked: list[datetime]) -> None:
        self.asked = asked

    async def gather(self, _target: Any, _alert: Any, now: datetime) -> Any:
        self.asked.append(now)
        raise Transient("too many requests", retry_after=60.0)


async def test_who_is_told_to_wait_waits_as_long(shop: Shop, tmp_path: Path) -> None:
    """Retry-After is no look now and then: it is not brought forward to share one."""
    async with rig(shop, tmp_path) as life:
        asked: list[datetime] = []
        config = life.tools.config.model_copy(update={"poll_seconds": 30.0})
        reconciler = Reconciler(replace(life.tools, gatherer=Away(asked), config=config))
        await alerted(shop, life)
        shop.clock.advance(30.0)
        for _ in range(150):
            await turn(reconciler, 1)
            shop.clock.advance(1.0)
        assert len(asked) > 1
        assert min((later - one).total_seconds() for one, later in itertools.pairwise(asked)) >= 60


async def test_a_press_while_it_is_looked_at_is_heard_and_then_it_is_quiet(shop: Shop, tmp_path: Path) -> None:
    """What was read before the press must not put it to sleep."""
    async with rig(shop, tmp_path) as life:
        await question(shop, life)
    async with rig(shop, tmp_path) as life:
        store, reconciler = watched(life)
        store.gate.clear()
        async with asyncio.TaskGroup() as group:
            await reconciler.start_due(group)
            await store.waits.wait()
            await life.desk.switch(True, LOCAL, "freeze")
            await reconciler.start_due(group)
            store.gate.set()
        await turn(reconciler, 1)
        assert (await life.the_incident()).paused
        await turn(reconciler, 1)
        told = len(store.read)
        await turn(reconciler, 5)
        assert store.read[told:] == ["work_and_switch"] * 5


async def test_a_journal_that_is_cut_off_while_its_incident_waits_is_named_until_it_is_mended(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        incident = await question(shop, life)
        reconciler = Reconciler(life.tools)
        await turn(reconciler, 2)
        last = (incident.id, incident.seq)
        hand = behind(tmp_path / "handrail.db")
        (row,) = hand.execute("SELECT * FROM journal WHERE incident = ? AND seq = ?", last).fetchall()
        hand.execute("DELETE FROM journal WHERE incident = ? AND seq = ?", last)
        shop.clock.advance(NOW_AND_THEN)
        await turn(reconciler, 1)
        assert incident.id in life.tools.store.unfit()
        with pytest.raises(Damaged):
            await life.tools.store.incident(incident.id)
        hand.execute(f"INSERT INTO journal VALUES ({', '.join('?' * len(row))})", row)
        shop.clock.advance(NOW_AND_THEN)
        await turn(reconciler, 1)
        assert life.tools.store.unfit() == {}
