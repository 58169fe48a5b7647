"""The daemon as a whole: a journal beyond reading, a clock that jumps, an incident that never stands still."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.kafka import Pulse
from handrail.adapters.telemetry import Gauges
from handrail.adapters.telling import Teller
from handrail.cli.demo_alert import alert_as_otlp
from handrail.loop import Reconciler
from handrail.model.errors import Bug, Damaged
from handrail.model.incident import State
from handrail.reconciler import contained
from tests.breaks.worlds import alerted
from tests.reconciler.rig import LOCAL, Rig, Shop, asking, ended, rig


def spoil(folder: Path, incident: str, data: str) -> None:
    """What a broken disk or a hand in the database leaves behind: the newest entry says something unreadable."""
    with sqlite3.connect(folder / "handrail.db") as database:
        guards = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            database.execute(f"DROP TRIGGER {name}")
        last = "(SELECT max(seq) FROM journal WHERE incident = ?)"
        change = f"UPDATE journal SET data = ? WHERE incident = ? AND seq = {last}"
        assert database.execute(change, (data, incident, incident)).rowcount == 1
        for _, again in guards:
            database.execute(again)
    database.close()


class Hook:
    def __init__(self) -> None:
        self.told: list[Any] = []

    async def send(self, payload: Any) -> None:
        self.told.append(payload)


async def fails(asked: Awaitable[object]) -> str:
    with pytest.raises(Damaged) as broken:
        await asked
    return str(broken.value)


async def turn(reconciler: Reconciler, times: int) -> None:
    for _ in range(times):
        async with asyncio.TaskGroup() as group:
            await reconciler.start_due(group)


async def test_a_journal_that_cannot_be_read_ends_neither_the_daemon_nor_its_neighbours(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        first = await life.run(lambda i: i.state is State.GATHERING)
    spoil(tmp_path, first.id, "{not json")
    async with rig(shop, tmp_path) as life:
        hook = Hook()
        other = alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)).replace(b"checkout", b"nothing1")
        await life.take(other, offset=1)
        reconciler = Reconciler(life.tools)
        teller = Teller(life.tools.store, None, hook, life.tools.now)
        await turn(reconciler, 4)
        await teller.tell_all()
        states = {told["incident"] == first.id: told["state"] for told in hook.told}
        assert (states, len(hook.told)) == ({False: "HANDED_OVER", True: "gathering"}, 2)
        (said,) = (told["status"] for told in hook.told if told["incident"] == first.id)
        assert f"{first.id} is damaged at entry" in said
        gauges = Gauges(life.tools.store, Pulse(last_poll=0.0), lambda: 1.0)
        found = await gauges.ready()
        assert found["ready"], "the others go on"
        assert f"{first.id} is damaged at entry" in found["degraded_incidents"][first.id]
        assert "handrail_journal_damaged 1.0" in (await gauges.text()).decode().splitlines()
        reply = await fails(life.desk.decide(first.id, "approve", LOCAL, "request-1"))
        assert "see `handrail audit verify`" in reply


async def test_what_waits_hears_of_a_stop_and_of_a_start_at_once(shop: Shop, tmp_path: Path) -> None:
    """Neither makes any journal of an incident grow, and a question sleeps for a minute at a time."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        reconciler = Reconciler(life.tools)
        await turn(reconciler, 3)
        for stop in (True, False):
            await life.desk.switch(stop, LOCAL, "freeze")
            await turn(reconciler, 1)
            assert (await life.the_incident()).paused is stop


async def test_the_heart_beats_within_a_minute_however_seldom_it_polls(shop: Shop, tmp_path: Path) -> None:
    """HandrailHeartStopped speaks of two minutes; alone it naps for several polls."""
    async with rig(shop, tmp_path) as life:
        for poll_seconds in (0.5, 2.0, 30.0):
            config = life.tools.config.model_copy(update={"poll_seconds": poll_seconds})
            nap = Reconciler(replace(life.tools, config=config))._nap()
            assert poll_seconds <= nap <= 60


async def test_a_switch_that_cannot_be_read_ends_no_daemon(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        with sqlite3.connect(tmp_path / "handrail.db") as database:
            database.execute("DELETE FROM switch")
        database.close()
        await turn(Reconciler(life.tools), 3)
        incident = await life.the_incident()
        assert incident.state is State.HANDED_OVER
        assert not incident.writes


async def test_a_clock_that_goes_back_an_hour_does_not_put_incidents_to_sleep(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        back = timedelta(0)
        tools = replace(life.tools, now=lambda: shop.clock.now() - back)
        reconciler = Reconciler(tools)
        await turn(reconciler, 30)
        waiting = await life.the_incident()
        assert asking(waiting)
        back = timedelta(hours=1)
        looked: list[str] = []
        reconciler = _watched(reconciler, looked)
        shop.clock.advance(120)
        await turn(reconciler, 2)
        assert looked == [waiting.id]


def _watched(reconciler: Reconciler, looked: list[str]) -> Reconciler:
    advance = reconciler._advance

    async def watched(id_: str) -> None:
        looked.append(id_)
        await advance(id_)

    reconciler._advance = watched  # type: ignore[method-assign]
    return reconciler


async def test_a_flood_of_the_same_alert_neither_stops_the_decision_nor_the_repair(shop: Shop, tmp_path: Path) -> None:
    """Firing and resolved, hundreds of them, between any two moves."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        flood = Flood(life)
        incident = await life.run(asking)
        await flood.pour(200)
        reply = await life.answer("approve")
        assert reply.ok, reply.message
        await flood.pour(200)
        incident = await life.run(ended)
        assert incident.state is State.RESOLVED, incident.end
        assert len(await life.incidents()) == 1


class Flood:
    def __init__(self, life: Rig) -> None:
        self._life = life
        self._offset = 100

    async def pour(self, many: int) -> None:
        for _ in range(many):
            self._offset += 1
            now = int(self._life.tools.now().timestamp() * 1e9)
            await self._life.take(alert_as_otlp(now), offset=self._offset)


async def test_what_breaks_is_told_without_the_secrets_that_it_quotes() -> None:
    """As pydantic quotes what it does not accept."""

    async def breaks() -> None:
        raise ValueError("input_value={'env': 'DB_PASSWORD=hunter2'}")

    with pytest.raises(Bug) as told:
        await contained(breaks())
    assert "ValueError: input_value={'env': 'DB_PASSWORD=[redacted]" in str(told.value)
    assert "hunter2" not in str(told.value)
