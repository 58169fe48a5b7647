"""The controllers of the simulated cluster: each compares what is wanted with what is there and does one step.

A controller is a function of the cluster as it stands; it keeps nothing between two calls but what the objects say.
Each returns the time at which it wants to be called again even if nothing changes, or None.
"""

from collections.abc import Callable
from datetime import datetime

from ..registry import Registry

Controller = Callable[[Registry, datetime], datetime | None]


def soonest(*times: datetime | None) -> datetime | None:
    """The first of these times; None is never."""
    known = [time for time in times if time is not None]
    return min(known) if known else None
