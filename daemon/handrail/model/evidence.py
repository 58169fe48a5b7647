"""What was gathered about an incident: bounded, redacted, each piece with an id that a plan must cite."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from handrail.model.value import Value

LOGS = frozenset({"logs", "previous_logs"})
"""Kinds whose newest lines stand at the end: where one is cut, its end is kept."""


class Trust(StrEnum):
    """`api`: the Kubernetes API's typed fields. `metric`: a number. `text`: words of the world, hostile."""

    API = "api"
    METRIC = "metric"
    TEXT = "text"


class EvidenceItem(Value):
    """The journal's part of a piece of evidence; the whole text lies in the blob `digest` (value.digest of it).

    `id` is short and stable in an incident ("e1", "e2", ...). `excerpt` is its beginning, of logs its end, at most 600
    characters. `source` says where it was read, e.g. "kubernetes: events of Pod shop/checkout-x".
    """

    id: str
    kind: str
    source: str
    at: datetime
    trust: Trust
    title: str
    excerpt: str
    digest: str


class Away(Value):
    """A source that could not be asked. Named in the card and to the planner; not fatal."""

    source: str
    why: str


class Piece(Value):
    """What a gatherer returns: the item and its whole (bounded, redacted) text."""

    kind: str
    source: str
    at: datetime
    trust: Trust
    title: str
    text: str
