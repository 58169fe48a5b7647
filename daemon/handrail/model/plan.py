"""What a planner may answer: a proposal that names options of the menu, or that it cannot plan and why."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from handrail.model.evidence import Away, EvidenceItem
from handrail.model.finding import Finding
from handrail.model.menu import Menu
from handrail.model.reason import Refusal
from handrail.model.severity import Severity
from handrail.model.target import ObjectRef
from handrail.model.value import Value


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    VERY_LOW = "very_low"


class Hypothesis(Value):
    """`evidence` cites ids of the brief's evidence; an uncited hypothesis is refused."""

    statement: str
    confidence: Confidence
    evidence: tuple[str, ...]


class Choice(Value):
    """One option of the menu, with values for its ranges only."""

    option: str
    params: dict[str, int] = {}


class PlanProposal(Value):
    diagnosis: tuple[Hypothesis, ...]
    choices: tuple[Choice, ...]
    expected_effect: str
    would_disprove: str

    @property
    def confidence(self) -> Confidence:
        """That of the leading hypothesis; none is as good as very low."""
        return self.diagnosis[0].confidence if self.diagnosis else Confidence.VERY_LOW


class Brief(Value):
    """All that a planner is told. `texts` holds the bounded, redacted text of each evidence id."""

    incident: str
    round: int
    alert_name: str
    target: ObjectRef
    severity: Severity
    findings: tuple[Finding, ...]
    evidence: tuple[EvidenceItem, ...]
    texts: dict[str, str]
    away: tuple[Away, ...]
    done: tuple[str, ...] = ()


class Planner(Protocol):
    """`plan` is pure for runbooks; a model's answer has been recorded before this sees it."""

    @property
    def name(self) -> str: ...

    def plan(self, brief: Brief, menu: Menu) -> PlanProposal | Refusal: ...
