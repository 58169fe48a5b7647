"""What the daemon counts of itself while it works. A contract: it decides nothing and never fails."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from handrail.model.reason import Reason


class Signs(Protocol):
    """`stage` is the state of the lifecycle in which the no was said, or `intake`, `answer`, `switch`, `read`."""

    def refused(self, reason: Reason, stage: str, times: int = 1) -> None:
        """A no that stands in no journal: nothing is written for it."""

    def beat(self, at: datetime) -> None:
        """The reconciler has looked at every open incident, with the store there to say which these are."""


class NoSigns:
    """Where nobody asks for numbers."""

    def refused(self, reason: Reason, stage: str, times: int = 1) -> None:
        return None

    def beat(self, at: datetime) -> None:
        return None
