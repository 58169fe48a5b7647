"""Known causes with known cures: the planner that needs no model."""

from handrail.adapters.runbooks.planner import RunbookPlanner

__all__ = ["RunbookPlanner"]
