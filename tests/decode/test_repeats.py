"""What was decoded before and comes again is what it would be if it were decoded anew, at any time and in any trace."""

from __future__ import annotations

import json
import tracemalloc
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from handrail.core.correlate import arrival, episode, identity, labelled_target
from handrail.decode import decode, repeats
from handrail.model.alert import Alert
from handrail.model.mapping import AlertMapping
from handrail.model.remembered import ASKED, Remembered
from tests.decode.quiet import QUIETLY
from tests.decode.records import AT, EXAMPLES, alert, example, fired, record, webhook

LATER = AT + timedelta(hours=3)


def anew(value: bytes, **how: Any) -> Any:
    """As by a process that has read nothing yet."""
    for kept in (repeats._webhooks, repeats._log_records):
        kept.__init__(repeats.LIMIT)  # type: ignore[misc]
    return decode(record(value, **how))


@pytest.mark.parametrize("path", sorted(path for path in EXAMPLES.rglob("*") if path.is_file()), ids=lambda p: p.name)
def test_every_example_is_read_later_as_if_it_had_never_been_read(path: Any) -> None:
    value = path.read_bytes()
    expected = anew(value, at=LATER)
    anew(value, at=AT)
    for at in (AT, LATER):  # kept the second time, known the third
        found = decode(record(value, at=at))
    assert found == expected


def test_an_alert_of_the_api_that_ends_meanwhile_is_resolved_when_it_comes_again() -> None:
    ends = (AT + timedelta(hours=1)).isoformat()
    value = json.dumps([{**fired(), "status": None, "endsAt": ends}]).encode()
    assert [decode(record(value, at=at)).alerts[0].status for at in (AT, AT, LATER)] == ["firing", "firing", "resolved"]
    group = json.dumps(webhook({**fired(), "status": None, "endsAt": ends})).encode()
    assert [decode(record(group, at=at)).alerts[0].status for at in (AT, AT, LATER)] == ["firing", "firing", "resolved"]


def test_a_log_record_that_repeats_has_its_own_trace_and_changes_nothing_of_the_first() -> None:
    data = LogsData.FromString(example("otlp_logs_alert.pb"))
    before = data.SerializeToString()
    first = [decode(record(before)).alerts[0] for _ in range(3)][-1]
    entry = data.resource_logs[0].scope_logs[0].log_records[0]
    entry.trace_id, entry.time_unix_nano = bytes(range(16)), entry.time_unix_nano + 7
    (second, *_) = decode(record(data.SerializeToString(), at=LATER)).alerts
    assert second == first.model_copy(update={"trace_id": bytes(range(16)).hex(), "seen_at": LATER})
    assert decode(record(before)).alerts[0] == first


def test_what_is_kept_for_one_topic_is_nothing_to_one_that_is_configured_otherwise() -> None:
    value = json.dumps(webhook(fired())).encode()
    assert len(decode(record(value)).alerts) == 1
    assert decode(record(value), encoding="otlp_json").alerts == ()
    logs = example("otlp_logs_alert.pb")
    assert decode(record(logs)).alerts[0].name == "KubePodCrashLooping"
    mapped = decode(record(logs), mapping=AlertMapping(name=("alert.fingerprint",)))
    assert mapped.alerts[0].name == "d8a996930ec281b4"


labels = st.dictionaries(
    st.sampled_from(["alertname", "namespace", "pod", "job", "uid", "severity"]), st.text(max_size=9)
)


@QUIETLY
@given(st.lists(st.tuples(labels, st.sampled_from([None, AT, LATER])), min_size=1, max_size=6))
def test_who_an_alert_is_does_not_depend_on_those_before_it(said: list[tuple[dict[str, str], Any]]) -> None:
    alerts: list[Alert] = [alert(words, name="A", starts_at=since) for words, since in said * 3]
    for one in alerts:
        came = arrival(one, "prod", ())
        assert (came.identity, came.episode) == (identity(one, labelled_target(one), "prod"), episode(one))


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first() -> None:
    kept: Remembered[int, str] = Remembered(1000)
    for number in range(300):
        kept.keep(number, str(number), 10)
    assert [number for number in range(300) if kept.get(number)] == list(range(200, 300))
    kept.keep(1000, "too heavy", 11)
    assert kept.get(1000) is None


def test_a_body_of_many_small_alerts_weighs_what_they_take() -> None:
    """The alert of fifty bytes of text is far larger than that: a stranger may send a thousand of them at once."""
    bodies = [
        json.dumps(webhook(*({"status": "firing", "labels": {"alertname": f"{body}-{n}"}} for n in range(60)))).encode()
        for body in range(20)
    ]
    anew(bodies[0])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for value in bodies * 2:
        decode(record(value))
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    kept = repeats._webhooks
    assert len(kept._kept) == len(bodies)
    assert taken < 2 * kept._weight


def test_a_log_record_weighs_all_that_is_kept_of_it() -> None:
    """The name of an event is anybody's to choose, and of any length."""
    data = LogsData.FromString(example("otlp_logs_alert.pb"))
    entry = data.resource_logs[0].scope_logs[0].log_records[0]
    bodies = []
    for number in range(20):
        entry.event_name = f"{number}{'x' * 10_000}"
        bodies.append(data.SerializeToString())
    anew(bodies[0])
    for value in bodies * 2:
        decode(record(value))
    kept = repeats._log_records
    assert len(kept._kept) >= len(bodies)
    assert sum(len(said[1]) for said in kept._kept) <= kept._weight


def test_only_what_was_asked_before_is_worth_keeping_and_the_memory_of_questions_is_bounded() -> None:
    kept: Remembered[int, str] = Remembered(1000)
    assert [kept.recurs(number) for number in (7, 7, 8, 7)] == [False, True, False, True]
    assert not any(kept.recurs(number) for number in range(100, 100 + 2 * ASKED))
    assert len(kept._asked) <= ASKED
    assert not kept.recurs(7), "forgotten: it costs a look"
