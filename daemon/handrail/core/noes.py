"""Which reasons an event of the journal gives for a no, and what a model call cost. Pure: numbers are made of these."""

from __future__ import annotations

from handrail.model import events as ev
from handrail.model.reason import Reason


def reasons(event: ev.Event) -> tuple[str, ...]:
    """Their words; () for what is no no. Noise that is put away, and what heals by itself, was not refused."""
    match event:
        case ev.Offered():
            return tuple(no.reason for no in event.menu.not_offered)
        case ev.CompileRefused() | ev.StepFailed() | ev.Voided() | ev.HandedOver():
            return (event.reason,)
        case ev.Silenced():
            return (event.reason,)
        case ev.Outcome():
            return () if event.reason is None else (event.reason,)
        case ev.ModelAnswered():
            return () if event.failed is None else (event.failed,)
        case ev.Rejected():
            return (Reason.REJECTED,)
        case _:
            return ()
