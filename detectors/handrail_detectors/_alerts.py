"""The table of kube-prometheus alerts: for each name how it is handled, and a first guess at the cause.

Shared by detectors. The rows are the rules of kube-prometheus and kubernetes-mixin, one for all severities of a name.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from handrail.model.finding import Cause, Handling

TABLE = "kube_prometheus.tsv"


class Row(NamedTuple):
    """One alert of the table. `group` is the rule group it ships in, `kind` the kind it is about ("-" for none)."""

    alert: str
    group: str
    kind: str
    handling: Handling
    cause: Cause
    hint: str


UNKNOWN = Row("", "", "-", Handling.DIAGNOSE, Cause.OTHER, "No rule knows this alert: a person has to look")
EVENT = Row("", "", "-", Handling.IGNORE, Cause.OTHER, "A single Kubernetes event opens nothing; many of them may")


@cache
def table() -> dict[str, Row]:
    """By alert name; several severities of one name share a row."""
    lines = files(__package__).joinpath(TABLE).read_text("utf-8").splitlines()[1:]
    return {row.alert: row for row in map(_row, lines)}


def _row(line: str) -> Row:
    alert, group, kind, handling, cause, hint = line.split("\t")
    return Row(alert, group, kind, Handling(handling), Cause(cause), hint)
