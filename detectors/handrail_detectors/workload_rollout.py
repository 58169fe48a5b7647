"""Is a Deployment's newest revision the culprit? Crash loops, images that can't be pulled, rollouts that stand still.

Blames a revision only where an older one of the same Deployment is ready now, shows nothing of the kind, and differs
in what could explain it. Everything else is a diagnosis for a person, with the doubt named. Reads typed fields of the
API alone; says nothing where they are missing. Traps: old pods that are ready mask a new revision that is dead; what
was made invisible by a ConfigMap or Secret that is gone is no revision's fault; a pod that finds no node crashes
nowhere; 137 alone is no lack of memory; conditions are stale until the controller has seen the generation; a paused
Deployment is a person's. Hands the planner the bad and the healthy revision, the container, how it ended, its restarts,
how many pods are ill, ready and wanted, and the doubt where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from handrail.model.detector import Watches, Window
from handrail.model.errors import Bug
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.target import LabelledTarget
from handrail.model.value import Raw, canonical
from handrail.model.workload import Workload, is_ready, revision_of, same_template
from handrail_detectors._doubts import BAD, DOUBTS, UNEXPLAINED
from handrail_detectors._symptoms import CONFIG_REASON, Kind, Symptom, has_run_well, not_placed, symptoms, waits_for
from handrail_detectors._templates import needs_new_config, placed_alike, pulls_alike

NAME = "workload_rollout"
DEADLINE = "ProgressDeadlineExceeded"


class Params(BaseModel):
    """`restarts`: from how many on a container seen between two tries counts as crashing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    restarts: int = Field(default=2, ge=1, le=20)


class Look(NamedTuple):
    """`new` is the ReplicaSet of the current template, `others` are those that still have pods, `older` those of a
    known lower revision with another template."""

    workload: Workload
    new: Raw
    others: tuple[Raw, ...]
    older: tuple[Raw, ...]
    now: datetime
    restarts: int

    def sick(self, replica_set: Raw, kind: Kind) -> tuple[Symptom, ...]:
        pods = self.workload.pods_of(replica_set)
        return tuple(s for pod in pods for s in symptoms(pod, self.now, self.restarts) if s.kind is kind)


class Ruling(NamedTuple):
    """What is wrong. `doubt` is "" where the revision is to blame, else one word for why it is not (yet)."""

    cause: Cause
    doubt: str
    healthy: Raw | None
    facts: dict[str, str | int | bool]


@dataclass(frozen=True)
class WorkloadRollout:
    name: str = NAME
    watches: frozenset[Watches] = frozenset({Watches.WORKLOAD})
    Params: type[BaseModel] = Params
    reach: timedelta = timedelta(0)
    confirmed_by: str = "an older revision of the same Deployment is ready, and differs in what could explain it"
    example: str = "revision 2 crashes (container app: CrashLoopBackOff, exit code 1) while revision 1 is ready"

    def detect(self, window: Window, now: datetime, params: BaseModel) -> tuple[Finding, ...]:
        if not isinstance(params, Params):
            raise Bug(f"{NAME} was given the parameters of another detector")
        look = _look(window.workload, now, params.restarts)
        if look is None:
            return ()
        rulings = [ruling for kind in Kind if (ruling := _sick(look, kind))]
        stuck = None if rulings else _stuck(look)
        return tuple(_finding(look, ruling) for ruling in (*rulings, *((stuck,) if stuck else ())))


def _look(workload: Workload | None, now: datetime, restarts: int) -> Look | None:
    if workload is None or workload.object.get("kind") != "Deployment" or workload.being_deleted:
        return None
    new = workload.current
    if new is None or not workload.desired:
        return None
    rest = [rs for rs in workload.replica_sets if rs["metadata"]["uid"] != new["metadata"]["uid"]]
    return Look(
        workload=workload,
        new=new,
        others=tuple(rs for rs in rest if workload.pods_of(rs)),
        older=tuple(rs for rs in rest if 0 < revision_of(rs) < revision_of(new) and not _same(rs, new)),
        now=now,
        restarts=restarts,
    )


def _same(one: Raw, other: Raw) -> bool:
    return same_template(one["spec"]["template"], other["spec"]["template"])


def _ready_before(look: Look) -> tuple[Raw, ...]:
    """Older revisions that are ready now, the newest first."""
    return tuple(sorted((rs for rs in look.older if is_ready(rs)), key=revision_of, reverse=True))


def _sick(look: Look, kind: Kind) -> Ruling | None:
    new = look.sick(look.new, kind)
    old = tuple(symptom for rs in look.others for symptom in look.sick(rs, kind))
    if not new and not old:
        return None
    worst = max(new or old, key=lambda symptom: (symptom.restarts, symptom.pod, symptom.container))
    ready = _ready_before(look)
    healthy = next((rs for rs in ready if not look.sick(rs, kind)), None)
    doubt = "" if new else "not_the_newest_revision"
    if ready and healthy is None:
        doubt = doubt or "all_revisions"
    doubt = doubt or _doubt(look, healthy) or _doubt_of(look, kind, worst, healthy)
    out_of_memory = worst.ended == "OOMKilled"
    return Ruling(
        cause=BAD[kind] if not doubt else Cause.OUT_OF_MEMORY if out_of_memory else UNEXPLAINED[kind],
        doubt=doubt,
        healthy=healthy,
        facts=_symptom_facts(worst, len({symptom.pod for symptom in new or old})),
    )


