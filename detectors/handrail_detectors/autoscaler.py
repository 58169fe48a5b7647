"""An autoscaler stands at its maximum and wants more, or is blind: it has no numbers to go by.

Confirmed by the autoscaler's own conditions, held for minutes. Traps: without metrics for some seconds is normal
after a deploy; minimum equal to maximum is somebody's fixed size; pods that wait for a node would only be more; at 0
replicas it is switched off; a leak scales for ever. Hands the planner the bounds, what it has and what it wants.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model.autoscaler import Autoscaler
from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.value import Raw, moment
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, target_of
from handrail_detectors._symptoms import not_placed

NAME = "autoscaler"
BLIND = frozenset(
    {"FailedGetResourceMetric", "FailedGetContainerResourceMetric", "FailedGetPodsMetric", "FailedGetObjectMetric"}
    | {"FailedGetExternalMetric", "InvalidSelector", "AmbiguousSelector", "InvalidMetricSourceType"}
)
REASONS = BLIND | {"FailedComputeMetricsReplicas", "FailedGetScale", "FailedRescale"}


class Params(Settings):
    """`at_most_seconds`: for so long it wants more; `blind_seconds`: is blind; `times`: so many events open."""

    at_most_seconds: int = Field(default=300, ge=30, le=3600)
    blind_seconds: int = Field(default=180, ge=30, le=3600)
    times: int = Field(default=10, ge=2, le=1000)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    scaler = window.autoscaler
    if scaler is not None and "deletionTimestamp" not in scaler.object["metadata"]:
        said = _blind(scaler, now, p.blind_seconds) or _at_most(scaler, now, p.at_most_seconds)
        if said is not None:
            yield finding(NAME, target_of(scaler.object), said)
    told = many(window, REASONS, now, p.times)
    if told is not None:
        summary = f"an autoscaler could not scale {told.times} times, by its events"
        said = Said(Cause.HPA_BLIND, Handling.DIAGNOSE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _blind(scaler: Autoscaler, now: datetime, seconds: int) -> Said | None:
    active = scaler.condition("ScalingActive")
    reason = str(active.get("reason", ""))
    if active.get("status") != "False" or not _held(active, now, seconds):
        return None
    facts: Facts = {"reason": reason if reason in BLIND | {"ScalingDisabled"} else "other", "current": scaler.current}
    if reason == "ScalingDisabled":
        summary = "it scales nothing: its target has 0 replicas; was that meant?"
        return Said(Cause.SCALED_DOWN, Handling.DIAGNOSE, summary, facts)
    summary = f"it is blind ({facts['reason']}) and keeps {scaler.current} replicas"
    return Said(Cause.HPA_BLIND, Handling.DIAGNOSE, summary, facts)


def _at_most(scaler: Autoscaler, now: datetime, seconds: int) -> Said | None:
    if not scaler.at_most or scaler.low >= scaler.high:
        return None
    if not _held(scaler.condition("ScalingLimited"), now, seconds):
        return None
    facts: Facts = {"min": scaler.low, "max": scaler.high, "current": scaler.current, "wanted": scaler.wanted}
    pods = scaler.workload.pods if scaler.workload else ()
    if scaler.workload is None or any(not_placed(pod) for pod in pods):
        return Said(Cause.CAPACITY, Handling.DIAGNOSE, "it wants more, and no node takes what it has", facts)
    summary = f"it stands at its maximum of {scaler.high} replicas and wants more"
    return Said(Cause.HPA_AT_MAX, Handling.APPROVE, summary, facts)


def _held(condition: Raw, now: datetime, seconds: int) -> bool:
    since = moment(condition.get("lastTransitionTime"))
    return since is not None and (now - since).total_seconds() >= seconds


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.AUTOSCALER}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the autoscaler's conditions ScalingLimited and ScalingActive, held for minutes",
    example="it stands at its maximum of 10 replicas and wants more",
)
