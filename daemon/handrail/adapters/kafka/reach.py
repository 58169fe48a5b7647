"""What can be reached before anything is read: brokers, topics, the group; and why not, where it can't.

aiokafka keeps the reason why no broker can be used to its log, so the addresses are tried again one by one.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError, NoError, for_code
from aiokafka.protocol.admin import DescribeGroupsRequest

from handrail.adapters.kafka.closing import close
from handrail.adapters.kafka.starting import start
from handrail.adapters.kafka.wire import member_name, options
from handrail.adapters.kafka.words import explain, one_line
from handrail.model.config import KafkaConfig
from handrail.model.errors import Transient

SECONDS = 5.0

NOT_REACHED = (KafkaError, OSError, EOFError, ValueError, AssertionError)
"""Refused, not resolved, not trusted, hung up, or an answer that is no Kafka (the client asserts what it expects)."""


async def unreachable(wire: dict[str, Any]) -> str:
    """One sentence for each bootstrap address when none can be used; "" when at least one can."""
    rest = {name: value for name, value in wire.items() if name != "bootstrap_servers"}
    hosts = collect_hosts(wire["bootstrap_servers"])
    found = await asyncio.gather(*(_try(host, port, rest) for host, port, _ in hosts))
    return one_line("; ".join(found)) if all(found) else ""


async def _try(host: str, port: int, rest: dict[str, Any]) -> str:
    try:
        async with asyncio.timeout(SECONDS):
            connection = await create_conn(host, port, **rest, request_timeout_ms=int(SECONDS * 1000))
    except NOT_REACHED as error:
        return f"{host}:{port}: {explain(error)}"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await connection.close()
    return ""


async def topics(config: KafkaConfig) -> dict[str, int]:
    """Each configured topic, then those that are written to, with its number of partitions; 0 where it can't be seen.

    Makes no topic, joins no group, writes nothing. Raises KafkaError, OSError (see `explain`), BadConfig.
    """
    member_name(config)  # a name that can't be had is said here, not first by the daemon
    client = AIOKafkaProducer(**options(config))
    try:
        await start(client)
        known = await client.client.fetch_all_metadata()
        await _group(client.client, config.group)
    finally:
        await close(client)
    names = (*(topic.name for topic in config.topics), *config.written)
    return {name: len(known.partitions_for_topic(name) or ()) for name in names}


async def must_exist(producer: Any, topic: str) -> None:
    """Asking also makes the topic where the brokers make topics by themselves. Raises Transient."""
    try:
        async with asyncio.timeout(SECONDS):
            await producer.partitions_for(topic)
    except TimeoutError as missing:
        why = f"topic {topic!r} does not exist: create it, or correct its name in kafka"
        raise Transient(why if producer.client.cluster.brokers() else "no broker answers") from missing


async def members(wire: dict[str, Any], group: str) -> list[tuple[str, str]]:
    """Id and host of each member of the group. Raises KafkaError, OSError."""
    client = AIOKafkaProducer(**wire)
    try:
        async with asyncio.timeout(2 * SECONDS):
            await start(client)
            node = await _group(client.client, group)
            await client.client.ready(node, group=ConnectionGroup.COORDINATION)
            answer = await client.client.send(node, DescribeGroupsRequest([group]), group=ConnectionGroup.COORDINATION)
    finally:
        await close(client)
    ((code, _, _, _, _, found),) = answer.groups
    problem = for_code(code)
    if problem is not NoError:
        raise problem(group)
    return [(member, host) for member, _, host, *_ in found]


async def _group(client: Any, group: str) -> Any:
    """The node that coordinates it. A cluster that never had a group makes the place for them at the first asking,
    within moments."""
    for _ in range(10):
        try:
            return await client.coordinator_lookup(CoordinationType.GROUP, group)
        except GroupCoordinatorNotAvailableError:
            await asyncio.sleep(0.5)
    return await client.coordinator_lookup(CoordinationType.GROUP, group)
