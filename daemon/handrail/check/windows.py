"""What the policy's freezes say of now and of the days to come: a slip of the pen shows in the dates."""

from __future__ import annotations

from datetime import datetime

from handrail.check.lines import Line, ok
from handrail.core import freeze
from handrail.core.words import one_line
from handrail.model.freeze import Freeze
from handrail.model.policy import Policy


def windows(policy: Policy, now: datetime) -> list[Line]:
    """One line for each freeze, none without any."""
    return [ok(f"freeze {one_line(one.name, 60)}", _line(one, now)) for one in policy.freezes]


def _line(one: Freeze, now: datetime) -> str:
    where = one_line(", ".join(one.namespaces), 200) or "everything"
    standing = freeze.all_standing((one,), now)
    if standing:
        return f"stands now, until {freeze.when(standing[0].until)}: nothing new is written in {where}"
    following = freeze.next_window(one, now)
    if following is None:
        return "is over; nothing is held by it any more"
    return f"next from {freeze.when(following.begins)} until {freeze.when(following.ends)}, for {where}"
