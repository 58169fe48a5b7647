"""The deterministic planner: follows the table of runbooks (table.py) from a corroborated cause to what cures it.

Pure. It is sure or it says nothing: no runbook weighs two causes, and none acts on what only text claims. A runbook
names options of the menu like any planner, so whatever the menu refuses it can't have.
"""

from __future__ import annotations

from handrail.adapters.runbooks.table import RUNBOOKS, Runbook
from handrail.model.evidence import Trust
from handrail.model.finding import Finding, Handling
from handrail.model.menu import Menu
from handrail.model.plan import Brief, Choice, Confidence, Hypothesis, PlanProposal
from handrail.model.reason import Reason, Refusal


class RunbookPlanner:
    """The first runbook for a corroborated finding, in the order of the table."""

    name = "runbook"

    def plan(self, brief: Brief, menu: Menu) -> PlanProposal | Refusal:
        if not menu.options:
            return _nothing_offered(brief, menu, "")
        for runbook in RUNBOOKS:
            finding = next((f for f in brief.findings if _sure(f) and f.cause in runbook.causes), None)
            if finding is not None:
                return _follow(runbook, finding, brief, menu)
        causes = ", ".join(sorted({finding.cause for finding in brief.findings})) or "none"
        detail = f"no runbook is sure of this: causes found: {causes}; a runbook needs one that the API corroborates"
        detail += _cause(brief)
        return Refusal(reason=Reason.NO_RUNBOOK, detail=detail)


def _sure(finding: Finding) -> bool:
    return finding.corroborated and finding.handling is Handling.APPROVE


def _follow(runbook: Runbook, finding: Finding, brief: Brief, menu: Menu) -> PlanProposal | Refusal:
    options = tuple(option for option in menu.options if option.step == runbook.step and option.target == brief.target)
    if not options:
        return _nothing_offered(brief, menu, runbook.step)
    option = runbook.pick(options)
    cited = tuple(item.id for item in brief.evidence if item.kind in runbook.cites or item.trust is not Trust.TEXT)
    if not cited:
        detail = f"{finding.cause} was found, but no evidence was gathered that shows it"
        return Refusal(reason=Reason.EVIDENCE_NOT_CITED, detail=detail)
    return PlanProposal(
        diagnosis=(Hypothesis(statement=finding.summary, confidence=Confidence.HIGH, evidence=cited),),
        choices=(Choice(option=option.id, params={name: low for name, (low, _high) in option.ranges.items()}),),
        expected_effect=runbook.expects,
        would_disprove=runbook.would_disprove,
    )


def _nothing_offered(brief: Brief, menu: Menu, step: str) -> Refusal:
    """With the menu's own reasons: a person sees at once whether it is Git, a pause or no healthy revision."""
    reasons = [f"{no.step}: {no.reason}: {no.detail}" for no in menu.not_offered if step in ("", no.step)]
    why = "; ".join(reasons) or f"no step {step or 'at all'} is known for {brief.target.kind}"
    detail = f"nothing can be done to {brief.target}: {why}{_cause(brief)}"
    return Refusal(reason=Reason.NOTHING_OFFERED, detail=detail)


def _cause(brief: Brief) -> str:
    """The first that the API corroborates: who gets it begins there."""
    found = next((finding for finding in brief.findings if finding.corroborated), None)
    return f"; the cause that was found: {found.cause}: {found.summary}" if found else ""
