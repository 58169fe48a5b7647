"""Undo a rollout: puts a Deployment's pod template back to that of an older revision whose pods are ready now.

Decides which revisions are safe to go back to. "The previous number" never counts: health does (cases 23). It never
undoes its own undo, and never touches what a GitOps tool, an operator or a pausing person holds.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from handrail.model import rollout
from handrail.model.guards import being_deleted, held_by_a_person, managed, not_observed
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
from handrail.model.value import Raw, Value, digest
from handrail.model.workload import Workload, bare_template, is_ready, revision_of, same_template
from handrail.model.write import KEY_ANNOTATION, Verb, Write

REUSED = "deployment.kubernetes.io/revision-history"
"""The controller leaves this on a ReplicaSet that became current again: the last rollout went back, not forward."""


class RolloutUndo:
    """Disruptive: every pod of the current revision is replaced, by the Deployment's own strategy."""

    name = "rollout_undo"
    risk = Risk.DISRUPTIVE
    kinds = frozenset({"Deployment"})
    needs = (Rule(api_group="apps", resources=("deployments",), verbs=("patch",)),)
    admits = ("/spec/template",)
    bounds: tuple[Bound, ...] = ()

    class Params(Value):
        to_revision: int = Field(ge=1)

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        return Seen(workload=workload) if workload else None

    def why_not(self, seen: Seen) -> Refusal | None:
        """What stands against going back at all, whatever the revision."""
        w = seen.workload
        return _guards(w) or _unless(_healthy(w), f"no older revision of {w.ref} has a ready pod now")

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        """The three newest healthy revisions, newest first."""
        w = seen.workload
        fit = () if _guards(w) else sorted(map(revision_of, _healthy(w)), reverse=True)
        return tuple(
            Candidate(params={"to_revision": n}, summary=f"undo the rollout of {w.ref} to revision {n}")
            for n in fit[:3]
        )

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        w = seen.workload
        target = _revision(w, p.to_revision)
        if target is not None and same_template(target["spec"]["template"], w.spec["template"]):
            return Refusal(reason=Reason.NO_CHANGE, detail=f"{w.ref} runs the template of revision {p.to_revision}")
        fit = [rs for rs in _healthy(w) if rs is target]
        return _guards(w) or _unless(fit, f"revision {p.to_revision} of {w.ref} is not older with a ready pod")

    def remember(self, seen: Seen, p: Params) -> Raw:
        """`to` is the digest of the target's template: once current again, a revision gets a new number."""
        w = seen.workload
        to = [digest(write.ops[0]["value"]) for write in self.writes(seen, p)]
        counted = {"revision": _newest(w), "ready": w.ready, "desired": w.desired}
        return {"template": bare_template(w.spec["template"]), "to": "".join(to), **counted}

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        target = _revision(seen.workload, p.to_revision)
        return (_to(seen.workload, target["spec"]["template"], f"revision {p.to_revision}"),) if target else ()

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        """Done is asked first: after a crash this may be called again with the write already there."""
        if _is_back(seen.workload, before):
            return Done(detail=f"{seen.workload.ref} has the template of what was revision {p.to_revision}")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: Seen, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        w = seen.workload
        if not _is_back(w, before):
            return Verification(verdict=Verdict.NO_EFFECT, detail="somebody has changed the template since the undo")
        return rollout.outcome(w, rollout.unwell(w, acted_at, now), before["ready"], acted_at, now)

    def undo(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        w = seen.workload
        if same_template(w.spec["template"], before["template"]):
            return Undone(detail="it has the template that it had before")
        if not _is_back(w, before):
            return CannotUndo(detail="somebody has changed the template since; theirs stays")
        in_the_way = being_deleted(w) or managed(w) or held_by_a_person(w)
        revision = f"what was revision {before['revision']}"
        return CannotUndo(detail=in_the_way.detail) if in_the_way else _to(w, before["template"], revision)


def _guards(w: Workload) -> Refusal | None:
    return being_deleted(w) or managed(w) or held_by_a_person(w) or not_observed(w) or _history(w) or _own_undo(w)


def _unless(fit: list[Raw], detail: str) -> Refusal | None:
    return None if fit else Refusal(reason=Reason.NO_HEALTHY_REVISION, detail=detail)


def _history(w: Workload) -> Refusal | None:
    if all(rs is w.current for rs in w.replica_sets):
        return Refusal(reason=Reason.NO_HISTORY, detail=f"{w.ref} keeps no older ReplicaSet to go back to")
    return None


def _own_undo(w: Workload) -> Refusal | None:
    """A reused ReplicaSet under our key: another undo would land on the bad one again (kubernetes/website 6921)."""
    notes = (w.current["metadata"].get("annotations") or {}) if w.current else {}
    if REUSED in notes and KEY_ANNOTATION in (w.object["metadata"].get("annotations") or {}):
        detail = f"the last rollout of {w.ref} was an undo after a write of ours; a person must look at it"
        return Refusal(reason=Reason.LAST_CHANGE_WAS_OURS, detail=detail)
    return None


def _healthy(w: Workload) -> list[Raw]:
    """Older ReplicaSets with ready pods whose template differs; none while the current one is unknown."""
    older = [rs for rs in w.replica_sets if 0 < revision_of(rs) < _newest(w) and is_ready(rs)]
    return [rs for rs in older if not same_template(rs["spec"]["template"], w.spec["template"])]


def _revision(w: Workload, number: int) -> Raw | None:
    return next((rs for rs in w.replica_sets if revision_of(rs) == number), None)


def _newest(w: Workload) -> int:
    return revision_of(w.current) if w.current else 0


def _is_back(w: Workload, before: Raw) -> bool:
    return digest(bare_template(w.spec["template"])) == str(before["to"])


def _to(w: Workload, template: Raw, revision: str) -> Write:
    """A whole replacement: a merge would keep variables, containers and volumes that the new revision added."""
    return Write(
        verb=Verb.PATCH,
        object=w.ref,
        ops=({"op": "replace", "path": "/spec/template", "value": bare_template(template)},),
        summary=f"put the pod template of {w.ref} back to that of {revision}",
    )


step = RolloutUndo()
