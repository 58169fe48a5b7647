"""What is posted is durable before the sender hears so, once, and whole: doors over a real store and real decoders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.http import Posted, Together
from handrail.adapters.settings import PolicyFile
from handrail.decode import decode
from handrail.decode.parts import MAX_ALERTS
from handrail.model.config import HttpIntakeConfig
from handrail.model.doors import DOORS
from handrail.model.incident import Incident
from handrail.model.reason import Reason
from handrail.model.record import Received, Record, Undecoded
from handrail.reconciler import on_requests
from handrail.sim.clock import ManualClock
from handrail.sim.simulator import Simulator
from tests.decode.records import attributes, example, fired, webhook
from tests.http.doors import AM, GRAFANA, LOGS, PROTOBUF, Doors, doors
from tests.reconciler.rig import Rig, Shop, rig

NOW = "2026-03-02T09:30:30Z"


@dataclass
class RealRoom:
    """Behind the doors as main.py has it, but for Kafka."""

    life: Rig
    letters: list[tuple[Record, Undecoded]] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    @property
    def take(self) -> Together:
        return self.together

    def __post_init__(self) -> None:
        self.together = Together(self._take)

    async def _take(self, posted: Sequence[Posted]) -> Sequence[Received]:
        self.turns.append(len(posted))
        now = self.life.tools.now()
        records = [Record(topic=door.name, partition=0, offset=0, value=body, at=now) for door, body in posted]
        return await on_requests(self.life.tools, records)

    async def bury(self, letters: Sequence[tuple[Record, Undecoded]]) -> bool:
        self.letters += letters
        return True


@dataclass
class House:
    life: Rig
    room: RealRoom
    doors: Doors

    async def incidents(self) -> list[Incident]:
        return await self.life.incidents()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as found:
        yield found


@asynccontextmanager
async def open_house(folder: Path) -> AsyncIterator[House]:
    clock = ManualClock()
    async with Simulator(clock=clock, seed=7) as simulator, rig(Shop(simulator, clock), folder) as life:
        room = RealRoom(life)
        async with doors(room, HttpIntakeConfig(seconds=60)) as at:
            yield House(life, room, at)


def log_record(name: str = "", deployment: str = "checkout") -> dict[str, Any]:
    said = {"alert.name": name, "alert.state": "firing", "k8s.namespace.name": "shop"} if name else {"a": "line"}
    about = {"k8s.deployment.name": deployment} if name else {}
    return {"body": {"stringValue": "x"}, "attributes": attributes({**said, **about})}


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [*records]}]}]}


async def test_the_same_webhook_posted_again_and_again_opens_one_incident(house: House) -> None:
    for _ in range(3):
        assert (await house.doors.post(AM, webhook(fired()))).status == 200
    (incident,) = await house.incidents()
    assert len(incident.alerts) == 3
    assert (await house.life.tools.store.audit()).ok


async def test_a_group_is_taken_whole_and_its_bad_member_alone_is_refused(house: House) -> None:
    group = webhook(fired(), fired({"alertname": "Other", "namespace": "shop", "statefulset": "db"}), {"labels": {}})
    answer = await house.doors.post(AM, group)
    assert (answer.status, answer.json["alerts"], answer.json["reason"]) == (200, 2, "NO_ALERT_NAME")
    assert len(await house.incidents()) == 2
    ((record, why),) = house.room.letters
    assert (record.topic, why.reason, json.loads(record.value or b"")) == (f"http:{AM}", "NO_ALERT_NAME", group)


async def test_a_group_of_which_one_breaks_the_store_is_not_there_in_part(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from handrail.adapters.store import intake

    def breaks(*_: Any) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr(intake, "_incident", breaks)
    answer = await house.doors.post(AM, webhook(fired(), fired({"alertname": "Other", "namespace": "shop"})))
    assert (answer.status, answer.json["reason"]) == (400, "BROKEN"), "sent again it would break us again"
    monkeypatch.undo()
    assert await house.incidents() == []
    assert [why.reason for _, why in house.room.letters] == ["BROKEN"]


@pytest.mark.parametrize(
    ("path", "name", "status"),
    [
        (AM, "alertmanager_webhook_v4_firing.json", 200),
        (AM, "alertmanager_webhook_v4_mixed_group.json", 200),
        (AM, "alertmanager_webhook_v4_pre032.json", 200),
        (AM, "alertmanager_api_v2_post_alerts.json", 200),
        (AM, "grafana_unified_webhook.json", 400),
        (AM, "datadog_webhook.json", 400),
        (GRAFANA, "grafana_unified_webhook.json", 200),
        (GRAFANA, "grafana_unified_webhook_nodata.json", 200),
        (GRAFANA, "alertmanager_webhook_v4_firing.json", 400),
        (LOGS, "otlp_logs_alert.json", 200),
        (LOGS, "otlp_logs_webhookevent_alertmanager.json", 200),
        (LOGS, "otlp_metrics_alerts.json", 400),
        (LOGS, "alertmanager_webhook_v4_firing.json", 400),
    ],
)
async def test_each_door_reads_its_own_format_and_no_other(house: House, path: str, name: str, status: int) -> None:
    answer = await house.doors.post(path, example(name), packed=path == LOGS)
    assert answer.status == status, answer.text
    if status == 400:
        assert len(await house.incidents()) == 0
        assert len(house.room.letters) == 1


def about(number: int) -> dict[str, Any]:
    return fired({"alertname": "A", "namespace": "shop", "deployment": f"d-{number}"})


async def test_a_group_of_thousands_is_taken_whole(house: House) -> None:
    """Two thousand and three, of which three can't be read: each is taken or said."""
    group = webhook(*map(about, range(1000)), *[{"labels": {}}] * 3, *map(about, range(1000, 2000)))
    answer = await house.doors.post(AM, group)
    assert (answer.status, answer.json["alerts"], answer.json["refused"]) == (200, 2000, 3)
    assert "taken of it: 2000 alerts" in answer.json["message"]
    assert len(await house.life.tools.store.open_ids()) == 2000
    assert (await house.doors.post(AM, group)).json["alerts"] == 2000


