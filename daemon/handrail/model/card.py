"""What a person decides from: one card for Slack, terminal and web. Its text is bounded, not yet escaped."""

from __future__ import annotations

from datetime import datetime

from handrail.model.incident import State
from handrail.model.value import Value


class Card(Value):
    """`diff` and `undo_diff` are unified diffs; `evidence` are one-line facts, most trusted first.

    `request` is the opaque id for the buttons, "" when nothing is asked. `status` is one plain sentence that says
    where the incident stands now; `next_action` what the reader can do about it, "" for nothing.
    """

    incident: str
    state: State
    title: str
    cluster: str
    target: str
    status: str
    next_action: str = ""
    diagnosis: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    away: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    diff: str = ""
    undo_diff: str = ""
    blast: str = ""
    approvers: str = ""
    expires: datetime | None = None
    request: str = ""
    decided: str = ""
