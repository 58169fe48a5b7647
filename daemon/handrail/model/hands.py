"""The contract of the hands: the only thing that writes to the cluster, and what it answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from handrail.model.reason import Reason, Refusal
from handrail.model.switch import EVERYTHING, Permit, Reach
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.write import Write


class DryRun(Value):
    """The object as it is and as the API server says it would become (dryRun=All of the very same write).

    `after` is None for a delete or an eviction. `resource_version` is the one just read.
    """

    before: Raw
    after: Raw | None
    resource_version: str


class Held(Refusal):
    """The API server refused because of a stop that the cluster itself holds; `detail` is the reason that the person
    who put it there wrote."""

    reason: Reason = Reason.STOPPED
    reach: Reach = EVERYTHING


class Answer(StrEnum):
    """`done`: 2xx. `conflict`: 409, look for our key first. `refused`: the server said no, nothing was applied."""

    DONE = "done"
    CONFLICT = "conflict"
    REFUSED = "refused"


class Sent(Value):
    """`object` is the object after the write (with `done`, but for delete and evict). `held` goes with `refused`."""

    answer: Answer
    object: Raw | None = None
    reason: Reason | None = None
    detail: str = ""
    held: Held | None = None


class Hands(Protocol):
    """Raises Transient where surely nothing was sent, OutcomeUnknown where nobody can tell whether it was applied."""

    async def read(self, ref: ObjectRef) -> Raw | None:
        """The live object by name, whatever its UID; None when there is none."""
        ...

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        """Reads, then sends the write with dryRun=All, `metadata.uid` and the resourceVersion just read."""
        ...

    async def send(self, permit: Permit) -> Sent:
        """The write itself, exactly once: never retried in here."""
        ...
