"""Times as senders write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.decode.times import _from_text, time_of
from tests.decode.quiet import QUIETLY

WHEN = datetime(2026, 3, 2, 9, 15, 30, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    "said",
    [
        "2026-03-02T09:15:30.123456Z",
        "2026-03-02T09:15:30.123456789Z",
        "2026-03-02t09:15:30.123456z",
        "2026-03-02T10:15:30.123456+01:00",
        "2026-03-02T04:15:30.123456-0500",
        "2026-03-02 09:15:30.123456789 +0000 UTC",
        "2026-03-02 10:15:30.123456 +0100 CET m=+12.000000001",
        1772442930123456,
        1772442930123456789,
        "1772442930123456789",
        1772442930.123456,
    ],
)
def test_these_are_one_and_the_same_time(said: object) -> None:
    assert time_of(said) == WHEN


def test_seconds_and_milliseconds_are_told_apart_by_magnitude() -> None:
    assert time_of(1772442930) == WHEN.replace(microsecond=0)
    assert time_of("1772442930123") == WHEN.replace(microsecond=123000)


@pytest.mark.parametrize(
    "said",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01 00:00:00 +0000 UTC",
        "0001-01-01T00:00:00+14:00",
        "1970-01-01T00:00:00Z",
        "0",
        "",
        0,
        0.0,
        None,
        True,
        -1772442930,
        10**11,
        10**30,
        float("nan"),
        float("inf"),
        "2026-03-02T09:15:30",
        "2026-02-30T09:15:30Z",
        "2026-03-02T25:15:30Z",
        "2026-03-02T09:15:30+99:00",
        "9999-12-31T23:59:59-12:00",
        "02/03/26 09:29:00",
        "yesterday",
        ["2026-03-02T09:15:30Z"],
    ],
)
def test_zero_times_and_what_cannot_be_read_are_none(said: object) -> None:
    assert time_of(said) is None


@QUIETLY
@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_what_is_written_is_read_back(when: datetime) -> None:
    assert time_of(when.isoformat()) == when
    assert time_of(when.isoformat().replace("+00:00", "Z")) == when


@QUIETLY
@given(st.text(max_size=60) | st.integers() | st.floats() | st.none())
def test_any_value_is_a_time_in_utc_or_none(value: object) -> None:
    when = time_of(value)
    assert when is None or when.utcoffset() == WHEN.utcoffset()


@QUIETLY
@given(
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,9})?Z", fullmatch=True),
    st.integers(0, 30),
    st.sampled_from([*"0123456789-:.,TZtz +W", ""]),
)
def test_the_quick_way_reads_what_the_careful_one_reads(text: str, at: int, char: str) -> None:
    for said in (text, text[:at] + char + text[at + 1 :], text[:at] + char + text[at:]):
        assert time_of(said) == _from_text(said.strip())
