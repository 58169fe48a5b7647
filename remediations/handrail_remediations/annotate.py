"""Leave a note on a workload: whoever looks at it sees that Handrail has looked, and when.

Decides nothing but whether there is somebody to tell. The sentence is fixed, the time is the plan's: no text of an
alert, a log or a model ever gets onto an object. It mends nothing and says so.
"""

from __future__ import annotations

from datetime import datetime

from handrail.model import marks
from handrail.model.guards import being_deleted, operated
from handrail.model.params import CompileTime, stamp
from handrail.model.reason import Reason, Refusal
from handrail.model.rollout import outcome, unwell
from handrail.model.step import (
    Bound,
    Candidate,
    CannotUndo,
    Done,
    Eyes,
    Risk,
    Rule,
    Seen,
    Undone,
    Verification,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload
from handrail.model.write import Verb, Write


class Annotate:
    """Safe: an annotation of our own, which no controller reads."""

    name = "annotate"
    risk = Risk.SAFE
    kinds = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
    needs = (Rule(api_group="apps", resources=("deployments", "statefulsets", "daemonsets"), verbs=("patch",)),)
    admits: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    way_back = "the note is taken off, or put back to what it was"

    class Params(Value):
        at: CompileTime

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        return Seen(workload=workload) if workload else None

    def why_not(self, seen: Seen) -> Refusal | None:
        return being_deleted(seen.workload) or operated(seen.workload)

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        if self.why_not(seen):
            return ()
        return (Candidate(params={}, summary=f"leave a note on {seen.workload.ref} that Handrail has looked at it"),)

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        if _note(seen.workload) == _text(p.at):
            return Refusal(reason=Reason.NO_CHANGE, detail=f"the note is on {seen.workload.ref} already")
        return self.why_not(seen)

    def remember(self, seen: Seen, p: Params) -> Raw:
        return {"note": _note(seen.workload), "ready": seen.workload.ready}

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        return (_write(seen.workload, _text(p.at), f"leave a note on {seen.workload.ref}"),)

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        if _note(seen.workload) == _text(p.at):
            return Done(detail=f"the note is on {seen.workload.ref}")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: Seen, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        """A note heals nothing: it is healed only if the workload is, by itself."""
        return outcome(seen.workload, unwell(seen.workload, acted_at, now), before["ready"], acted_at, now)

    def undo(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        w, old = seen.workload, str(before["note"])
        if _note(w) == old:
            return Undone(detail="the note is what it was before")
        if _note(w) != _text(p.at):
            return CannotUndo(detail="somebody has changed the note since; theirs stays")
        return _write(w, old, f"take the note off {w.ref}")


def _note(w: Workload) -> str:
    return marks.note_of(w.object, marks.NOTE)


def _text(at: datetime) -> str:
    return f"{stamp(at)} Handrail has looked at this; ask it before you change what an open incident is about"


def _write(w: Workload, text: str, summary: str) -> Write:
    path = marks.pointer(marks.NOTE)
    op = {"op": "add", "path": path, "value": text} if text else {"op": "remove", "path": path}
    return Write(verb=Verb.PATCH, object=w.ref, ops=(op,), summary=summary)


step = Annotate()
