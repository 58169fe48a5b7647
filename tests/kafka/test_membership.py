"""A stable name in the group, against a real broker: a restart disturbs nobody, and two with one name do not fight."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.protocol.group import LeaveGroupRequest

from handrail.adapters.kafka import intake as intake_module
from handrail.adapters.kafka import membership, options
from handrail.adapters.kafka.membership import Membership
from handrail.adapters.kafka.reach import members
from handrail.adapters.kafka.wire import member_name
from handrail.model.config import KafkaConfig
from handrail.model.errors import BadConfig
from tests.kafka.support import Taker, config, fresh, intake, make_intake_topics, running, send, until
from tests.servers.kafka import KafkaServer

UUID = "1b671a64-40d5-491e-99b0-da01ff1f3341"
SESSION_MS = 6_000
"""The least that a broker grants."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "STATIC_SESSION_MS", SESSION_MS)
    monkeypatch.setattr(intake_module, "RESTART_SECONDS", 0.2)


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each name was given partitions, which is how often its group was rearranged."""
    found: Counter[str] = Counter()
    joined = Membership.joined

    def counted(self: Membership, consumer: object) -> None:
        found[self.name] += 1
        joined(self, consumer)

    monkeypatch.setattr(Membership, "joined", counted)
    return found


@pytest.mark.server
@pytest.mark.parametrize("restarted", [0, 1], ids=["the leader", "a follower"])
async def test_a_restart_within_the_session_time_disturbs_nobody_and_gets_its_partition_back(
    kafka_server: KafkaServer, joins: Counter[str], monkeypatch: pytest.MonkeyPatch, restarted: int
) -> None:
    monkeypatch.setattr(intake_module, "STATIC_SESSION_MS", 5 * SESSION_MS)  # a busy machine starts again slowly
    topic, takers = fresh("alerts"), (Taker(), Taker())
    await make_intake_topics(kafka_server.bootstrap, topic, partitions=2)
    group = fresh("group")
    names = [config(kafka_server.bootstrap, topic, group=group, group_instance_id=f"rail-{n}") for n in range(2)]
    first, second = intake(names[0], takers[0]), intake(names[1], takers[1])
    async with running(first) as tasks:
        await until(lambda: len(first.pulse.lag) == 2)
        tasks.append(asyncio.create_task(second.run()))
        await until(lambda: len(first.pulse.lag) == 1 and len(second.pulse.lag) == 1, "a partition each")
        before, mine = joins.copy(), set((first, second)[restarted].pulse.lag)
        tasks[restarted].cancel()
        await asyncio.wait([tasks[restarted]])
        again = intake(names[restarted], takers[restarted])
        tasks.append(asyncio.create_task(again.run()))
        await until(lambda: set(again.pulse.lag) == mine, "the same partition as before")
        for partition in range(2):
            await send(kafka_server.bootstrap, topic, [b"%d" % partition], partition=partition)
        await until(lambda: sorted(takers[0].values + takers[1].values) == [b"0", b"1"])  # type: ignore[type-var]
    assert joins - before == {f"rail-{restarted}": 1}


@pytest.mark.server
async def test_of_two_with_one_name_the_older_says_so_and_stays_out_until_the_newer_is_gone(
    kafka_server: KafkaServer, joins: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, kept, taken = fresh("alerts"), Taker(), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic, group_instance_id="handrail-0")
    older, newer = intake(settings, kept), intake(settings, taken)
    looked = 0

    async def counted(wire: dict[str, object], group: str) -> list[tuple[str, str]]:
        nonlocal looked
        looked += 1
        return await members(wire, group)

    monkeypatch.setattr(membership, "members", counted)
    async with running(older) as tasks:
        await until(lambda: older.pulse.lag)
        tasks.append(asyncio.create_task(newer.run()))
        await until(lambda: "another process" in older.pulse.last_error, "the older one says it")
        assert "reads as 'handrail-0'" in older.pulse.last_error
        assert "kafka.group_instance_id" in older.pulse.last_error
        await until(lambda: looked > 10, "it looks again and again")
        await send(kafka_server.bootstrap, topic, [b"one"])
        await until(lambda: taken.values == [b"one"], "the newer one reads undisturbed")
        assert newer.pulse.last_error == ""
        assert joins == {"handrail-0": 2}, "each of them once: nobody fights"
        tasks[1].cancel()
        await asyncio.wait([tasks[1]])
        await send(kafka_server.bootstrap, topic, [b"two"])
        await until(lambda: kept.values == [b"two"], "the older one takes over")


@pytest.mark.server
async def test_a_member_that_was_put_out_with_nobody_in_its_place_joins_again(
    kafka_server: KafkaServer, joins: Counter[str]
) -> None:
    """As after a pause that was longer than the session time."""
    topic, taker = fresh("alerts"), Taker()
    await make_intake_topics(kafka_server.bootstrap, topic)
    settings = config(kafka_server.bootstrap, topic, group_instance_id="handrail-0")
    one = intake(settings, taker)
    async with running(one):
        await until(lambda: one.pulse.lag)
        await put_out(settings)
        await until(lambda: joins == {"handrail-0": 2}, "it joins once more")
        await send(kafka_server.bootstrap, topic, [b"one"])
        await until(lambda: taker.values == [b"one"] and not one.pulse.last_error)


async def put_out(settings: KafkaConfig) -> None:
    """Ends the membership of all, behind their backs."""
    found = [member for member, _ in await members(options(settings), settings.group)]
    producer = AIOKafkaProducer(**options(settings))
    await producer.start()
    try:
        node = await producer.client.coordinator_lookup(CoordinationType.GROUP, settings.group)
        await producer.client.ready(node, group=ConnectionGroup.COORDINATION)
        for member in found:
            request = LeaveGroupRequest(settings.group, member)
            await producer.client.send(node, request, group=ConnectionGroup.COORDINATION)
    finally:
        await producer.stop()


def test_the_name_comes_from_the_configuration_or_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTNAME", "handrail-0")
    assert member_name(config("k:1", "alerts")) == ""
    assert member_name(config("k:1", "alerts", group_instance_id="mine")) == "mine"
    assert member_name(config("k:1", "alerts", group_instance_env="HOSTNAME")) == "handrail-0"


@pytest.mark.parametrize(
    ("member", "bears"),
    [
        (f"rail-{UUID}", True),
        (f"rail-0-{UUID}", False),
        (f"rail2-{UUID}", False),
        ("rail-nonsense", False),
        (UUID, False),
    ],
)
def test_a_member_bears_a_name_only_where_its_id_is_that_name_and_a_uuid(member: str, bears: bool) -> None:
    assert membership._bears(member, "rail") is bears


@pytest.mark.parametrize("held", ["", "a b", "a" * 250, "ä"])
def test_an_environment_that_holds_no_fit_name_is_said(monkeypatch: pytest.MonkeyPatch, held: str) -> None:
    monkeypatch.setenv("POD", held)
    with pytest.raises(BadConfig, match="group_instance_env: POD"):
        member_name(config("k:1", "alerts", group_instance_env="POD"))


@pytest.mark.parametrize("both", [{"group_instance_id": "a", "group_instance_env": "B"}, {"group_instance_id": "a b"}])
def test_two_sources_of_a_name_or_an_unfit_one_are_refused(both: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="group_instance"):
        config("k:1", "alerts", **both)
