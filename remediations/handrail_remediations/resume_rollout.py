"""Resume a rollout: lets a Deployment roll on that a deploy bot paused and then left alone.

Decides whether the bot has gone and what would roll out is well. A pause of a person's, by their note or their tool,
is theirs. A person signs it off always.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from handrail.model import marks, rollout
from handrail.model.guards import being_deleted, full_outage, managed
from handrail.model.reason import Reason, Refusal
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
    Verdict,
    Verification,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value, digest, moment
from handrail.model.workload import Workload, bare_template, container_states
from handrail.model.write import Verb, Write

_WORD = re.compile(r"[\w./-]{1,60}", re.ASCII)

GONE_AFTER = timedelta(minutes=30)
"""A bot that has not touched the Deployment for so long is not in the middle of anything."""


class ResumeRollout:
    """Disruptive: pods of the older revision are replaced by the Deployment's own strategy."""

    name = "resume_rollout"
    risk = Risk.DISRUPTIVE
    kinds = frozenset({"Deployment"})
    needs = (Rule(api_group="apps", resources=("deployments",), verbs=("patch",)),)
    admits = ("/spec/paused",)
    bounds: tuple[Bound, ...] = ()
    way_back = "it is paused again; what was replaced by then stays"

    class Params(Value):
        pass

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        return Seen(workload=workload) if workload else None

    def why_not(self, seen: Seen) -> Refusal | None:
        w = seen.workload
        held = being_deleted(w) or managed(w)
        return held or _not_paused(w) or _a_persons(w) or _not_gone(w) or _unwell(w) or full_outage(w)

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        if self.why_not(seen):
            return ()
        w = seen.workload
        return (Candidate(params={}, summary=f"resume the rollout of {w.ref}, which {_manager(w)} paused and left"),)

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        return self.why_not(seen)

    def remember(self, seen: Seen, p: Params) -> Raw:
        w = seen.workload
        return {"ready": w.ready, "template": digest(bare_template(w.spec["template"]))}

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        ops = ({"op": "remove", "path": "/spec/paused"},)
        return (_write(seen.workload, ops, f"resume the rollout of {seen.workload.ref}"),)

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        if not seen.workload.paused:
            return Done(detail=f"{seen.workload.ref} rolls on")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: Seen, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        w = seen.workload
        if w.paused:
            return Verification(verdict=Verdict.NO_EFFECT, detail=f"somebody has paused {w.ref} again")
        return rollout.outcome(w, rollout.unwell(w, acted_at, now), before["ready"], acted_at, now)

    def undo(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        """Pausing again stops it where it is: what has been replaced by then stays replaced."""
        w = seen.workload
        if w.paused:
            return Undone(detail=f"{w.ref} is paused, as before")
        if digest(bare_template(w.spec["template"])) != before["template"]:
            return CannotUndo(detail="somebody has changed the template since; theirs rolls out")
        in_the_way = being_deleted(w) or managed(w)
        ops = ({"op": "add", "path": "/spec/paused", "value": True},)
        return CannotUndo(detail=in_the_way.detail) if in_the_way else _write(w, ops, f"pause {w.ref} again")


def _not_paused(w: Workload) -> Refusal | None:
    return None if w.paused else Refusal(reason=Reason.NO_CHANGE, detail=f"{w.ref} is not paused")


def _a_persons(w: Workload) -> Refusal | None:
    """By note, by tool, or by nobody that the API server can name: then it counts as a person's."""
    manager = _manager(w)
    if marks.note_of(w.object, marks.PAUSED_BY) or not manager or manager.startswith(marks.PEOPLES_TOOLS):
        return Refusal(reason=Reason.PAUSED, detail=f"a person paused {w.ref}; ask who, they know why")
    return None


def _not_gone(w: Workload) -> Refusal | None:
    """Any write of the same manager counts, whatever the field."""
    entries = [e for e in w.object["metadata"].get("managedFields") or () if e.get("manager") == _manager(w)]
    times = [moment(entry.get("time")) for entry in entries]
    if not times or any(at is None or w.observed_at - at < GONE_AFTER for at in times):
        detail = f"{_manager(w)} touched {w.ref} less than {GONE_AFTER.seconds // 60} minutes ago; it may go on itself"
        return Refusal(reason=Reason.TOO_EARLY, detail=detail)
    return None


def _unwell(w: Workload) -> Refusal | None:
    """What has been rolled out of the new revision so far must run; none of it is no proof."""
    new = w.current
    pods = rollout.live(w.pods_of(new)) if new else ()
    states = [state.get("state") or {} for pod in pods for state in container_states(pod)]
    if not pods or any((state.get("waiting") or {}).get("reason") in rollout.FAILING for state in states):
        detail = f"no pod of the newest revision of {w.ref} shows that it runs well"
        return Refusal(reason=Reason.NO_HEALTHY_REVISION, detail=detail)
    return None


def _manager(w: Workload) -> str:
    """ "" also for a name that is no word: whoever may patch chooses it, and people and the model read it."""
    name = str((marks.set_by(w.object, "paused") or {}).get("manager", ""))
    return name if _WORD.fullmatch(name) else ""


def _write(w: Workload, ops: tuple[Raw, ...], summary: str) -> Write:
    return Write(verb=Verb.PATCH, object=w.ref, ops=ops, summary=summary)


step = ResumeRollout()
