"""What an alert's name alone says, by the table of kube-prometheus alerts: how it is handled, and a first guess.

Decides nothing from labels or texts, and never corroborates: an alert is a claim. A name that the table doesn't hold
goes to a person; a single Kubernetes event opens nothing, a window of them does through other detectors. Traps: several
severities of one name fire together and are one trouble; a name is compared whole and with its case; Watchdog and
InfoInhibitor carry labels and mean no object; an alert about pods says nothing of why. Hands the planner a first guess
at the cause, which only what is looked at can bear out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict

from handrail.model.alert import Alert
from handrail.model.detector import Watches, Window
from handrail.model.finding import Finding
from handrail.model.labels import labelled_target
from handrail.model.occurrence import is_event
from handrail.model.trusted import trusted
from handrail_detectors._alerts import EVENT, UNKNOWN, table


class Params(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_found = trusted(Finding)
"""Every arriving alert has one: all of it comes from the table and from decoded labels."""


@dataclass(frozen=True)
class NamedAlert:
    """Exactly one finding per alert of the window, in its order."""

    name: str = "named_alert"
    watches: frozenset[Watches] = frozenset({Watches.ALERTS})
    Params: type[BaseModel] = Params
    reach: timedelta = timedelta(0)
    confirmed_by: str = "nothing: a name is a claim, and what is looked at afterwards has to bear it out"
    example: str = "A Deployment has fewer ready pods than it wants"

    def detect(self, window: Window, now: datetime, params: BaseModel) -> tuple[Finding, ...]:
        return tuple([self._finding(alert) for alert in window.alerts])

    def _finding(self, alert: Alert) -> Finding:
        row = table().get(alert.name) or (EVENT if is_event(alert) else UNKNOWN)
        return _found(
            detector=self.name,
            cause=row.cause,
            handling=row.handling,
            target=labelled_target(alert),
            severity=alert.severity or "warning",
            summary=row.hint,
            facts={"group": row.group} if row.group else {},
        )


detector = NamedAlert()
