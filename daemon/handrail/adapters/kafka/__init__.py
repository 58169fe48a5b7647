"""Kafka, through aiokafka: records in, dead letters out. Commits only what the store has taken."""

from handrail.adapters.kafka.intake import KafkaIntake, Pulse
from handrail.adapters.kafka.wire import options

__all__ = ["KafkaIntake", "Pulse", "options"]
