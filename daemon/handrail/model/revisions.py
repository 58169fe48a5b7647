"""The revisions of a workload, whatever keeps them: ReplicaSets of a Deployment, ControllerRevisions of the others.

Pure. "The previous number" never counts: health does (cases 23), by pods that the API server calls ready now.
"""

from __future__ import annotations

from datetime import datetime

from handrail.model import migrations
from handrail.model.marks import MIGRATION
from handrail.model.pods import revision_label
from handrail.model.reason import Reason, Refusal
from handrail.model.rollout import live
from handrail.model.selector import labels_of
from handrail.model.value import Raw, Value, canonical, moment
from handrail.model.workload import Workload, bare_template, is_ready, pod_is_ready, revision_of, same_template
from handrail.model.write import KEY_ANNOTATION

REUSED = "deployment.kubernetes.io/revision-history"
"""The controller leaves this on a ReplicaSet that became current again: the last rollout went back, not forward."""


RELOADER = "STAKATER_"
"""Reloader rolls a workload by a variable with the hash of what changed."""


class Revision(Value):
    """`template` is as an undo writes it. `ready`: a pod of it is ready now. `reused`: it became current again.

    `made` is when it came first; None where the API server does not say."""

    number: int
    template: Raw
    ready: bool
    reused: bool
    labels: frozenset[str] = frozenset()
    made: datetime | None = None


def revisions(w: Workload) -> tuple[Revision, ...]:
    """All that are kept and numbered, newest first."""
    found = map(_of_replica_set, w.replica_sets) if w.ref.kind == "Deployment" else _of_others(w)
    return tuple(sorted((one for one in found if one.number > 0), key=lambda one: -one.number))


def numbered(w: Workload, number: int) -> Revision | None:
    return next((one for one in revisions(w) if one.number == number), None)


def current(w: Workload) -> Revision | None:
    """That whose template is the workload's now; None while the controller has not made it."""
    template = w.spec.get("template") or {}
    return next((one for one in revisions(w) if same_template(one.template, template)), None)


def healthy(w: Workload) -> tuple[Revision, ...]:
    """Older ones with ready pods whose template differs, newest first; none while the current one is unknown."""
    now = current(w)
    if now is None:
        return ()
    older = (one for one in revisions(w) if one.number < now.number and one.ready)
    return tuple(one for one in older if not same_template(one.template, now.template))


def stuck_pods(w: Workload) -> tuple[Raw, ...]:
    """Pods of a StatefulSet's current revision that are not ready: a revert alone never replaces them (#67250)."""
    now = current(w)
    if w.ref.kind != "StatefulSet" or now is None:
        return ()
    mine = [pod for pod in live(w.pods) if revision_label(pod) in now.labels and not pod_is_ready(pod)]
    return tuple(sorted(mine, key=lambda pod: str(pod["metadata"]["name"])))


def migrates(w: Workload, to: Revision) -> bool:
    """A later revision than `to` says that it changed a schema: old code on it is a one-way door."""
    since = [one for one in revisions(w) if one.number > to.number]
    return any(_migration(one.template) not in (_migration(to.template), ()) for one in since)


def no_history(w: Workload) -> Refusal | None:
    """Charts keep none on purpose (`revisionHistoryLimit: 0`)."""
    if all(one == current(w) for one in revisions(w)):
        return Refusal(reason=Reason.NO_HISTORY, detail=f"{w.ref} keeps no older revision to go back to")
    return None


def went_back(w: Workload) -> Refusal | None:
    """A reused revision: another undo would land on the bad one again (kubernetes/website 6921), whoever went back."""
    now = current(w)
    if not now or not now.reused:
        return None
    if KEY_ANNOTATION in (w.object["metadata"].get("annotations") or {}):
        detail = f"the last rollout of {w.ref} was an undo after a write of ours; a person must look at it"
        return Refusal(reason=Reason.LAST_CHANGE_WAS_OURS, detail=detail)
    detail = f"the last rollout of {w.ref} went back already; another undo would land on what was left"
    return Refusal(reason=Reason.LAST_CHANGE_WAS_UNDO, detail=detail)


