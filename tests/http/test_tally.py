"""What is counted is what was committed, under the very words of the journal; and Prometheus itself understands it."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.adapters.kafka import Pulse
from handrail.adapters.store import Store
from handrail.adapters.telemetry import Gauges, Tally
from handrail.core.noes import reasons
from handrail.model import events as ev
from handrail.model.errors import Bug, Transient
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.model.signs import Signs
from tests.factories import CLUSTER, FakeTime, an_alert, story_to
from tests.servers.prometheus import MetricsPage, PrometheusServer
from tests.store.driving import arrive, drive, newest, walk
from tests.store.places import migrated

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


def value(text: bytes, name: str, **labels: str) -> float:
    """0 where there is no such series."""
    wanted = "".join(f'(?=[^}}]*{key}="{word}")' for key, word in labels.items())
    found = re.search(rf"^{name}(?:\{{{wanted}[^}}]*\}})? (\S+)$", text.decode(), re.M)
    return float(found.group(1)) if found else 0.0


@pytest.fixture
def tally(store: Store) -> Tally:
    counted = Tally()
    store.listen_to(counted)
    return counted


@pytest.fixture
async def store(tmp_path: Path, time: FakeTime) -> Store:
    return await Store.open(f"sqlite:///{migrated(tmp_path / 'handrail.db')}", cluster=CLUSTER, clock=time)


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.mark.parametrize("state", State)
async def test_each_no_of_a_journal_is_counted_once_under_its_own_word(
    store: Store, tally: Tally, state: State
) -> None:
    incident = await walk(store, state)
    text = await tally.text(store)
    said = [reason for entry in await store.entries(incident.id) for reason in reasons(entry.event)]
    for reason in Reason:
        lines = re.findall(rf'^handrail_refusals_total{{reason="{reason}",stage="\w+"}} (\S+)$', text.decode(), re.M)
        assert sum(map(float, lines)) == said.count(reason)
    over = [incident.state] if incident.state.terminal else []
    word = str((incident.end[0] if incident.end else None) or "")
    for end in (State.RESOLVED, State.HANDED_OVER, State.SUPPRESSED):
        expected = over.count(end)
        assert value(text, "handrail_incidents_ended_total", state=str(end), reason=word) == expected
    await store.close()


async def test_a_no_names_the_state_it_was_said_in(store: Store, tally: Tally) -> None:
    await walk(store, State.HANDED_OVER)
    incident = await walk(store, State.COMPILING, "cart")
    await store.append(incident, (ev.CompileRefused(reason=Reason.CONFLICTING_STEPS, detail="two of one"),))
    text = await tally.text(store)
    assert value(text, "handrail_refusals_total", reason="CONFLICTING_STEPS", stage="compiling") == 1
    await store.close()


async def test_what_was_not_committed_is_not_counted(store: Store, tally: Tally) -> None:
    incident = await walk(store, State.OPENED)
    with pytest.raises(Bug):
        await store.append(incident, (ev.HandedOver(reason=Reason.NO_TARGET, detail="none"), ev.GatheringBegun()))
    text = await tally.text(store)
    assert value(text, "handrail_incidents_ended_total", state="HANDED_OVER", reason="NO_TARGET") == 0
    assert value(text, "handrail_refusals_total", reason="NO_TARGET") == 0
    await store.close()


async def test_every_end_that_an_alert_may_watch_is_there_at_zero_before_its_first_time(store: Store) -> None:
    text = (await Tally().text(store)).decode()
    for reason in Reason:
        assert f'handrail_incidents_ended_total{{reason="{reason}",state="HANDED_OVER"}} 0.0' in text
    await store.close()


async def test_model_calls_and_tokens_are_counted(store: Store, tally: Tally) -> None:
    incident = await walk(store, State.PLANNING)
    asked = ev.ModelAsked(request="r", model="m", input_tokens=900)
    away = ev.ModelAnswered(request="r", failed=Reason.MODEL_AWAY, input_tokens=900, detail="no answer in time")
    answered = ev.ModelAnswered(request="r", raw="", input_tokens=1000, output_tokens=50)
    await drive(store, incident, (asked, away, asked, answered))
    text = await tally.text(store)
    assert value(text, "handrail_model_calls_total", result="asked") == 2
    assert value(text, "handrail_model_calls_total", result="MODEL_AWAY") == 1
    assert value(text, "handrail_model_calls_total", result="answered") == 1
    assert value(text, "handrail_model_tokens_total", direction="input") == 1900
    assert value(text, "handrail_model_tokens_total", direction="output") == 50
    assert value(text, "handrail_refusals_total", reason="MODEL_AWAY", stage="planning") == 1
    await store.close()


async def test_the_time_to_mitigate_is_told_with_and_without_waiting_for_people(
    store: Store, tally: Tally, time: FakeTime
) -> None:
    id_ = await arrive(store, an_alert())
    story = story_to(State.RESOLVED, id_)
    at = next(n for n, event in enumerate(story) if isinstance(event, ev.Approved))
    time.later(seconds=20)
    incident = await drive(store, await newest(store, id_), story[:at])
    time.later(seconds=600)
    incident = await drive(store, incident, story[at : at + 1])
    time.later(seconds=40)
    await drive(store, incident, story[at + 1 :])
    for _ in range(2):
        text = await tally.text(store)
        assert value(text, "handrail_time_to_mitigate_seconds_count") == 1
        assert value(text, "handrail_time_to_mitigate_seconds_sum") == 660
        assert value(text, "handrail_time_to_mitigate_without_people_seconds_sum") == 60
    await store.close()


class AwayForOnce:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.times = 0

    async def incident(self, id_: str) -> object:
        self.times += 1
        if self.times == 1:
            raise Transient("away")
        return await self._store.incident(id_)

    async def entries(self, id_: str) -> object:
        return await self._store.entries(id_)


async def test_a_store_that_is_away_while_times_are_read_loses_none(store: Store, tally: Tally) -> None:
    await walk(store, State.RESOLVED)
    away = AwayForOnce(store)
    first = await tally.text(away)  # type: ignore[arg-type]
    second = await tally.text(away)  # type: ignore[arg-type]
    counts = [value(text, "handrail_time_to_mitigate_seconds_count") for text in (first, second)]
    assert counts == [0, 1]
    await store.close()


def test_a_tally_is_what_the_effects_know_as_signs() -> None:
    signs: Signs = Tally()
    signs.refused(Reason.BROKEN, "intake")


def documented() -> list[dict[str, str]]:
    """The rules that docs/operations.md gives."""
    (block,) = re.findall(r"```yaml\n(.+?)```", OPERATIONS.read_text(encoding="utf-8"), re.S)
    return list(yaml.safe_load(block)["groups"][0]["rules"])


async def full_page(store: Store) -> bytes:
    tally = Tally()
    store.listen_to(tally)
    for number, state in enumerate(State):
        await walk(store, state, f"workload-{number}")
    pulse = Pulse(last_poll=90.0, lag={"alerts/0": 7}, set_aside={"alerts/1": "damaged"}, paused=True)
    return await Gauges(store, pulse, lambda: 100.0, tally=tally).text()


@pytest.mark.server
async def test_promtool_finds_nothing_wrong_with_the_page(store: Store, prometheus_server: PrometheusServer) -> None:
    page = await full_page(store)
    await store.close()
    promtool = shutil.which("promtool")
    assert promtool is not None, "it comes with Debian's package `prometheus`"
    found = await asyncio.to_thread(
        subprocess.run, [promtool, "check", "metrics"], input=page, capture_output=True, timeout=60
    )
    assert (found.returncode, found.stdout + found.stderr) == (0, b"")


@pytest.mark.server
async def test_prometheus_scrapes_the_page_and_takes_the_documented_alerts(
    store: Store, prometheus_server: PrometheusServer
) -> None:
    page = MetricsPage((await full_page(store)).decode())
    await store.close()
    try:
        await asyncio.to_thread(prometheus_server.configure, targets={"handrail": page.address}, rules=documented())
        query = 'sum by (reason) (handrail_incidents_ended_total{state="HANDED_OVER"}) > 0'
        ends = asyncio.get_running_loop().time() + timedelta(seconds=60).total_seconds()
        found: list[dict[str, Any]] = []
        while not found and asyncio.get_running_loop().time() < ends:
            found = await asyncio.to_thread(prometheus_server.query, query)
            await asyncio.sleep(0.5)
        assert [one["metric"] for one in found] == [{"reason": "REJECTED"}]
    finally:
        await asyncio.to_thread(page.close)
