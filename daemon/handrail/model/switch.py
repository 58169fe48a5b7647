"""The stop switch and the permit: what the gate's transaction reads and what it alone gives out."""

from __future__ import annotations

from datetime import datetime

from handrail.model.value import Value
from handrail.model.write import Write


class Switch(Value):
    """`stopped` blocks every new intent on every replica; results of what is in flight are still recorded."""

    stopped: bool = False
    by: str = ""
    why: str = ""
    at: datetime | None = None


class Permit(Value):
    """Given only by the store, in the transaction that committed the intent. Hands writes nothing without one.

    `resource_version` is the version just read, which the write must name; `attempt` counts from 1.
    """

    incident: str
    write: Write
    resource_version: str
    attempt: int
