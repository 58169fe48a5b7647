"""A freeze: a window of time in which nothing new is written, declared beforehand in the policy.

Either by two moments, or weekly by the clock on the wall of a zone. Whether one stands now is core/freeze.py.
"""

from __future__ import annotations

from datetime import datetime, time
from enum import StrEnum
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AwareDatetime, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from handrail.model.namespace import NamespaceOrAny
from handrail.model.value import Value


class Day(StrEnum):
    """In the order of `date.weekday`."""

    MON = "mon"
    TUE = "tue"
    WED = "wed"
    THU = "thu"
    FRI = "fri"
    SAT = "sat"
    SUN = "sun"


def _moment(given: Any) -> Any:
    """YAML makes a datetime of what looks like one; a bare number would be read as seconds since 1970."""
    if isinstance(given, datetime) or (isinstance(given, str) and "T" in given.upper().replace(" ", "T")):
        return given
    raise ValueError("write a moment with its zone, such as 2026-12-18T18:00:00+01:00")


def _clock(given: Any) -> Any:
    """YAML reads 18:00 without quotes as the number 1080; "24:00" is the end of the day."""
    if isinstance(given, time):
        return given
    hours, colon, minutes = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not (colon and len(hours) == len(minutes) == 2 and (hours + minutes).isascii() and (hours + minutes).isdigit()):
        raise ValueError('write the time in quotes, such as "18:00"')
    if (hours, minutes) == ("24", "00"):
        return time(0)
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError('no clock shows that; the day ends at "24:00"')
    return time(int(hours), int(minutes))


Moment = Annotated[AwareDatetime, BeforeValidator(_moment)]
WallClock = Annotated[time, BeforeValidator(_clock, json_schema_input_type=str)]


class Weekly(Value):
    """Begins on each of `days` at `from` and ends at `until`, on the next day where that is not later. `zone` is an
    IANA name; summer time is its business."""

    days: tuple[Day, ...] = Field(min_length=1)
    begins: WallClock = Field(alias="from")
    ends: WallClock = Field(alias="until")
    zone: str = Field(min_length=1, max_length=60)

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("there is no such zone; write an IANA name such as Europe/Berlin or UTC") from None
        return zone

    @field_validator("ends")
    @classmethod
    def _not_nothing(cls, ends: time, known: ValidationInfo) -> time:
        """From midnight until midnight is a whole day; any other time until itself is a slip of the pen."""
        if ends == known.data.get("begins") and ends != time(0):
            raise ValueError('until is from: no time at all, or a whole day; write "00:00" until "24:00" for that')
        return ends


class Freeze(Value):
    """`namespaces` empty, or "*", is everything, nodes too. Either `from` and `until`, or `weekly`."""

    name: str = Field(min_length=1, max_length=60)
    reason: str = Field(min_length=1, max_length=300)
    namespaces: tuple[NamespaceOrAny, ...] = ()
    begins: Moment | None = Field(default=None, alias="from")
    ends: Moment | None = Field(default=None, alias="until")
    weekly: Weekly | None = None

    @field_validator("ends")
    @classmethod
    def _later(cls, ends: datetime | None, known: ValidationInfo) -> datetime | None:
        begins = known.data.get("begins")
        if ends is not None and begins is not None and ends <= begins:
            raise ValueError("until must be later than from")
        return ends

    @model_validator(mode="after")
    def _one_way(self) -> Freeze:
        whole = self.begins is not None and self.ends is not None
        neither = self.begins is None and self.ends is None
        if not (whole and self.weekly is None) and not (neither and self.weekly is not None):
            raise ValueError("write either both from and until, or weekly")
        return self
