"""Undo a rollout: puts a workload's pod template back to that of an older revision whose pods are ready now.

Decides which revisions are safe to go back to. It never undoes its own undo, and never touches what a GitOps tool, an
operator or a pausing person holds. A StatefulSet's stuck pod is replaced too, one at a time: its controller never does.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from handrail.model import departure, revisions, rollout
from handrail.model.guards import (
    being_deleted,
    below_majority,
    full_outage,
    held_by_a_person,
    managed,
    not_observed,
    rolled_out_by_hand,
)
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
    Wait,
)
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value, digest
from handrail.model.workload import Workload, bare_template, same_template
from handrail.model.write import Verb, Write


class RolloutUndo:
    """Disruptive: every pod of the current revision is replaced, by the workload's own strategy."""

    name = "rollout_undo"
    risk = Risk.DISRUPTIVE
    kinds = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
    needs = (
        Rule(api_group="apps", resources=("deployments", "statefulsets", "daemonsets"), verbs=("patch",)),
        Rule(api_group="", resources=("pods",), verbs=("delete",), kinds=("StatefulSet",)),
    )
    admits = ("/spec/template",)
    bounds: tuple[Bound, ...] = ()
    way_back = "the template that it had before is put back; a pod that was replaced stays so"

    class Params(Value):
        to_revision: int = Field(ge=1)

    async def look(self, eyes: Eyes, target: ObjectRef) -> Seen | None:
        workload = await eyes.workload(target)
        if workload is None:
            return None
        jobs = await eyes.list("Job", target.namespace) if revisions.healthy(workload) else ()
        return Seen(workload=workload.model_copy(update={"jobs": jobs}))

    def why_not(self, seen: Seen) -> Refusal | None:
        w = seen.workload
        none = _unhealthy(f"no older revision of {w.ref} has a ready pod now")
        return _guards(w) or next((revisions.unfit(w, to) for to in revisions.healthy(w)), none)

    def propose(self, seen: Seen) -> tuple[Candidate, ...]:
        """The three newest healthy revisions, newest first."""
        w = seen.workload
        fit = () if _guards(w) else [to for to in revisions.healthy(w) if not revisions.unfit(w, to)]
        return tuple(
            Candidate(
                params={"to_revision": to.number},
                summary=f"undo the rollout of {w.ref} to revision {to.number}{revisions.beside(w, to)}",
            )
            for to in fit[:3]
        )

    def check(self, seen: Seen, p: Params) -> Refusal | None:
        w = seen.workload
        to = revisions.numbered(w, p.to_revision)
        if to is not None and same_template(to.template, w.spec["template"]):
            return Refusal(reason=Reason.NO_CHANGE, detail=f"{w.ref} runs the template of revision {p.to_revision}")
        if to is None or to not in revisions.healthy(w):
            return _guards(w) or _unhealthy(f"revision {p.to_revision} of {w.ref} is not older with a ready pod")
        return _guards(w) or revisions.unfit(w, to)

    def remember(self, seen: Seen, p: Params) -> Raw:
        """`to` is the digest of the target's template: once current again, a revision gets a new number."""
        w, to, now = seen.workload, revisions.numbered(seen.workload, p.to_revision), revisions.current(seen.workload)
        return {
            "template": bare_template(w.spec["template"]),
            "to": digest(to.template) if to else "",
            "stuck": [pod["metadata"]["uid"] for pod in revisions.stuck_pods(w)],
            "revision": now.number if now else 0,
            "ready": w.ready,
        }

    def writes(self, seen: Seen, p: Params) -> tuple[Write, ...]:
        w, to = seen.workload, revisions.numbered(seen.workload, p.to_revision)
        stuck = (_replace(pod) for pod in revisions.stuck_pods(w))
        return (_to(w, to.template, f"revision {p.to_revision}"), *stuck) if to else ()

    def next(self, seen: Seen, p: Params, before: Raw, now: datetime) -> Write | Wait | Done | Refusal:
        """What is done is asked first: after a crash this may be called again with any of the writes already there."""
        w = seen.workload
        if not _is_back(w, before):
            return self.check(seen, p) or self.writes(seen, p)[0]
        pod = departure.one_by_one(w, before.get("stuck", []), now)  # the first build remembered none
        if pod is None:
            return Done(detail=f"{w.ref} has the template of what was revision {p.to_revision}")
        if isinstance(pod, Wait):
            return pod
        short = below_majority(w, 0)  # half-way, members that flap are waited for, as long as the saga may run
        return Wait(until=now + departure.LOOK_AGAIN, why=short.detail) if short else _replace(pod)

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
        if in_the_way := being_deleted(w) or managed(w) or held_by_a_person(w):
            return CannotUndo(detail=in_the_way.detail)
        return _to(w, before["template"], f"what was revision {before['revision']}")


def _guards(w: Workload) -> Refusal | None:
    held = being_deleted(w) or managed(w) or held_by_a_person(w) or rolled_out_by_hand(w) or not_observed(w)
    return held or revisions.no_history(w) or revisions.went_back(w) or full_outage(w) or below_majority(w, 0)


def _unhealthy(detail: str) -> Refusal:
    return Refusal(reason=Reason.NO_HEALTHY_REVISION, detail=detail)


def _is_back(w: Workload, before: Raw) -> bool:
    return digest(bare_template(w.spec["template"])) == str(before["to"])


def _replace(pod: Raw) -> Write:
    return Write(verb=Verb.DELETE, object=ObjectRef.of(pod), summary=f"replace the stuck {ObjectRef.of(pod)}")


def _to(w: Workload, template: Raw, revision: str) -> Write:
    """A whole replacement: a merge would keep variables, containers and volumes that the new revision added."""
    return Write(
        verb=Verb.PATCH,
        object=w.ref,
        ops=({"op": "replace", "path": "/spec/template", "value": bare_template(template)},),
        summary=f"put the pod template of {w.ref} back to that of {revision}",
    )


step = RolloutUndo()
