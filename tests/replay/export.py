"""`python -m tests.replay.export v0.1.0`: the journals of a release, from its own code on the simulated cluster.

Run once, when a version is released; what is there already is left alone.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from handrail.adapters.store import Store
from handrail.adapters.store.journal import AS_STORED
from handrail.adapters.store.schema import SYSTEM, journal
from handrail.cli.demo_alert import alert_as_otlp
from handrail.model import events as ev
from handrail.model.approval import Person
from handrail.model.incident import State
from handrail.sim.clock import ManualClock
from handrail.sim.simulator import Simulator
from tests.breaks.worlds import alerted, gloomy, lossy
from tests.factories import CLUSTER as ALERTS_CLUSTER
from tests.factories import FakeTime, a_target, gathered
from tests.reconciler.rig import Rig, Shop, asking, ended, rig
from tests.replay.kept import HERE
from tests.store.driving import TEXTS, drive, newest, walk
from tests.store.test_journal import ALL_KINDS, _stories

Story = Callable[[Rig, Shop], Awaitable[object]]


async def healed(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    await life.run(ended, approve=True)


async def rejected(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    await life.run(asking)
    await life.answer("reject")


async def expired(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    await life.run(asking)
    shop.clock.advance(31 * 60)
    await life.run(ended)


async def voided(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    first = (await life.run(asking)).request
    await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
    await life.answer("approve")
    await life.run(lambda i: i.state is State.ASKING and i.request != first)
    await life.run(ended, approve=True)


async def undone(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    await gloomy(life).run(ended, approve=True)


async def lost_answer(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    await lossy(life, [], after=frozenset({1})).run(ended, approve=True)


async def stuck(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    lossily = lossy(life, [], before=frozenset({1}))
    await lossily.run(lambda i: i.open_write is not None, approve=True)
    await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
    await lossily.run(ended)


async def nothing_wrong(life: Rig, shop: Shop) -> None:
    await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))
    await life.run(ended)


async def stopped_taken_and_given_back(life: Rig, shop: Shop) -> None:
    await alerted(shop, life)
    waiting = await life.run(asking)
    await life.tools.store.set_switch(True, by="ops", why="release freeze")
    await life.run(lambda i: i.paused)
    await life.tools.store.set_switch(False, by="ops", why="")
    await life.run(lambda i: not i.paused)
    for verb in ("take", "give-back"):
        await life.desk.decide(waiting.id, verb, Person(via="local", name="tester"), None)
    await life.run(ended, approve=True)


STORIES: tuple[Story, ...] = (
    healed,
    rejected,
    expired,
    voided,
    undone,
    lost_answer,
    stuck,
    nothing_wrong,
    stopped_taken_and_given_back,
)


async def _told(story: Story) -> list[dict[str, Any]]:
    clock = ManualClock()
    with tempfile.TemporaryDirectory() as folder:
        async with Simulator(clock=clock, seed=7) as simulator:
            shop = Shop(simulator, clock)
            await shop.set_up()
            async with rig(shop, Path(folder)) as life:
                life = Rig(replace(life.tools), shop)
                await story(life, shop)
                return await _rows(life.tools.store)


async def _every_kind() -> list[dict[str, Any]]:
    """Each kind of event, with a merge: appended to a store as the effects do it."""
    with tempfile.TemporaryDirectory() as folder:
        store = await Store.open(f"sqlite:///{folder}/h.db", cluster=ALERTS_CLUSTER, clock=FakeTime())
        try:
            await _append_all(store)
            return await _rows(store)
        finally:
            await store.close()


async def _append_all(store: Store) -> None:
    shared = a_target("shared", "uid-shared")
    await store.claim(await walk(store, State.GATHERING, "first"), gathered(shared), TEXTS)
    await store.claim(await walk(store, State.GATHERING, "second"), gathered(shared), TEXTS)
    for number, _ in enumerate(_stories("")):
        begun = await walk(store, State.OPENED, f"w{number}")
        events = [_at_own_target(event, number) for event in _stories(begun.id)[number]]
        await drive(store, await newest(store, begun.id), events)


def _at_own_target(event: ev.Event, number: int) -> ev.Event:
    return gathered(a_target(f"w{number}")) if isinstance(event, ev.Gathered) else event


async def _rows(store: Store) -> list[dict[str, Any]]:
    async with store._database._home.reads.connect() as conn:
        stored = AS_STORED.where(journal.c.incident != SYSTEM).order_by(journal.c.incident, journal.c.seq)
        return [dict(row._mapping) for row in await conn.execute(stored)]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows))
    print(f"{path.name}: {len(rows)} entries")


async def main(version: str) -> None:
    folder = HERE / version
    folder.mkdir(exist_ok=True)
    for story in STORIES:
        path = folder / f"{story.__name__}.jsonl"
        if not path.exists():
            _write(path, await _told(story))
    path = folder / "every_kind.jsonl"
    if not path.exists():
        rows = await _every_kind()
        missing = ALL_KINDS - {row["kind"] for row in rows}
        if missing:
            raise SystemExit(f"tests/store/test_journal.py tells no story with {', '.join(sorted(missing))}")
        _write(path, rows)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
