"""The deterministic planner: a table from corroborated causes to the option that cures them.

Pure. It is sure or it says nothing: no runbook weighs two causes, and none acts on what only text claims. A runbook
names options of the menu like any planner, so whatever the menu refuses it can't have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from handrail.model.evidence import Trust
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.menu import Menu, Option
from handrail.model.plan import Brief, Choice, Confidence, Hypothesis, PlanProposal
from handrail.model.reason import Reason, Refusal

Pick = Callable[[tuple[Option, ...]], Option]


class Runbook(NamedTuple):
    """For these causes choose this step; `pick` chooses among its options, `cites` names the kinds of evidence.

    Of a range the least is chosen: enough to begin with, and the next alert tells whether it was.
    """

    causes: frozenset[Cause]
    step: str
    pick: Pick
    cites: frozenset[str]
    expects: str
    would_disprove: str


def only(options: tuple[Option, ...]) -> Option:
    """The first: the step itself puts the pod that most needs it in front."""
    return options[0]


def newest_revision(options: tuple[Option, ...]) -> Option:
    """The one that takes back least: every option of the menu is a revision that is healthy now."""
    return max(options, key=lambda option: int(option.params["to_revision"]))


RUNBOOKS: tuple[Runbook, ...] = (
    Runbook(
        causes=frozenset({Cause.BAD_REVISION_CRASHES, Cause.BAD_REVISION_IMAGE, Cause.BAD_REVISION_STUCK}),
        step="rollout_undo",
        pick=newest_revision,
        cites=frozenset({"owner", "pods", "revisions", "template_diff", "events"}),
        expects="all pods run the older revision again and stay ready",
        would_disprove="pods of the older revision fail in the same way: then the cause lies outside this rollout",
    ),
    Runbook(
        causes=frozenset({Cause.POD_DEADLOCKED}),
        step="delete_pod",
        pick=only,
        cites=frozenset({"owner", "pods"}),
        expects="its controller makes another pod, which becomes ready and stays so",
        would_disprove="the new pod hangs in the same way: then it is not that pod alone",
    ),
    Runbook(
        causes=frozenset({Cause.EVICTED_CORPSES}),
        step="delete_pod",
        pick=only,
        cites=frozenset({"owner", "pods"}),
        expects="the ended pod is no longer listed; those that serve are untouched",
        would_disprove="another one is evicted soon: then its node, or what it may use there, is the cause",
    ),
    Runbook(
        causes=frozenset({Cause.ROLLOUT_PAUSED}),
        step="resume_rollout",
        pick=only,
        cites=frozenset({"owner", "pods", "revisions"}),
        expects="the rollout goes on and all pods of the newest revision become ready",
        would_disprove="new pods do not become ready: then it was paused for good reason",
    ),
    Runbook(
        causes=frozenset({Cause.NODE_NOT_READY}),
        step="cordon",
        pick=only,
        cites=frozenset({"owner", "nodes"}),
        expects="no new pods go to the node; those that run on it are left alone",
        would_disprove="other nodes become ill too: then it is no single node",
    ),
    Runbook(
        causes=frozenset({Cause.NODE_CORDONED}),
        step="uncordon",
        pick=only,
        cites=frozenset({"owner", "nodes"}),
        expects="the node takes pods again and stays well",
        would_disprove="it becomes ill again: then it must stay closed",
    ),
    Runbook(
        causes=frozenset({Cause.HPA_AT_MAX}),
        step="set_hpa_bounds",
        pick=only,
        cites=frozenset({"owner", "pods"}),
        expects="the autoscaler has the replicas that it wants, and they are ready",
        would_disprove="it wants ever more: then the load or the metric is the cause",
    ),
)


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
