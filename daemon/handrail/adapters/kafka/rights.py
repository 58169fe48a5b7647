"""What this user may do with each topic, in the brokers' own words, without reading or writing anything there.

Brokers tell it beside the metadata of a topic since 2.3 (KIP-430, version 8 of the request, which aiokafka does not
speak yet). It needs no right but to see the topic. Decides nothing.
"""

from __future__ import annotations

from aiokafka import AIOKafkaProducer
from aiokafka.errors import IncompatibleBrokerVersion, NodeNotReadyError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Int16, Int32, Schema, String

from handrail.adapters.kafka.closing import close
from handrail.adapters.kafka.starting import start
from handrail.adapters.kafka.wire import options
from handrail.model.config import KafkaConfig

READ, WRITE = 3, 4
"""Numbers of bits: the codes of Kafka's AclOperation."""

_PARTITION = Array(
    ("error_code", Int16),
    ("partition", Int32),
    ("leader", Int32),
    ("leader_epoch", Int32),
    ("replicas", Array(Int32)),
    ("isr", Array(Int32)),
    ("offline_replicas", Array(Int32)),
)
_TOPIC = Array(
    ("error_code", Int16),
    ("topic", String("utf-8")),
    ("is_internal", Boolean),
    ("partitions", _PARTITION),
    ("operations", Int32),
)
_BROKER = Array(("node_id", Int32), ("host", String("utf-8")), ("port", Int32), ("rack", String("utf-8")))


class _Answered(Response):  # type: ignore[misc]  # untyped base
    API_KEY = 3
    API_VERSION = 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", _BROKER),
        ("cluster_id", String("utf-8")),
        ("controller_id", Int32),
        ("topics", _TOPIC),
        ("operations", Int32),
    )


class _Asked(RequestStruct):  # type: ignore[misc]  # untyped base
    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = _Answered
    SCHEMA = Schema(
        ("topics", Array(String("utf-8"))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_operations", Boolean),
        ("include_topic_operations", Boolean),
    )


class _Ask(Request[_Asked]):  # type: ignore[misc]  # untyped base
    API_KEY = 3

    def __init__(self, topics: list[str]) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[_Asked]) -> _Asked:
        return request_struct_class(self._topics, False, False, True)


async def lacking(config: KafkaConfig) -> dict[str, str] | None:
    """Topics on which this user lacks what the daemon needs, with the right's name; those that it can't see are left
    out. None where the brokers are too old to say. Raises KafkaError, OSError, BadConfig."""
    needed = {topic.name: ("READ", READ) for topic in config.topics}
    needed |= dict.fromkeys(config.written, ("WRITE", WRITE))
    client = AIOKafkaProducer(**options(config))
    try:
        await start(client)
        node = client.client.get_random_node()
        if node is None or not await client.client.ready(node):
            raise NodeNotReadyError("no broker answers")
        answer = await client.client.send(node, _Ask(list(needed)))
    except (IncompatibleBrokerVersion, NotImplementedError):
        return None
    finally:
        await close(client)
    found = {topic: operations for code, topic, _, _, operations in answer.topics if code == 0}
    return {topic: name for topic, (name, bit) in needed.items() if topic in found and not found[topic] >> bit & 1}
