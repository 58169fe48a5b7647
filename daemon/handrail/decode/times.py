"""Times as senders write them: RFC 3339, Go's String form, and epoch numbers told apart by their magnitude.

Never guesses: a zero time, a time without an offset and anything unreadable is None. Not a word about the clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

FIRST_YEAR = 1971
"""Earlier years are zero times: 0001-01-01T00:00:00Z (Go), epoch 0 (protobuf)."""

MAGNITUDES = (
    (10**9, 1),
    (10**12, 10**3),
    (10**15, 10**6),
    (10**18, 10**9),
)
"""Smallest epoch value of a unit (each range is tenfold wide) and how many of it make a second."""

_TEXT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,18}))?"
    r" ?(?:([Zz])|([+-])(\d\d):?(\d\d))(?: [A-Za-z0-9+-]{1,8})?(?: m=[+-][\d.]{1,32})?",
    re.ASCII,
)
USUAL = 64
"""Characters; a longer text is no time of anybody's, or not worth remembering."""

_DIGITS = re.compile(r"\d{10,19}", re.ASCII)


def time_of(value: object) -> datetime | None:
    """UTC, cut to microseconds, from text or an epoch number in s, ms, µs or ns."""
    if isinstance(value, str):
        return _seen_before(value) if len(value) <= USUAL else _from_words(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _from_epoch(value)


def _from_epoch(value: float) -> datetime | None:
    """Whole numbers stay whole: a float loses the nanoseconds of 1772442930123456789."""
    unit = next((per for least, per in MAGNITUDES if least <= value < 10 * least), None)
    if unit is None:
        return None
    if isinstance(value, float):
        seconds, micros = divmod(round(value * 10**6 / unit), 10**6)
    else:
        seconds, micros = divmod(value * 10**6 // unit, 10**6)
    return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=micros)


def _from_words(value: str) -> datetime | None:
    if len(value) <= 30 and value[10:11] == "T" and value[-1:] == "Z":
        return _quickly(value)
    text = value.strip()
    return _from_epoch(int(text)) if _DIGITS.fullmatch(text) else _from_text(text)


_seen_before = lru_cache(maxsize=1024)(_from_words)
"""Alerts of a group began together, and an alert says the same start each time."""


def _quickly(text: str) -> datetime | None:
    """The form that nearly all senders use, read by the library, which is more lenient: the rest is checked here."""
    fraction = text[19:20] == "." and text[20:-1].isdecimal()
    whole = text[4:17:3] == "--T::" and text.isascii()
    if not whole or not (fraction or len(text) == 20):
        return _from_text(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return _from_text(text)
    return at if at.year >= FIRST_YEAR else None


def _from_text(text: str) -> datetime | None:
    parts = _TEXT.fullmatch(text)
    if parts is None or int(parts[1]) < FIRST_YEAR:
        return None
    year, month, day, hour, minute, second = (int(parts[n]) for n in range(1, 7))
    micros = int((parts[7] or "0")[:6].ljust(6, "0"))
    try:
        local = datetime(year, month, day, hour, minute, second, micros, _offset(parts))
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _offset(parts: re.Match[str]) -> timezone:
    if parts[8]:
        return UTC
    ahead = timedelta(hours=int(parts[10]), minutes=int(parts[11]))
    return timezone(-ahead if parts[9] == "-" else ahead)
