"""Grafana's unified alerting: a webhook in Alertmanager's shape, of version "1" and with an `orgId`.

Believes no recovery that Grafana gives another reason for (a series that is missing, a rule that was paused). An alert
about missing data keeps its name: `labelled_target` finds no object in it, since its labels don't name any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.decode import alertmanager
from handrail.decode.parts import Origin, Part, passed
from handrail.model.alert import Alert
from handrail.model.labels import STATE_REASON


def recognised(data: object) -> bool:
    """By `orgId`: Alertmanager has none, and its version is "4"."""
    return isinstance(data, dict) and "orgId" in data and isinstance(data.get("alerts"), list)


def parts_of(data: Mapping[str, object], origin: Origin) -> Iterator[Part]:
    """One part per alert."""
    for part in alertmanager.parts_of(data, origin, origin.cluster):
        yield _part(part)


def _part(part: Part) -> Part:
    if isinstance(part, Alert) and part.status == "resolved" and part.annotations.get(STATE_REASON):
        return passed("resolved by Grafana for another reason than recovery (grafana_state_reason)")
    return part
