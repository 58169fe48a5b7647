"""Kafka, through aiokafka: records in, dead letters and events out. Commits only what the store has taken."""

from handrail.adapters.kafka.dead import DeadLetters
from handrail.adapters.kafka.events import EventTopic
from handrail.adapters.kafka.intake import KafkaIntake
from handrail.adapters.kafka.reach import topics, unreachable
from handrail.adapters.kafka.rights import lacking
from handrail.adapters.kafka.signs import Pulse
from handrail.adapters.kafka.wire import options
from handrail.adapters.kafka.words import explain

__all__ = [
    "DeadLetters",
    "EventTopic",
    "KafkaIntake",
    "Pulse",
    "explain",
    "lacking",
    "options",
    "topics",
    "unreachable",
]
