"""Hostile text and sizes are bounded where they come in."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.correlate import labelled_target
from handrail.decode import MAX_RECORD, How, decode, decode_in_turns, parts
from handrail.decode.parts import MAX_ALERTS, MAX_REFUSED
from handrail.decode.text import MAX_KEY, MAX_LABELS, MAX_VALUE, clean, text_of, words_of
from handrail.model.reason import Reason
from tests.decode.quiet import QUIETLY
from tests.decode.records import decoded, example, fired, record, webhook


@pytest.mark.parametrize(("value", "detail"), [(None, "a tombstone"), (b"", "an empty value")])
def test_a_tombstone_is_no_alert_and_no_resolve(value: bytes | None, detail: str) -> None:
    found = decode(record(value))
    assert found.alerts == ()
    assert [(part.reason, part.detail) for part in found.refused] == [(Reason.EMPTY, detail)]


def test_a_record_past_the_size_is_not_read_at_all() -> None:
    (refused,) = decode(record(b" " * (MAX_RECORD + 1))).refused
    assert refused.reason is Reason.TOO_LARGE


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (gzip.compress(b"{}", mtime=0), "gzip"),
        (b"\x28\xb5\x2f\xfd123", "zstd"),
        (b"\x04\x22\x4d\x18123", "lz4"),
        (b"\x00\x00\x00\x00\x07abc", "schema-registry"),
    ],
)
def test_packed_and_framed_values_are_refused_by_name(value: bytes, word: str) -> None:
    (refused,) = decode(record(value)).refused
    assert refused.reason is Reason.UNKNOWN_FORMAT
    assert word in refused.detail


def test_a_request_to_subscribe_is_refused_and_says_that_its_address_is_never_called() -> None:
    sent = {"Type": "SubscriptionConfirmation", "MessageId": "1", "SubscribeURL": "https://sns.example/?Token=x"}
    (refused,) = decoded(sent).refused
    assert refused.detail == "an SNS subscription request: confirm it by hand: its address is never called"


@pytest.mark.parametrize("value", [b"[" * 200_000, b'{"a":' * 200_000, b'{"version": "4", "alerts": [' + b"[" * 99_999])
def test_deep_nesting_is_malformed(value: bytes) -> None:
    (refused,) = decode(record(value)).refused
    assert refused.reason is Reason.MALFORMED


def test_a_number_of_very_many_digits_is_malformed() -> None:
    (refused,) = decode(record(b'{"version": "4", "alerts": [' + b"7" * 10_000 + b"]}")).refused
    assert refused.reason is Reason.MALFORMED


@pytest.mark.parametrize("beside", [[], [None]])
def test_of_more_alerts_than_the_bound_none_is_taken(beside: list[None]) -> None:
    assert len(decoded(webhook(*beside, *[fired()] * MAX_ALERTS)).alerts) == MAX_ALERTS
    found = decoded(webhook(*beside, *[fired()] * (MAX_ALERTS + 5)))
    assert found.alerts == ()
    (refused,) = found.refused
    assert refused.reason is Reason.TOO_LARGE
    assert f"more than {MAX_ALERTS} alerts at once: nothing of it was taken" in refused.detail


def test_alertmanagers_alerts_are_bounded_by_the_bytes_of_a_record_before_their_number_is() -> None:
    """One as a rule of the Kubernetes mixin makes it."""
    (real, *_) = json.loads(example("alertmanager_webhook_v4_firing.json"))["alerts"]
    assert MAX_RECORD // len(json.dumps(real, separators=(",", ":"))) <= MAX_ALERTS


LEAST, SOME = 20, 4


@QUIETLY
@given(st.lists(st.sampled_from(["alert", "bad", "not an object"]), max_size=60), st.booleans())
def test_no_part_of_a_record_is_ever_neither_taken_nor_refused(kinds: list[str], turns: bool) -> None:
    items = {"alert": fired(), "bad": {"labels": {}}, "not an object": 7}
    body = record(json.dumps(webhook(*(items[kind] for kind in kinds))).encode())
    with pytest.MonkeyPatch.context() as less:
        less.setattr(parts, "MAX_ALERTS", LEAST)
        less.setattr(parts, "MAX_REFUSED", SOME)
        found = parts.run_out(decode_in_turns(body, How())) if turns else decode(body)
    alerts = kinds.count("alert")
    if alerts > LEAST:
        assert found.alerts == ()
        assert [part.reason for part in found.refused] == [Reason.TOO_LARGE]
    else:
        assert len(found.alerts) == alerts
        assert sum(part.times for part in found.refused) == max(len(kinds), 1) - alerts


@QUIETLY
@given(st.lists(st.sampled_from([True, False]), max_size=300))
def test_what_is_read_in_turns_is_read_as_at_once(good: list[bool]) -> None:
    items = (fired({"alertname": f"A{n}"}) if one else {"labels": {}} for n, one in enumerate(good))
    body = record(json.dumps(webhook(*items)).encode())
    turns = decode_in_turns(body, How())
    assert parts.run_out(turns) == decode(body)


def test_a_large_record_gives_way_again_and_again() -> None:
    body = record(json.dumps(webhook(*[fired()] * 1000)).encode())
    assert sum(1 for _ in decode_in_turns(body, How())) == 1000 // parts.TURN


def test_refusals_past_the_bound_are_counted_and_a_late_alert_is_still_found() -> None:
    found = decoded(webhook(*[None] * (MAX_REFUSED + 5), fired()))
    assert len(found.alerts) == 1
    assert len(found.refused) == MAX_REFUSED + 1
    assert found.refused[-1].detail == "5 more parts were refused"


def test_of_too_many_labels_those_that_name_the_object_are_kept() -> None:
    many = {f"a{n:03}": "x" for n in range(200)}
    labels = {**many, "alertname": "A", "namespace": "shop", "deployment": "checkout", "severity": "critical"}
    (alert,) = decoded(webhook(fired(labels))).alerts
    assert len(alert.labels) == MAX_LABELS
    assert (str(labelled_target(alert)), alert.severity) == ("Deployment shop/checkout", "critical")


def test_long_values_are_cut_and_long_keys_left_out() -> None:
    labels = {"alertname": "A" * 999, "long": "v" * 9999, "k" * (MAX_KEY + 1): "x"}
    (alert,) = decoded(webhook(fired(labels))).alerts
    assert len(alert.labels["long"]) == MAX_VALUE
    assert len(alert.name) == MAX_KEY
    assert set(alert.labels) == {"alertname", "long"}


def test_what_no_database_takes_is_replaced_and_never_makes_another_name() -> None:
    labels = {"alertname": "A", "namespace": "shop", "deployment": "a\x00pi", "half": "x\ud800y"}
    (alert,) = decoded(json.dumps(webhook(fired(labels))).encode()).alerts
    assert alert.labels["deployment"] == "a\ufffdpi"
    assert labelled_target(alert) is None
    assert alert.labels["half"].encode()


def test_text_that_turns_the_reading_direction_is_replaced_and_line_breaks_stay() -> None:
    assert clean("safe\u202egnp.exe\n\tnext \u200f!") == "safe\ufffdgnp.exe\n\tnext \ufffd!"


@QUIETLY
@given(st.text(), st.integers(min_value=0, max_value=50))
def test_clean_text_is_short_utf_8_without_control_characters(text: str, limit: int) -> None:
    kept = clean(text, limit)
    assert len(kept) <= limit
    assert kept.encode("utf-8").decode() == kept
    assert not any(ord(char) < 32 and char not in "\n\t" for char in kept)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=30,
)


@QUIETLY
@given(JSON)
def test_any_value_has_a_text_within_the_bound(value: object) -> None:
    assert len(text_of(value)) <= MAX_VALUE


@QUIETLY
@given(st.dictionaries(st.text(max_size=300), JSON, max_size=100))
def test_any_map_becomes_bounded_words(value: dict[str, object]) -> None:
    words = words_of(value)
    assert len(words) <= MAX_LABELS
    assert all(0 < len(key) <= MAX_KEY and 0 < len(text) <= MAX_VALUE for key, text in words.items())