@pytest.mark.parametrize("path", [AM, LOGS])
async def test_a_group_past_the_bound_is_413_and_nothing_of_it_is_taken(house: House, path: str) -> None:
    small = {"status": "firing", "labels": {"alertname": "A"}}
    alerts = webhook(*[small] * (MAX_ALERTS + 1))
    body = alerts if path == AM else logs({"body": {"stringValue": json.dumps(alerts)}})
    answer = await house.doors.post(path, body)
    assert answer.status == 413
    assert "nothing of it was taken; have them sent in smaller groups" in answer.json["message"]
    assert await house.incidents() == []
    ((_, why),) = house.room.letters
    assert (why.reason, "nothing of it was taken" in why.detail) == (Reason.TOO_LARGE, True)


@pytest.mark.parametrize("name", ["otlp_logs_alert.pb", "otlp_logs_k8sevents_corev1.pb"])
async def test_protobuf_is_read_as_json_is(house: House, name: str) -> None:
    assert (await house.doors.post(LOGS, example(name), kind=PROTOBUF, packed=True)).status == 200


@pytest.mark.parametrize("body", [b"{}", b'{"resourceLogs": []}', b'{"resourceLogs": [{"scopeLogs": []}]}'])
async def test_an_empty_otlp_request_is_taken_and_is_nobodys_fault(house: House, body: bytes) -> None:
    assert (await house.doors.post(LOGS, body)).json == {}
    assert (await house.doors.post(LOGS, b"", kind=PROTOBUF)).status == 200
    assert house.room.letters == []


