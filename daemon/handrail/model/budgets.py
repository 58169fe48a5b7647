"""How often the hands may act. A run is a saga that began to write: its first intent was committed.

What counts, and why an undo does not, is in docs/adr/0010-budgets-and-freezes.md; the counting is core/budgets.py.
"""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from handrail.model.step import Risk
from handrail.model.value import Value

LONGEST = timedelta(minutes=1440)
"""No window of a cluster's budget is longer: what the gate reads of all runs."""

LONGEST_OF_TARGET = timedelta(minutes=10_080)
"""The same of one object."""


class Budget(Value):
    """At most `most` runs begin within any `minutes`."""

    most: int = Field(default=10, ge=1, le=1000)
    minutes: int = Field(default=60, ge=1, le=1440)


class TargetBudget(Value):
    """The same, on one object."""

    most: int = Field(default=3, ge=1, le=1000)
    minutes: int = Field(default=1440, ge=1, le=10_080)


class RiskBudgets(Value):
    """By the class of a run's riskiest step; None counts that class to the cluster's budget alone."""

    safe: Budget | None = None
    reversible: Budget | None = None
    disruptive: Budget | None = Budget(most=6)
    dangerous: Budget | None = Budget(most=1)

    def of(self, risk: Risk) -> Budget | None:
        found: Budget | None = getattr(self, str(risk))
        return found


class Budgets(Value):
    """`at_once`: so many incidents write, or are watched or taken back after writing, at the same time."""

    per_target: TargetBudget = TargetBudget()
    per_cluster: Budget = Budget()
    per_risk: RiskBudgets = RiskBudgets()
    at_once: int = Field(default=3, ge=1, le=1000)
