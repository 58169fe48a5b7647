"""The whole tree of what is raised. A refusal is not here: a refusal is a value (`reason.Refusal`).

HandrailError
├── Transient        the other side is away or busy: try again after `retry_after` seconds
│   └── NotYet       nothing is away, others come first: the journal says so once, the log not at each look
├── Permanent        trying again can't help: say why and go on without it
│   ├── NotAllowed   the other side knows who asks, and says no
│   ├── BadConfig    the configuration is wrong: the message names the key and what to do
│   └── Undecodable  bytes that are no alert: they go to the dead-letter topic with the reason
├── OutcomeUnknown   a write was sent and its answer was lost: look before anything else
├── HeadMoved        somebody appended to the journal meanwhile: fold again and decide anew
├── Damaged          a journal is not what was written: nothing is done with its incident, and people are told
├── UnknownEvent     the store holds a word that a newer build wrote: leave the incident to it
└── Bug              an invariant of ours broke; the reconciler hands the incident to a person
"""

from __future__ import annotations


class HandrailError(Exception):
    """Root of the tree."""


class Transient(HandrailError):
    """`retry_after` is in seconds."""

    def __init__(self, message: str, *, retry_after: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotYet(Transient):
    """Its turn comes later."""


class Permanent(HandrailError):
    """Will not get better by itself."""


class NotAllowed(Permanent):
    """A right is missing; the message says which."""


class BadConfig(Permanent):
    """Message form: `key.path: what is wrong; what to do`."""


class Undecodable(Permanent):
    """`reason` is a `Reason` value's text and ends in the dead letter's headers."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class OutcomeUnknown(HandrailError):
    """The request may or may not have been applied (design, state rule 3)."""


class HeadMoved(HandrailError):
    """The journal's head is no longer the seq that the decision was made from (state rule 2)."""


class Damaged(HandrailError):
    """A row is missing, changed or unreadable: what it leads to can't be known, so nothing is decided from it."""


class UnknownEvent(HandrailError):
    """Fails closed: a build drives nothing whose events, or stops, it does not know the kind of (state rule 2)."""


class Bug(HandrailError):
    """Not bad luck but a broken promise."""
