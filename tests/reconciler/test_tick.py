"""What only the clock brings: a silence is one incident, stops every write, and ends with the signal."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from handrail.adapters.store import Store
from handrail.effects.tick import Ticking
from handrail.loop import on_tick
from handrail.model.config import AlertsConfig, ExpectedSignal, WatchdogConfig
from handrail.model.errors import Transient
from handrail.model.finding import Cause
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from tests.reconciler.rig import BAD, GOOD, LOCAL, Rig, Shop, asking, ended, rig
from tests.reconciler.test_path import broken
from tests.store.places import behind

BACKUP = ExpectedSignal(name="NightlyBackupDone", labels={"team": "db"}, minutes=60)
ALERTS = AlertsConfig(watchdog=WatchdogConfig(minutes=15), expected=(BACKUP,))


@asynccontextmanager
async def watching(shop: Shop, folder: Path) -> AsyncIterator[tuple[Rig, Ticking]]:
    async with rig(shop, folder) as life:
        tools = replace(life.tools, config=life.tools.config.model_copy(update={"alerts": ALERTS}))
        yield Rig(tools, shop), Ticking(tools)


async def hear(life: Rig, name: str = "Watchdog", *, offset: int, status: str = "firing", **labels: str) -> None:
    alert = {
        "status": status,
        "labels": {"alertname": name, "severity": "none", **labels},
        "annotations": {},
        "startsAt": "2026-01-01T00:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
    }
    body = {"version": "4", "groupKey": "x", "status": status, "receiver": "handrail", "alerts": [alert]}
    await life.take(json.dumps(body).encode(), offset=offset)


async def minutes(shop: Shop, ticking: Ticking, count: int) -> None:
    for _ in range(count):
        shop.clock.advance(60)
        await on_tick(ticking)


async def open_about(life: Rig) -> list[str]:
    return [incident.alert.name for incident in await life.incidents()]


async def standing(store: Store) -> list[Reason]:
    return [one.reason for one in await store.watching.standing()]


async def test_a_watchdog_that_keeps_coming_is_no_news(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        for n in range(10):
            await hear(life, offset=2 * n)
            await hear(life, "NightlyBackupDone", offset=2 * n + 1, team="db")
            await minutes(shop, ticking, 10)
        assert await open_about(life) == ["NightlyBackupDone"]
        assert await standing(life.tools.store) == []


async def test_a_watchdog_that_is_gone_is_one_incident_and_stops_writes_until_it_comes_again(
    shop: Shop, tmp_path: Path
) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        await hear(life, offset=1)
        await minutes(shop, ticking, 15)
        assert await open_about(life) == []
        await minutes(shop, ticking, 30)
        incident = await life.the_incident()
        assert incident.alert.name == "Gone: Watchdog"
        assert [finding.cause for finding in incident.findings] == [Cause.MONITORING_GONE]
        assert len(incident.alerts) == 1
        assert await standing(life.tools.store) == [Reason.MONITORING_GONE]
        over = await life.run(ended)
        assert over.state is State.HANDED_OVER
        await hear(life, offset=2, status="resolved")
        await minutes(shop, ticking, 1)
        assert await standing(life.tools.store) == [Reason.MONITORING_GONE]
        await hear(life, offset=3)
        await minutes(shop, ticking, 1)
        assert await standing(life.tools.store) == []
        assert len(await life.incidents()) == 1


async def test_the_next_silence_is_another_incident(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        for offset in range(2):
            await hear(life, offset=offset)
            await minutes(shop, ticking, 20)
            for id_ in await life.tools.store.open_ids():
                over = await life.run(lambda i, id_=id_: i.id == id_ and ended(i))  # type: ignore[misc]
                assert over.end is not None
                assert "monitoring_gone: Watchdog, which always fires, has not come for 16 minutes" in over.end[1]
        assert await open_about(life) == ["Gone: Watchdog", "Gone: Watchdog"]


async def test_what_is_remembered_of_silences_does_not_grow_with_their_number(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        for offset in range(6):
            await hear(life, offset=offset)
            await minutes(shop, ticking, 18)
        gone = [alert for i in await life.incidents() for alert in i.alerts if alert.name == "Gone: Watchdog"]
        assert len({alert.starts_at for alert in gone}) == 6
        assert len(ticking._told) <= len(ALERTS.awaited)


async def test_the_last_word_of_an_alert_that_flaps_is_journalled_by_the_clock(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        for offset in range(24):
            shop.clock.advance(1)
            await hear(life, "Flaps", offset=offset, status=("firing", "resolved")[offset % 2])
        shop.clock.advance(1)
        await hear(life, "Flaps", offset=30)
        incident = await life.the_incident()
        assert incident.alerts[-1].status == "resolved", "that is what is journalled"
        (shown,) = [line for line in (await life.desk.report(incident.id) or "").splitlines() if "(firing)" in line][
            -1:
        ]
        assert shown.endswith("alert Flaps again (firing)")
        await minutes(shop, ticking, 2)
        assert (await life.the_incident()).alerts[-1].status == "firing"


async def test_a_start_gives_everything_its_time_and_takes_no_condition_back(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        await hear(life, offset=1)
        await minutes(shop, ticking, 20)
        again = Ticking(life.tools)
        await minutes(shop, again, 10)
        assert await standing(life.tools.store) == [Reason.MONITORING_GONE]
        assert len(await life.incidents()) == 1
        await minutes(shop, again, 10)
        assert len(await life.incidents()) == 1


async def test_an_expected_signal_needs_its_labels_and_stops_nothing(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        for n in range(8):
            await hear(life, offset=2 * n)
            await hear(life, "NightlyBackupDone", offset=2 * n + 1, team="web")
            await minutes(shop, ticking, 10)
        gone = [i for i in await life.incidents() if i.alert.name == "Gone: NightlyBackupDone"]
        assert [finding.cause for finding in gone[0].findings] == [Cause.SIGNAL_GONE]
        assert len(gone) == 1
        assert await standing(life.tools.store) == []


async def test_who_is_asked_is_told_and_an_approval_writes_nothing_until_it_is_over(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        await hear(life, offset=50)
        await broken(shop, life)
        await life.run(asking)
        await minutes(shop, ticking, 17)
        waiting = await crashing(life)
        assert waiting.caution is not None
        assert waiting.caution.reason is Reason.MONITORING_GONE
        assert (await life.desk.decide(waiting.id, "approve", LOCAL, request_of(waiting))).ok
        held = await life.run(lambda i: i.id == waiting.id and i.waiting is not None)
        assert held.waiting is not None
        assert held.waiting.reason is Reason.MONITORING_GONE
        assert await shop.image() == BAD
        await hear(life, offset=51)
        await minutes(shop, ticking, 1)
        again = await life.run(lambda i: i.id == waiting.id and asking(i))
        assert again.caution is None
        assert (await life.desk.decide(again.id, "approve", LOCAL, request_of(again))).ok
        done = await life.run(lambda i: i.id == waiting.id and ended(i))
        assert done.state is State.RESOLVED
        assert await shop.image() == GOOD


async def test_a_question_is_told_once_and_told_when_it_is_over(shop: Shop, tmp_path: Path) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        await hear(life, offset=50)
        await broken(shop, life)
        id_ = (await life.run(asking)).id
        await minutes(shop, ticking, 19)
        await hear(life, offset=51)
        await minutes(shop, ticking, 3)
        told = [entry.event for entry in await life.tools.store.entries(id_) if entry.event.kind == "cautioned"]
        assert [getattr(event, "reason", "") for event in told] == [Reason.MONITORING_GONE, None]


async def test_open_questions_about_which_nothing_changes_are_not_read_again(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watching(shop, tmp_path) as (life, ticking):
        await broken(shop, life)
        id_ = (await life.run(asking)).id
        read: list[str] = []
        fold = Store.incident

        async def counted(store: Store, wanted: str) -> Incident | None:
            read.append(wanted)
            return await fold(store, wanted)

        monkeypatch.setattr(Store, "incident", counted)
        await hear(life, offset=10)
        for _ in range(3):
            await minutes(shop, ticking, 1)
        assert read == [id_]
        await minutes(shop, ticking, 20)
        incident = await fold(life.tools.store, id_)
        assert incident is not None
        assert incident.caution is not None
        assert incident.caution.reason is Reason.MONITORING_GONE


async def test_a_question_whose_journal_is_damaged_holds_up_nothing_else_that_the_clock_brings(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watching(shop, tmp_path) as (life, _ticking):
        await broken(shop, life)
        id_ = (await life.run(asking)).id
    behind(tmp_path / "handrail.db").execute("UPDATE journal SET data = '[]' WHERE incident = ? AND seq = 3", (id_,))
    pruned: list[Store] = []

    async def prune(store: Store) -> int:
        pruned.append(store)
        return 0

    monkeypatch.setattr(Store, "prune", prune)
    with capture_logs() as logged:
        async with watching(shop, tmp_path) as (life, ticking):
            await minutes(shop, ticking, 11)
            assert life.tools.store.unfit().keys() == {id_}
    assert [line for line in logged if line["event"] == "broken by the clock"] == []
    assert len(pruned) == 1


async def test_what_breaks_under_the_clock_is_said_and_the_next_tick_looks_again(shop: Shop, tmp_path: Path) -> None:
    class Broken:
        def __init__(self, error: Exception) -> None:
            self.error = error

        async def tick(self) -> None:
            raise self.error

    with capture_logs() as logged:
        await on_tick(Broken(RuntimeError("x")))  # type: ignore[arg-type]
        await on_tick(Broken(Transient("away")))  # type: ignore[arg-type]
    assert [line["event"] for line in logged] == ["broken by the clock", "waiting for what is away"]


async def crashing(life: Rig) -> Incident:
    (found,) = [one for one in await life.incidents() if not one.alert.name.startswith("Gone: ")]
    return found


def request_of(incident: Incident) -> str | None:
    return incident.request.id if incident.request else None
