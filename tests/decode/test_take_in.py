"""What a topic is configured for reaches the decoder, and what was never meant to be an alert leaves no dead letter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

from handrail.effects.take_in import take_in
from handrail.effects.tools import Tools
from handrail.model.arrival import Batch, Fate, Took
from handrail.model.config import Config
from handrail.model.policy import Policy
from handrail.model.record import Record, Undecoded
from handrail_detectors import named_alert
from tests.decode.records import AT, example, fired, webhook

CONFIG = {
    "cluster": {"name": "prod-eu1"},
    "kafka": {
        "bootstrap": ["k:1"],
        "topics": [
            {"name": "metrics", "signal": "metrics"},
            {"name": "events", "signal": "logs"},
            {"name": "own", "mapping": {"name": "title", "status": "state", "firing": "bad", "resolved": "good"}},
            {"name": "alertmanager", "encoding": "alertmanager"},
        ],
    },
    "alerts": {"event_age_minutes": 60, "mapping": {"name": "headline", "status": "state", "firing": "bad"}},
    "policy": "p.yaml",
}


class Taken:
    """Stands where the store does: keeps what it was handed."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    async def take(self, batches: list[Batch], *, max_age: timedelta, **_: Any) -> list[tuple[Took, ...]]:
        self.batches += batches
        return [tuple(Took(fate=Fate.RECORDED) for _ in batch.arrivals) for batch in batches]


class Unread:
    """Counts for nobody."""

    def __getattr__(self, _: str) -> Any:
        return lambda *args, **kwargs: self


def record_of(topic: str, value: Any) -> Record:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Record(topic=topic, partition=0, offset=0, value=data, at=AT)


async def taken(*records: Record) -> tuple[list[list[str]], Sequence[tuple[Record, Undecoded]]]:
    """The names of the alerts of each record, and the dead letters."""
    store = Taken()
    tools = SimpleNamespace(
        config=Config.model_validate(CONFIG),
        detectors=(named_alert.detector,),
        now=lambda: AT,
        store=store,
        signs=Unread(),
        policy=SimpleNamespace(last_good=lambda: Policy(version=1, alert_age_minutes=60)),
    )
    dead = await take_in(cast("Tools", tools), records)
    for batch in store.batches:
        assert all(len(arrival.findings) == 1 for arrival in batch.arrivals)
    return [[arrival.alert.name for arrival in batch.arrivals] for batch in store.batches], dead


async def test_a_topics_signal_encoding_and_mapping_are_those_of_the_configuration() -> None:
    found, dead = await taken(
        record_of("metrics", example("otlp_metrics_alerts.pb")),
        record_of("own", {"title": "Checkout is down", "state": "bad"}),
        record_of("events", {"headline": "By the global mapping", "state": "bad"}),
        record_of("events", example("otlp_logs_k8sevents_corev1.pb")),
        record_of("alertmanager", webhook(fired())),
    )
    assert found == [
        ["KubePodCrashLooping"],
        ["Checkout is down"],
        ["By the global mapping"],
        ["Event BackOff"],
        ["KubeDeploymentReplicasMismatch"],
    ]
    assert dead == []


async def test_what_the_topic_is_not_configured_for_is_a_dead_letter() -> None:
    grafana = record_of("alertmanager", example("grafana_unified_webhook.json"))
    logs = record_of("metrics", example("otlp_logs_alert.pb"))
    found, dead = await taken(grafana, logs)
    assert found == [[], []]
    assert [(record.topic, part.reason.value) for record, part in dead] == [
        ("alertmanager", "UNKNOWN_FORMAT"),
        ("metrics", "WRONG_SIGNAL"),
    ]


async def test_other_metrics_normal_events_and_expired_ones_leave_no_dead_letter() -> None:
    up = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "up", "gauge": {"dataPoints": []}}]}]}]}
    watched = json.loads(example("otlp_logs_k8sobjects_watch.json"))
    body = watched["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["body"]["kvlistValue"]["values"]
    body[0]["value"] = {"stringValue": "DELETED"}
    found, dead = await taken(record_of("metrics", up), record_of("events", watched))
    assert (found, dead) == ([[], []], [])


async def test_a_bad_alert_is_a_dead_letter_and_its_neighbours_are_taken() -> None:
    record = record_of("alertmanager", webhook(fired(), {"labels": {}}, fired(), 7))
    found, dead = await taken(record)
    assert [len(names) for names in found] == [2]
    ((_, part),) = dead
    assert part.detail.startswith("2 parts are no alerts (MALFORMED, NO_ALERT_NAME); the first: ")
