"""What arrives and is seen: alerts, evidence, the target."""

from __future__ import annotations

from typing import Literal

from handrail.model.alert import Alert, Source
from handrail.model.evidence import Away, EvidenceItem
from handrail.model.finding import Finding
from handrail.model.severity import Severity
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Value


class Opened(Value):
    kind: Literal["opened"] = "opened"
    alert: Alert
    source: Source
    target: LabelledTarget | None
    findings: tuple[Finding, ...]
    identity: str
    episode: str


class AlertAttached(Value):
    """Another alert of the same thing, firing or resolved: evidence, never a trigger and never proof."""

    kind: Literal["alert_attached"] = "alert_attached"
    alert: Alert
    source: Source


class GatheringBegun(Value):
    kind: Literal["gathering_begun"] = "gathering_begun"


class Gathered(Value):
    """The target by UID, what was seen, which sources were away, and how bad it is before anything is done."""

    kind: Literal["gathered"] = "gathered"
    target: ObjectRef
    findings: tuple[Finding, ...]
    evidence: tuple[EvidenceItem, ...]
    away: tuple[Away, ...]
    severity: Severity
