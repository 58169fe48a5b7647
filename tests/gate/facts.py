"""What the gate is shown where nothing stands against the write."""

from __future__ import annotations

from datetime import datetime

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
