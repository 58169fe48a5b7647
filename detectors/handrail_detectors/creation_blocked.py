"""Pods can't be made: a quota is full, a webhook or a pod security rule says no, or the webhook is dead.

Confirmed by the workload's condition ReplicaFailure, or its ReplicaSet's, or by the API server's events FailedCreate
while fewer pods are there than wanted; of a ResourceQuota, by its own numbers. Traps: the pods do not exist, so what
looks at pods sees nothing; undoing fails in the same way; a rollout needs surge quota; a dead webhook blocks all
namespaces. Which of them it is, the controller's sentence tells by how it begins: that is a word for people, and
decides nothing. Hands the planner who refuses and how many pods are missing. Nothing of this is Handrail's to change:
a person gets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.rollout import live
from handrail.model.value import Raw
from handrail.model.workload import Workload
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, tally, target_of

NAME = "creation_blocked"
REASONS = frozenset({"FailedCreate", "ReplicaSetCreateError"})
WHO = (
    ("quota", re.compile(r'pods "[^"]{1,253}" is forbidden: exceeded quota: ')),
    ("pod_security", re.compile(r'pods "[^"]{1,253}" is forbidden: violates PodSecurity ')),
    ("webhook", re.compile(r'(?:admission webhook "|Internal error occurred: failed calling webhook )')),
    ("limits", re.compile(r'pods "[^"]{1,253}" is forbidden: (?:maximum|minimum|\[maximum|\[minimum) ')),
)
SAYS = {
    "quota": "a quota is full",
    "pod_security": "pod security forbids it",
    "webhook": "an admission webhook refuses or is dead",
    "limits": "a LimitRange forbids it",
    "other": "the API server refuses",
}


class Params(Settings):
    """`times`: so many events open."""

    times: int = Field(default=3, ge=2, le=100)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    w, quota = window.workload, window.object
    if w is not None and not w.being_deleted:
        yield from _workload(w, window, now)
    if quota is not None and quota.get("kind") == "ResourceQuota":
        yield from _quota(quota)
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"pods could not be made {told.times} times, by events"
        said = Said(Cause.CREATION_BLOCKED, Handling.DIAGNOSE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _workload(w: Workload, window: Window, now: datetime) -> Iterator[Finding]:
    missing = w.desired - len(live(w.pods))
    failure = _failure(w)
    if not failure and (missing <= 0 or tally(window, REASONS, now) is None):
        return
    who = _who(str(failure.get("message", "")))
    facts: Facts = {"refused_by": who, "missing": max(missing, 0), "ready": w.ready, "desired": w.desired}
    summary = f"pods of it can't be made: {SAYS[who]}; {w.ready} of {w.desired} are ready"
    yield finding(NAME, target_of(w.object), Said(Cause.CREATION_BLOCKED, Handling.DIAGNOSE, summary, facts))


def _failure(w: Workload) -> Raw:
    """The Deployment repeats its ReplicaSets' condition; their own is read where it lags."""
    holders = (w.object, *((w.current,) if w.current else ()))
    found = (one for holder in holders for one in (holder.get("status") or {}).get("conditions") or ())
    return next((one for one in found if one.get("type") == "ReplicaFailure" and one.get("status") == "True"), {})


def _who(message: str) -> str:
    return next((who for who, begins in WHO if begins.match(message)), "other")


def _quota(quota: Raw) -> Iterator[Finding]:
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    full = sorted(name for name in hard if name in used and _number(used[name]) >= _number(hard[name]) > 0)
    if full:
        facts: Facts = {"full": ", ".join(full)[:200]}
        summary = f"the quota is used up: {facts['full']}; new pods that need it are refused"
        yield finding(NAME, target_of(quota), Said(Cause.CREATION_BLOCKED, Handling.DIAGNOSE, summary, facts))


def _number(quantity: object) -> float:
    """A Kubernetes quantity; 0 where it is none: then nothing is said of it."""
    found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,9})?)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?", str(quantity))
    return float(found[1]) * FACTORS[found[2] or ""] if found else 0.0


FACTORS = {
    "": 1.0,
    "m": 0.001,
    **{unit: 1000.0**power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", start=1)},
}

detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.WORKLOAD, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the condition ReplicaFailure, or the API server's events FailedCreate while pods are missing",
    example="pods of it can't be made: a quota is full; 1 of 3 are ready",
)
