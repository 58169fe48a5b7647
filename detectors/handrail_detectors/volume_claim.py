"""A volume claim fills up, is not bound, or has lost its volume.

Pending is confirmed by an event of the API server's that says why; without one it may wait for its first pod, which
is normal. Filling is the alert's word: Handrail reads no file system, so it is never corroborated; what is, is
whether an expansion is under way. Traps: growth only, never back; warning and critical fire together for one claim; a
resize may need the pod to be restarted; a StatefulSet's template keeps the old size; nothing on a volume is ever
deleted. Hands the planner phase, capacity and what was asked for. No step of the catalogue expands a claim: a person
gets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.value import Raw
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, tally, target_of

NAME = "volume_claim"
UNBOUND = frozenset({"ProvisioningFailed", "FailedBinding"})
RESIZE = frozenset({"VolumeResizeFailed", "FileSystemResizeFailed", "ExternalExpanding"})
FILLING = frozenset({"KubePersistentVolumeFillingUp", "KubePersistentVolumeInodesFillingUp"})
UNDER_WAY = frozenset({"Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"})


class Params(Settings):
    """`times`: so many events open."""

    times: int = Field(default=3, ge=2, le=100)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    claim = window.object
    if claim is not None and claim.get("kind") == "PersistentVolumeClaim":
        said = _said(claim, window, now)
        if said is not None and "deletionTimestamp" not in claim["metadata"]:
            yield finding(NAME, target_of(claim), said)
    told = many(window, UNBOUND | RESIZE, now, p.times)
    if told is not None:
        summary = f"a volume claim was not served {told.times} times, by its events ({told.newest.reason})"
        said = Said(Cause.VOLUME_PENDING, Handling.DIAGNOSE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _said(claim: Raw, window: Window, now: datetime) -> Said | None:
    phase = str((claim.get("status") or {}).get("phase", ""))
    facts = {"phase": phase, **_sizes(claim)}
    if phase == "Lost":
        return Said(Cause.VOLUME_PENDING, Handling.DIAGNOSE, "it has lost its volume: data may be gone", facts)
    failed = tally(window, UNBOUND, now)
    if phase == "Pending" and failed is not None:
        summary = f"no volume is made for it ({failed.newest.reason})"
        return Said(Cause.VOLUME_PENDING, Handling.DIAGNOSE, summary, {**facts, **failed.facts})
    if phase == "Bound" and any(alert.name in FILLING and alert.status == "firing" for alert in window.alerts):
        return _filling(claim, facts)
    return None


def _filling(claim: Raw, facts: Facts) -> Said:
    conditions = (claim.get("status") or {}).get("conditions") or ()
    under_way = sorted(str(c.get("type")) for c in conditions if c.get("status") == "True")
    resizing = ", ".join(kind for kind in under_way if kind in UNDER_WAY)
    facts = {**facts, "resizing": resizing} if resizing else facts
    going = f"; an expansion is under way ({resizing})" if resizing else ""
    summary = f"its volume of {facts.get('capacity', 'unknown size')} fills up, by an alert{going}"
    return Said(Cause.VOLUME_FILLING, Handling.DIAGNOSE, summary, facts, corroborated=False)


def _sizes(claim: Raw) -> Facts:
    asked = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    has = (claim.get("status") or {}).get("capacity") or {}
    sizes = {"requested": asked.get("storage"), "capacity": has.get("storage")}
    return {name: str(size)[:32] for name, size in sizes.items() if size}


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the claim's phase and the API server's events of it; that it fills up, by nothing but the alert",
    example="no volume is made for it (ProvisioningFailed)",
)
