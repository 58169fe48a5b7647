"""The review of a proposal, by rules: another look than the planner's own, before anything is compiled.

Pure. Judges what is claimed against what was gathered: it never trusts the planner's word for its evidence, and
never improves a proposal. Generation and evaluation are apart.
"""

from __future__ import annotations

from handrail.model.evidence import Trust
from handrail.model.finding import Handling
from handrail.model.menu import Menu
from handrail.model.plan import Brief, Confidence, PlanProposal
from handrail.model.reason import Reason, Refusal

TOO_LOW = frozenset({Confidence.LOW, Confidence.VERY_LOW})
HARD = frozenset({Trust.API, Trust.METRIC})


def review(proposal: PlanProposal, brief: Brief, menu: Menu) -> Refusal | None:
    """The first thing that is wrong with a proposal, or None."""
    return (
        _choices(proposal, menu)
        or _citations(proposal, brief)
        or _confidence(proposal)
        or _cause(proposal, brief, menu)
    )


def _choices(proposal: PlanProposal, menu: Menu) -> Refusal | None:
    if not proposal.choices:
        return Refusal(reason=Reason.NOTHING_OFFERED, detail="the plan chooses nothing from the menu")
    unknown = next((choice.option for choice in proposal.choices if menu.option(choice.option) is None), None)
    if unknown is not None:
        return Refusal(reason=Reason.OPTION_NOT_OFFERED, detail=f"{unknown!r} is not on the menu")
    return None


def _citations(proposal: PlanProposal, brief: Brief) -> Refusal | None:
    known = {item.id for item in brief.evidence}
    if not proposal.diagnosis:
        return Refusal(reason=Reason.EVIDENCE_NOT_CITED, detail="the plan has no diagnosis")
    for hypothesis in proposal.diagnosis:
        if not hypothesis.evidence:
            detail = f"nothing is cited for: {hypothesis.statement[:200]}"
            return Refusal(reason=Reason.EVIDENCE_NOT_CITED, detail=detail)
        unknown = sorted(set(hypothesis.evidence) - known)
        if unknown:
            detail = f"{', '.join(unknown)[:200]} was never gathered, but is cited"
            return Refusal(reason=Reason.EVIDENCE_NOT_CITED, detail=detail)
    return None


def _confidence(proposal: PlanProposal) -> Refusal | None:
    if proposal.confidence in TOO_LOW:
        detail = f"the planner's confidence is {proposal.confidence.replace('_', ' ')}: a person decides"
        return Refusal(reason=Reason.CONFIDENCE_TOO_LOW, detail=detail)
    return None


def _cause(proposal: PlanProposal, brief: Brief, menu: Menu) -> Refusal | None:
    """A disruptive step needs a cause that the API or a metric shows, cited as such: words of logs can be planted."""
    chosen = [option for choice in proposal.choices if (option := menu.option(choice.option))]
    if not any(option.risk.always_asked for option in chosen):
        return None
    if not any(finding.corroborated and finding.handling is Handling.APPROVE for finding in brief.findings):
        detail = "no detector saw a cause in the Kubernetes API or a metric that would justify a disruptive step"
        return Refusal(reason=Reason.CAUSE_NOT_CORROBORATED, detail=detail)
    hard = {item.id for item in brief.evidence if item.trust in HARD}
    if not hard & set(proposal.diagnosis[0].evidence):
        detail = (
            "the leading hypothesis cites text only; a disruptive step needs a fact of the Kubernetes API or a metric"
        )
        return Refusal(reason=Reason.CAUSE_NOT_CORROBORATED, detail=detail)
    return None
