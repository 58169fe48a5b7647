"""What others read of it on the events topic: every event of every journal, whoever was killed in between.

Repeats are allowed (at least once), gaps are not, and the key of each is its incident.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

PARTITIONS = 3
PATIENCE = 60.0
"""Seconds until the last events are there: whoever published has died, and its duty has to run out first."""


async def make(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    finally:
        await admin.close()


async def wrong(bootstrap: str, topic: str, heads: dict[str, int]) -> list[str]:
    """What is not as promised, once what is on its way has had its time. `heads` has the last seq of each journal."""
    found: dict[str, list[int]] = defaultdict(list)
    strays: list[str] = []
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = time.monotonic() + PATIENCE
        while _missing(found, heads) and time.monotonic() < ends:
            for messages in (await consumer.getmany(timeout_ms=500)).values():
                for one in messages:
                    said = json.loads(one.value)
                    found[said["incident"]].append(said["seq"])
                    if one.key.decode() != said["incident"]:
                        strays.append(f"an event of {said['incident']} under the key {one.key}")
    finally:
        await consumer.stop()
    firsts = {id_: list(dict.fromkeys(seqs)) for id_, seqs in found.items()}
    disorder = [f"the events of {id_} came first as {first}" for id_, first in firsts.items() if first != sorted(first)]
    missing = _missing(found, heads)
    gaps = [f"never published: {dict(list(missing.items())[:5])}"] if missing else []
    return [*strays[:5], *disorder[:5], *gaps]


def _missing(found: dict[str, list[int]], heads: dict[str, int]) -> dict[str, list[int]]:
    gaps = {id_: sorted(set(range(1, head + 1)) - set(found[id_])) for id_, head in heads.items()}
    return {id_: gap for id_, gap in gaps.items() if gap}
