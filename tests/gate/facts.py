"""What the gate is shown where nothing stands against the write, and how often it let somebody through."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from handrail.core.budgets import Spent
from handrail.core.gate import GateFacts
from handrail.model.condition import Condition
from handrail.model.incident import Incident
from handrail.model.switch import Switch
from tests.factories import NOW

NOTHING = Spent()


def facts_of(
    incident: Incident,
    *,
    now: datetime = NOW,
    switch: Switch | None = None,
    spent: Spent = NOTHING,
    conditions: tuple[Condition, ...] = (),
) -> GateFacts:
    """Of an incident that is this replica's own, with no other run on the same object."""
    return GateFacts(
        incident=incident,
        switch=switch or Switch(),
        epoch=1,
        holder_epoch=1,
        last_saga_at=None,
        busy_with="",
        now=now,
        conditions=conditions,
        spent=spent,
    )


def most_within(moments: Iterable[datetime], minutes: int) -> int:
    """Of any window that long, the most of them that fall into it."""
    times, window = sorted(moments), timedelta(minutes=minutes)
    return max((sum(first <= at < first + window for at in times) for first in times), default=0)