def unfit(w: Workload, to: Revision) -> Refusal | None:
    """Why going back to this very revision is no cure, or none of ours to choose."""
    return _one_way(w, to) or _config_only(w, to)


def _config_only(w: Workload, to: Revision) -> Refusal | None:
    """ConfigMaps and Secrets are not versioned (kubernetes#22368): equal pods would find what is in them now."""
    now = current(w)
    if now is None or _pods_of(now.template) != _pods_of(to.template):
        return None
    detail = (
        f"revision {to.number} of {w.ref} has the same pods as now: it was a restart, or a ConfigMap or Secret changed;"
        " put that back instead, for older pods would find it as it is now"
    )
    return Refusal(reason=Reason.CONFIG_ONLY, detail=detail)


def _pods_of(template: Raw) -> str:
    """What runs: annotations aside (checksums, the time of a restart), and what Reloader puts into variables."""
    spec = dict(template.get("spec") or {})
    for key in ("containers", "initContainers"):
        spec[key] = [
            {**one, "env": [var for var in one.get("env") or () if not str(var.get("name")).startswith(RELOADER)]}
            for one in spec.get(key) or ()
        ]
    return canonical(spec)


def _one_way(w: Workload, to: Revision) -> Refusal | None:
    """Old code on a new schema: a person's decision, always."""
    if migrates(w, to):
        detail = f"between revision {to.number} of {w.ref} and now a schema was migrated; a person decides"
        return Refusal(reason=Reason.MIGRATION_BETWEEN, detail=detail)
    jobs = _jobs_since(w, to).migrated
    if jobs:
        detail = f"{migrations.named(jobs)} ran since revision {to.number} of {w.ref} and may have migrated its schema"
        return Refusal(reason=Reason.MIGRATION_BETWEEN, detail=f"{detail}; a person decides")
    return None


def beside(w: Workload, to: Revision) -> str:
    """What the person who is asked should know of Jobs that ran since, with a blank before it; "" for nothing."""
    jobs = _jobs_since(w, to).beside
    return f" ({migrations.named(jobs)} ran since: is its schema still the old one?)" if jobs else ""


def _jobs_since(w: Workload, to: Revision) -> migrations.Since:
    return migrations.since(w, to.made, (to.template, w.spec.get("template") or {}))


def _migration(template: Raw) -> tuple[object, ...]:
    """The declared mark, and the init containers that are called migrations with what they run."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    marks = {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
    named = [one for one in spec.get("initContainers") or () if "migrat" in str(one.get("name", "")).lower()]
    ran = tuple((one.get("image"), str(one.get("command")), str(one.get("args"))) for one in named)
    return (*((marks[MIGRATION],) if MIGRATION in marks else ()), *ran)


def _of_replica_set(raw: Raw) -> Revision:
    return Revision(
        number=revision_of(raw),
        template=bare_template(raw["spec"]["template"]),
        ready=is_ready(raw),
        reused=REUSED in (raw["metadata"].get("annotations") or {}),
        made=moment(raw["metadata"].get("creationTimestamp")),
    )


def _of_others(w: Workload) -> list[Revision]:
    """A StatefulSet's pods name their revision, a DaemonSet's its hash; one made earlier than a lower number came back.

    The data is a strategic merge patch of the whole template (`$patch: replace`).
    """
    ready = {revision_label(pod) for pod in live(w.pods) if pod_is_ready(pod)}
    made = {int(raw.get("revision") or 0): moment(raw["metadata"].get("creationTimestamp")) for raw in w.revisions}
    found = []
    for raw in w.revisions:
        number = int(raw.get("revision") or 0)
        template = ((raw.get("data") or {}).get("spec") or {}).get("template")
        if not isinstance(template, dict):
            continue
        names = frozenset({raw["metadata"]["name"], labels_of(raw).get("controller-revision-hash", "")} - {""})
        mine = made[number]
        reused = any(mine and at and n < number and at > mine for n, at in made.items())
        bare = bare_template({key: part for key, part in template.items() if key != "$patch"})
        is_ready_ = bool(ready & names)
        found.append(Revision(number=number, template=bare, ready=is_ready_, reused=reused, labels=names, made=mine))
    return found
