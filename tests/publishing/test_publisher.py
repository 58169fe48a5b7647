"""The publisher over a real store, with a topic in memory: at least once, in order, and never skipping."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.kafka import Pulse
from handrail.adapters.publishing import AGAIN, PORTION, Publisher
from handrail.adapters.store import Outbox, Store
from handrail.adapters.telemetry import Gauges
from handrail.core.publishing import Message
from handrail.model import events as ev
from handrail.model.errors import Transient
from handrail.model.incident import State
from handrail.reconciler import contained
from tests.factories import CLUSTER, FakeTime, a_target
from tests.store.driving import behind, drive, newest, walk
from tests.store.places import migrated


class Topic:
    """Remembers what arrived. `away` is how many sends fail first; with `lost` they arrive all the same."""

    def __init__(self) -> None:
        self.arrived: list[Message] = []
        self.away = 0
        self.lost = False
        self.most = 10**9
        self.open = False

    async def send(self, message: Message) -> bool:
        self.open = True
        await asyncio.sleep(0)
        if self.away:
            self.away -= 1
            if self.lost:
                self.arrived.append(message)
            raise Transient("no broker answers", retry_after=0.01)
        if len(message.value) > self.most:
            return False
        self.arrived.append(message)
        return True

    async def close(self) -> None:
        self.open = False

    def seqs(self, incident: str) -> list[int]:
        return [data["seq"] for data in self.data if data["incident"] == incident]

    @property
    def data(self) -> list[Any]:
        return [json.loads(message.value) for message in self.arrived]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return migrated(tmp_path / "handrail.db")


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(f"sqlite:///{path}", cluster=CLUSTER, clock=FakeTime())
    yield opened
    await opened.close()


@pytest.fixture
def topic() -> Topic:
    return Topic()


class Monotonic:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Monotonic:
    return Monotonic()


@pytest.fixture
def publisher(store: Store, topic: Topic, clock: Monotonic) -> Publisher:
    return Publisher(CLUSTER, store.outbox("events"), topic, contained, clock)


async def test_the_events_of_each_incident_are_published_in_order_and_once(
    store: Store, topic: Topic, publisher: Publisher
) -> None:
    incidents = [await walk(store, State.UNDONE, name, a_target(name, f"uid-{name}")) for name in ("a", "b", "c")]
    await publisher.publish_all()
    await publisher.publish_all()
    for incident in incidents:
        assert topic.seqs(incident.id) == list(range(1, incident.seq + 1))
    assert (publisher.behind, publisher.problem) == (0, "")
    await drive(store, await newest(store, incidents[0].id), (ev.Noted(text="later"),))
    before = len(topic.arrived)
    await publisher.publish_all()
    assert [data["kind"] for data in topic.data[before:]] == ["noted"]


@pytest.mark.parametrize("lost", [False, True])
async def test_a_send_that_fails_anywhere_repeats_and_never_skips(
    store: Store, topic: Topic, publisher: Publisher, lost: bool
) -> None:
    incident = await walk(store, State.UNDONE)
    topic.lost = lost
    for round_ in range(incident.seq):
        topic.away = 1 if round_ % 2 else 0
        try:
            await publisher.publish_all()
        except Transient:
            continue
    seqs = topic.seqs(incident.id)
    assert sorted(set(seqs)) == list(range(1, incident.seq + 1))
    for place, seq in enumerate(seqs):
        assert set(range(1, seq)) <= set(seqs[:place]), "whoever reads a seq has had all before it"


async def test_a_crash_between_sending_and_the_cursor_repeats_and_never_skips(
    store: Store, topic: Topic, clock: Monotonic
) -> None:
    incident = await walk(store, State.UNDONE)

    class Dies(Outbox):
        async def done(self, id_: str, seq: int) -> None:
            raise asyncio.CancelledError("killed here")

    dying = Dies(store._database, store._duties, store._wake, "events")
    with pytest.raises(asyncio.CancelledError):
        await Publisher(CLUSTER, dying, topic, contained, clock).publish_all()
    assert topic.seqs(incident.id) == list(range(1, min(PORTION, incident.seq) + 1))
    await Publisher(CLUSTER, store.outbox("events"), topic, contained, clock).publish_all()
    assert topic.seqs(incident.id) == [*range(1, incident.seq + 1)] * 2


async def test_a_journal_that_cannot_be_read_waits_says_so_and_holds_up_no_other(
    store: Store, topic: Topic, publisher: Publisher, path: Path, clock: Monotonic
) -> None:
    bad = await walk(store, State.GATHERING, "bad", a_target("bad", "uid-bad"))
    good = await walk(store, State.GATHERING, "good", a_target("good", "uid-good"))
    kept = behind(path).execute("SELECT actor FROM journal WHERE incident = ? AND seq = 2", (bad.id,)).fetchone()[0]
    actor = "UPDATE journal SET actor = ? WHERE incident = ? AND seq = 2"
    behind(path).execute(actor, ("somebody", bad.id))
    await publisher.publish_all()
    assert topic.seqs(good.id) == [1, 2]
    assert topic.seqs(bad.id) == []
    assert publisher.problem.startswith(f"{bad.id}: Damaged: ")
    assert publisher.behind == 1
    behind(path).execute(actor, (kept, bad.id))
    await publisher.publish_all()
    assert topic.seqs(bad.id) == [], "it is looked at again after a while only"
    clock.now += AGAIN.total_seconds()
    await publisher.publish_all()
    assert topic.seqs(bad.id) == [1, 2]
    assert (publisher.behind, publisher.problem) == (0, "")


async def test_readiness_and_metrics_say_what_waits_and_why(store: Store, publisher: Publisher) -> None:
    gauges = Gauges(store, Pulse(), lambda: 0.0)
    assert "events" not in await gauges.ready()
    assert b"handrail_events_behind_incidents" not in await gauges.text()
    gauges.publisher = publisher
    assert (await gauges.ready())["events"] == "ok"
    publisher.problem, publisher.behind = "no broker answers", 3
    assert (await gauges.ready())["events"] == "no broker answers"
    assert b"handrail_events_behind_incidents 3.0" in await gauges.text()


async def test_an_event_that_the_brokers_find_too_large_goes_without_its_content(
    store: Store, topic: Topic, publisher: Publisher
) -> None:
    incident = await walk(store, State.GATHERING)
    large = await drive(store, incident, (ev.Noted(text="x" * 5_000),))
    topic.most = 4_000
    await publisher.publish_all()
    assert topic.seqs(incident.id) == list(range(1, large.seq + 1))
    last = topic.data[-1]
    assert (last["kind"], last["event"]) == ("noted", None)
    assert last["bytes_left_out"] > 5_000


async def test_who_is_not_on_duty_publishes_nothing_and_keeps_no_connection(topic: Topic, clock: Monotonic) -> None:
    class OffDuty:
        async def on_duty(self) -> bool:
            return False

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} is not asked for")

    topic.open = True
    other: Any = OffDuty()
    await Publisher(CLUSTER, other, topic, contained, clock).publish_all()
    assert not topic.open


async def test_it_runs_until_it_is_ended_over_brokers_that_come_back(
    store: Store, topic: Topic, publisher: Publisher
) -> None:
    topic.away = 3
    running = asyncio.create_task(publisher.run())
    incident = await walk(store, State.UNDONE)
    async with asyncio.timeout(20):
        while set(topic.seqs(incident.id)) != set(range(1, incident.seq + 1)) or publisher.problem:
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert not topic.open
