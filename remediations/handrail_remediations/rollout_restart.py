"""Restart a workload: replaces all its pods with equal ones, by its own rollout strategy.

Decides whether a restart is safe. It never restarts during a rollout, below a quorum, or what others put back. A
restart mends no bad revision and hides many causes, so a person is always asked, and there is no way back.
"""

from __future__ import annotations

from datetime import datetime

from handrail.model import rollout
from handrail.model.guards import (
    being_deleted,
    below_majority,
    held_by_a_person,
    managed,
    rolled_out_by_hand,
    rolling_out,
)
from handrail.model.params import CompileTime
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
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload
from handrail.model.write import Verb, Write

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
"""The annotation that people's own tools use, so that their history shows ours beside theirs."""


class RolloutRestart:
    """Disruptive: every pod is replaced."""

    name = "rollout_restart"
    risk = Risk.DISRUPTIVE
    kinds = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
    needs = (Rule(api_group="apps", resources=("deployments", "statefulsets", "daemonsets"), verbs=("patch",)),)
    admits = ("/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt",)
    bounds: tuple[Bound, ...] = ()
    way_back = "none: the old pods are gone"

    class Params(Value):
        at: CompileTime

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        return Seen(workload=workload) if workload else None

    def why_not(self, seen: Seen) -> Refusal | None:
        """All that stands against it: the time makes no difference."""
        w = seen.workload
        held = being_deleted(w) or managed(w) or held_by_a_person(w) or rolled_out_by_hand(w)
        return held or rolling_out(w) or below_majority(w, 1)

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        if self.why_not(seen):
            return ()
        w = seen.workload
        pods = rollout.counts(w).desired
        return (Candidate(params={}, summary=f"restart {w.ref}: replace its {pods} pods by its rollout strategy"),)

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        return self.why_not(seen) or _no_change(seen.workload, _text(p.at))

    def remember(self, seen: Seen, p: Params) -> Raw:
        w = seen.workload
        return {
            "restarted_at": _restarted_at(w),
            "ready": rollout.counts(w).ready,
            "desired": rollout.counts(w).desired,
        }

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        """The map is made where it is missing: a JSON patch can't add a key to nothing."""
        w = seen.workload
        value, path = _text(p.at), "/spec/template/metadata/annotations"
        there = _annotations(w) is not None
        op = (
            {"path": f"{path}/{_escaped(RESTARTED_AT)}", "value": value}
            if there
            else {"path": path, "value": {RESTARTED_AT: value}}
        )
        summary = f"restart {w.ref}"
        return (Write(verb=Verb.PATCH, object=w.ref, ops=({"op": "add", **op},), summary=summary),)

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Done | Refusal:
        """Done is asked first: our own restart is a rollout in progress, which `check` refuses."""
        if _restarted_at(seen.workload) == _text(p.at):
            return Done(detail=f"{seen.workload.ref} is restarting since {_text(p.at)}")
        return self.check(seen, p) or self.writes(seen, p)[0]

    def verify(self, seen: Seen, p: Params, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        w = seen.workload
        if _restarted_at(w) != _text(p.at):
            detail = "somebody has changed the template since; it no longer carries this restart's mark"
            return Verification(verdict=Verdict.NO_EFFECT, detail=detail)
        return rollout.outcome(w, rollout.unwell(w, acted_at, now), before["ready"], acted_at, now)

    def undo(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Undone | CannotUndo:
        if _restarted_at(seen.workload) == before["restarted_at"]:
            return Undone(detail="it was not restarted")
        return CannotUndo(
            detail="a restart can't be taken back: the old pods are gone, and removing its mark restarts again"
        )


def _no_change(w: Workload, text: str) -> Refusal | None:
    if _restarted_at(w) == text:
        return Refusal(reason=Reason.NO_CHANGE, detail=f"{w.ref} was restarted at {text} already")
    return None


def _annotations(w: Workload) -> Raw | None:
    annotations: Raw | None = (w.spec["template"].get("metadata") or {}).get("annotations")
    return annotations


def _restarted_at(w: Workload) -> str:
    return str((_annotations(w) or {}).get(RESTARTED_AT, ""))


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


step = RolloutRestart()
