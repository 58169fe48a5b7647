"""What an alert's name alone says, by the table of kube-prometheus alerts: how it is handled, and a first guess.

Decides nothing from labels or texts, and never corroborates: an alert is a claim. A name that the table doesn't hold
goes to a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from handrail.model.alert import Alert
from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.labels import labelled_target
from handrail.model.trusted import trusted

TABLE = "kube_prometheus.tsv"


class Params(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(NamedTuple):
    """One alert of the table. `group` is the rule group it ships in, `kind` the kind it is about ("-" for none)."""

    alert: str
    group: str
    kind: str
    handling: Handling
    cause: Cause
    hint: str


_found = trusted(Finding)
"""Every arriving alert has one: all of it comes from the table and from decoded labels."""

UNKNOWN = Row("", "", "-", Handling.DIAGNOSE, Cause.OTHER, "No rule knows this alert: a person has to look")


@cache
def table() -> dict[str, Row]:
    """By alert name; several severities of one name share a row."""
    lines = files(__package__).joinpath(TABLE).read_text("utf-8").splitlines()[1:]
    return {row.alert: row for row in map(_row, lines)}


def _row(line: str) -> Row:
    alert, group, kind, handling, cause, hint = line.split("\t")
    return Row(alert, group, kind, Handling(handling), Cause(cause), hint)


@dataclass(frozen=True)
class NamedAlert:
    """Exactly one finding per alert of the window, in its order."""

    name: str = "named_alert"
    watches: frozenset[Watches] = frozenset({Watches.ALERTS})
    Params: type[BaseModel] = Params

    def detect(self, window: Window, now: datetime, params: BaseModel) -> tuple[Finding, ...]:
        return tuple(self._finding(alert) for alert in window.alerts)

    def _finding(self, alert: Alert) -> Finding:
        row = table().get(alert.name, UNKNOWN)
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
