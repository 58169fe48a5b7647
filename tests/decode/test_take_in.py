"""What a topic is configured for reaches the decoder, and what was never meant to be an alert leaves no dead letter."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from handrail.core import correlate
from handrail.decode.parts import MAX_ALERTS
from handrail.effects.take_in import AT_ONCE, BREATH, LARGE, take_in
from handrail.effects.tools import Tools
from handrail.model.alert import made
from handrail.model.arrival import Batch, Fate, Took
from handrail.model.config import Config
from handrail.model.policy import Policy
from handrail.model.reason import Reason
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


Letters = Sequence[tuple[Record, Undecoded]]


class Taken:
    """Stands where the store does: keeps what it was handed."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.pieces: list[int] = []

    async def take(self, batches: list[Batch], *, max_age: timedelta, **_: Any) -> list[tuple[Took, ...]]:
        self.batches += batches
        self.pieces.append(sum(len(batch.arrivals) for batch in batches))
        return [tuple(Took(fate=Fate.RECORDED) for _ in batch.arrivals) for batch in batches]


class Unread:
    """Counts for nobody."""

    def __getattr__(self, _: str) -> Any:
        return lambda *args, **kwargs: self


def record_of(topic: str, value: Any) -> Record:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Record(topic=topic, partition=0, offset=0, value=data, at=AT)


async def taken(
    *records: Record, store: Taken | None = None
) -> tuple[list[list[str]], Sequence[tuple[Record, Undecoded]]]:
    """The names of the alerts of each record, and the dead letters."""
    store = store or Taken()
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


async def test_a_letter_says_which_part_of_its_record_was_taken() -> None:
    _, dead = await taken(record_of("alertmanager", webhook(fired(), {"labels": {}}, fired())))
    assert dead[0][1].detail == "its labels hold no alertname; taken of it: 2 alerts"


async def test_a_record_of_too_many_alerts_is_one_letter_and_nothing_of_it_is_taken() -> None:
    small = {"status": "firing", "labels": {"alertname": "A"}}
    found, dead = await taken(record_of("alertmanager", webhook(*[small] * (MAX_ALERTS + 1))))
    assert found == [[]]
    ((_, part),) = dead
    assert (part.reason, part.detail.partition(":")[2][:27]) == (Reason.TOO_LARGE, " nothing of it was taken; h")


async def test_a_poll_is_kept_in_pieces_and_a_record_is_never_divided() -> None:
    store = Taken()
    few = [record_of("alertmanager", webhook(*[fired()] * 400)) for _ in range(26)]
    await taken(*few, store=store)
    assert store.pieces == [4800, 4800, 800]
    assert max(store.pieces) <= AT_ONCE
    store = Taken()
    await taken(*[record_of("alertmanager", webhook(*[fired()] * MAX_ALERTS)), few[0]], store=store)
    assert store.pieces == [MAX_ALERTS, 400]


@pytest.mark.parametrize("sizes", [[3000], [1] * 600, [100] * 20, [1, 900, 1, 40, 7]])
async def test_others_have_their_turn_while_a_poll_is_read(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in turns of the loop: how many alerts are decoded, and how many identified, between two of them."""
    turns = 0
    most: Counter[tuple[str, int]] = Counter()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def counted(what: str, work: Any) -> Any:
        def count(*args: Any, **kwargs: Any) -> Any:
            most[what, turns] += 1
            return work(*args, **kwargs)

        return count

    monkeypatch.setattr("handrail.effects.take_in.arrival", counted("identified", correlate.arrival))
    monkeypatch.setattr("handrail.decode.alertmanager.made", counted("decoded", made))
    records = [record_of("alertmanager", webhook(*[fired()] * size)) for size in sizes]
    beside = asyncio.ensure_future(others())
    found, _ = await taken(*records)
    beside.cancel()
    assert [len(names) for names in found] == sizes
    assert max(count for (what, _), count in most.items() if what == "identified") <= BREATH
    assert max(count for (what, _), count in most.items() if what == "decoded") <= LARGE // 256 + BREATH
    assert sum(most.values()) == 2 * sum(sizes)