def _doubt(look: Look, healthy: Raw | None) -> str:
    """What speaks against blaming any revision."""
    if look.workload.paused:
        return "paused"
    if healthy is None:
        return "no_healthy_older_revision"
    new, old = _template(look.new), _template(healthy)
    # Only its metadata differs (a restart, a checksum): what changed lies outside, and going back leaves it there.
    return "same_pod_spec" if canonical(new.get("spec")) == canonical(old.get("spec")) else ""


def _doubt_of(look: Look, kind: Kind, worst: Symptom, healthy: Raw | None) -> str:
    if kind is Kind.CRASH:
        ran = any(has_run_well(pod, look.now) for pod in look.workload.pods_of(look.new))
        return "revision_has_run_well" if ran else ""
    if worst.restarts:
        return "image_was_pulled_before"
    alike = healthy is not None and pulls_alike(_template(look.new), _template(healthy), worst.container)
    return "same_image" if alike else ""


def _stuck(look: Look) -> Ruling | None:
    """Past the progress deadline, by a condition that is about the current generation."""
    progressing = look.workload.condition("Progressing")
    observed = int(look.workload.status.get("observedGeneration") or 0) >= look.workload.generation
    if progressing.get("status") != "False" or progressing.get("reason") != DEADLINE or not observed:
        return None
    healthy = next(iter(_ready_before(look)), None)
    cause, doubt, reason = _held_up(look, healthy)
    doubt = doubt or _doubt(look, healthy)
    if cause is Cause.BAD_REVISION_STUCK and doubt:
        cause = Cause.ROLLOUT_STUCK
    return Ruling(cause=cause, doubt=doubt, healthy=healthy, facts={"reason": reason})


def _held_up(look: Look, healthy: Raw | None) -> tuple[Cause, str, str]:
    """Cause, doubt and the reason nearest to it: what other than the revision could hold the pods up."""
    pods = look.workload.pods_of(look.new)
    if look.workload.condition("ReplicaFailure").get("status") == "True":
        return Cause.ROLLOUT_STUCK, "pods_are_refused", "ReplicaFailure"
    if not pods:
        return Cause.ROLLOUT_STUCK, "no_pods", DEADLINE
    unplaced = next((reason for pod in pods if (reason := not_placed(pod))), "")
    if unplaced and (healthy is None or placed_alike(_template(look.new), _template(healthy))):
        return Cause.CAPACITY, "no_room", unplaced
    if any(waits_for(pod, CONFIG_REASON) for pod in pods):
        missing = healthy is not None and not needs_new_config(_template(look.new), _template(healthy))
        return Cause.BAD_REVISION_STUCK, "config_is_gone" if missing else "", CONFIG_REASON
    return Cause.BAD_REVISION_STUCK, "", unplaced or DEADLINE


def _template(replica_set: Raw) -> Raw:
    template: Raw = replica_set["spec"]["template"]
    return template


def _symptom_facts(worst: Symptom, pods: int) -> dict[str, str | int | bool]:
    facts: dict[str, str | int | bool] = {
        "container": worst.container,
        "reason": worst.reason,
        "restarts": worst.restarts,
        "pods": pods,
    }
    return {**facts, "ended": worst.ended, "exit_code": worst.exit_code} if worst.exit_code >= 0 else facts


def _finding(look: Look, ruling: Ruling) -> Finding:
    workload = look.workload
    meta = workload.object["metadata"]
    facts = {**ruling.facts, "ready": workload.ready, "desired": workload.desired}
    revision = "revision" if ruling.doubt else "bad_revision"
    facts[revision] = revision_of(look.new)
    if ruling.healthy is not None:
        facts["healthy_revision"] = revision_of(ruling.healthy)
    if ruling.doubt:
        facts["doubt"] = ruling.doubt
    return Finding(
        detector=NAME,
        cause=ruling.cause,
        handling=Handling.DIAGNOSE if ruling.doubt else Handling.APPROVE,
        target=LabelledTarget(
            kind="Deployment",
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            uid=meta.get("uid", ""),
            container=str(ruling.facts.get("container", "")),
        ),
        severity="critical" if not workload.ready else "warning",
        summary=_summary(ruling, facts),
        corroborated=True,
        facts=facts,
    )


def _summary(ruling: Ruling, facts: dict[str, str | int | bool]) -> str:
    what = {
        Cause.BAD_REVISION_CRASHES: "crashes",
        Cause.CRASH_LOOP: "crashes",
        Cause.OUT_OF_MEMORY: "runs out of memory",
        Cause.BAD_REVISION_IMAGE: "can't pull an image",
        Cause.IMAGE_PULL: "can't pull an image",
        Cause.CAPACITY: "finds no room",
    }.get(ruling.cause, "makes no progress")
    where = f"container {facts['container']}: " if facts.get("container") else ""
    code = f", exit code {facts['exit_code']}" if "exit_code" in facts else ""
    detail = f"({where}{facts['reason'] or 'no reason given'}{code})"
    if ruling.doubt:
        return f"revision {facts['revision']} {what} {detail}; not blamed on the revision: {DOUBTS[ruling.doubt]}"
    return f"revision {facts['bad_revision']} {what} {detail} while revision {facts['healthy_revision']} is ready"


detector = WorkloadRollout()