async def test_log_records_that_are_no_alerts_are_counted_for_the_sender(house: House) -> None:
    answer = await house.doors.post(LOGS, logs(log_record("A"), log_record(), log_record("B", "cart"), log_record()))
    assert answer.json["partialSuccess"]["rejectedLogRecords"] == "2"
    assert len(await house.incidents()) == 2
    only_lines = await house.doors.post(LOGS, logs(log_record(), log_record()))
    assert (only_lines.status, only_lines.json["partialSuccess"]["rejectedLogRecords"]) == (200, "2")
    whole_group = webhook(*({"labels": {}} for _ in range(5)))
    embedded = {"body": {"stringValue": json.dumps(whole_group)}}
    said = (await house.doors.post(LOGS, logs(embedded))).json["partialSuccess"]
    assert said["rejectedLogRecords"] == "1", "one log record, however many bad alerts it holds"
    beside = (await house.doors.post(LOGS, logs(log_record("C", "till"), embedded))).json["partialSuccess"]
    assert beside["rejectedLogRecords"] == "1", "never the one that was taken"
    mixed = {"body": {"stringValue": json.dumps(webhook(fired(), *({"labels": {}} for _ in range(5))))}}
    assert (await house.doors.post(LOGS, logs(mixed))).json["partialSuccess"]["rejectedLogRecords"] == "0"


async def test_what_comes_together_is_one_transaction_and_each_hears_of_its_own(house: House) -> None:
    bodies = [webhook(about(number)) for number in range(20)]
    bodies[3], bodies[7] = {"nonsense": 1}, webhook(about(7), {"labels": {}})
    answers = await asyncio.gather(*(house.doors.post(AM, body) for body in bodies))
    assert [answer.status for answer in answers] == [200] * 3 + [400] + [200] * 16
    assert [answer.json["refused"] for answer in answers if answer.status == 200] == [0] * 6 + [1] + [0] * 12
    assert len(house.room.turns) < 20
    assert sum(house.room.turns) == 20
    assert len(await house.incidents()) == 19
    assert sorted(why.reason for _, why in house.room.letters) == ["NO_ALERT_NAME", "UNKNOWN_FORMAT"]


async def test_one_that_breaks_us_costs_those_beside_it_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(record: Record, **how: Any) -> Any:
        if record.value == b'"poison"':
            raise ValueError("a fault of ours")
        return decode(record, **how)

    monkeypatch.setattr("handrail.effects.take_in.decode", breaks)
    bodies: list[Any] = [webhook(fired()), b'"poison"', webhook(fired())]
    answers = await asyncio.gather(*(house.doors.post(AM, body) for body in bodies))
    assert [answer.status for answer in answers] == [200, 400, 200]
    assert answers[1].json["reason"] == "BROKEN"


async def test_a_store_that_is_closed_gives_503_and_nothing_is_taken(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.life.tools.store.close()
        answer = await house.doors.post(AM, webhook(fired()))
        assert (answer.status, answer.json["reason"]) == (503, "STORE_AWAY")
    async with open_house(tmp_path) as again:
        assert await again.incidents() == []
        assert (await again.doors.post(AM, webhook(fired()))).status == 200, "sent again, it is taken"
        assert len(await again.incidents()) == 1


async def test_what_was_answered_with_yes_is_there_after_a_kill(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        assert (await house.doors.post(AM, webhook(fired()))).status == 200
    async with open_house(tmp_path) as again:
        assert len(await again.incidents()) == 1


async def test_a_policy_that_cannot_be_read_stops_no_alert(house: House) -> None:
    assert isinstance(house.life.tools.policy, PolicyFile)
    Path(house.life.tools.config.policy).write_text("nonsense")
    assert (await house.doors.post(AM, webhook(fired()))).status == 200


def test_every_door_has_a_topic_of_its_own() -> None:
    assert len(DOORS) == 4
    assert all(name.startswith("http:/v1/") for name in DOORS)
