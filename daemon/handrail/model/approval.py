"""Asking and answering: an approval is for exactly one rehearsal, by the right people, once, before a deadline."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import model_validator

from handrail.model.value import Value


class Approvers(Value):
    """Who may decide. Empty everywhere means nobody: an empty list never means all.

    `slack_users` are member ids (U...); `users` and `groups` are the API server's words (TokenReview);
    `local` allows the owner of the daemon's own process through its socket (the demo).
    """

    slack_users: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    local: bool = False


class Readers(Value):
    """Who may read besides those who may decide or stop; the API server's words (TokenReview). Empty means nobody."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class ApprovalRequest(Value):
    """`id` is opaque and rides in the Slack button. `expires` is for the first intent, `run_until` for later ones."""

    id: str
    hash: str
    asked_at: datetime
    expires: datetime
    run_until: datetime
    approvers: Approvers

    @model_validator(mode="before")
    @classmethod
    def _as_first_written(cls, data: Any) -> Any:
        """The first builds wrote `undo_included`, always true and read by nobody: whether an undo stood on the card is
        seen by its diff in the rehearsal."""
        return {key: value for key, value in data.items() if key != "undo_included"} if isinstance(data, dict) else data


class Person(Value):
    """Who pressed: `via` is slack, kubernetes or local, `name` that system's own id; groups only from TokenReview."""

    via: str
    name: str
    groups: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.via}:{self.name}"
