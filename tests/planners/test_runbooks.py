from __future__ import annotations

import pytest

import handrail_remediations
from handrail.adapters.runbooks import RunbookPlanner
from handrail.adapters.runbooks.table import RUNBOOKS
from handrail.core.review import review
from handrail.model.evidence import Trust
from handrail.model.finding import Cause, Handling
from handrail.model.menu import Menu, NotOffered
from handrail.model.plan import Confidence, PlanProposal
from handrail.model.reason import Reason, Refusal
from tests.planners.briefs import MENU, SCALE, TARGET, brief, evidence, finding

BAD_REVISIONS = (Cause.BAD_REVISION_CRASHES, Cause.BAD_REVISION_IMAGE, Cause.BAD_REVISION_STUCK)

planner = RunbookPlanner()


@pytest.mark.parametrize("cause", BAD_REVISIONS)
def test_a_corroborated_bad_revision_goes_back_to_the_newest_healthy_one(cause: Cause) -> None:
    told = brief(findings=(finding(cause),))
    plan = planner.plan(told, MENU)
    assert isinstance(plan, PlanProposal)
    assert [choice.option for choice in plan.choices] == ["o2"]
    assert plan.confidence is Confidence.HIGH
    assert plan.diagnosis[0].evidence == ("e1", "e2", "e3")
    assert review(plan, told, MENU) is None


def test_each_cause_has_one_runbook_whose_step_is_known_and_which_says_what_would_prove_it_wrong() -> None:
    causes = [cause for runbook in RUNBOOKS for cause in runbook.causes]
    assert len(causes) == len(set(causes))
    for runbook in RUNBOOKS:
        assert runbook.step in handrail_remediations.catalogue()
        assert "owner" in runbook.cites
        assert runbook.expects
        assert ": then " in runbook.would_disprove


def test_the_same_brief_gives_the_same_plan() -> None:
    assert planner.plan(brief(), MENU) == planner.plan(brief(), MENU)


@pytest.mark.parametrize(
    "doubtful",
    [
        finding(corroborated=False),
        finding(Cause.OUT_OF_MEMORY),
        finding(handling=Handling.DIAGNOSE),
    ],
    ids=["text alone", "no runbook for it", "diagnosis only"],
)
def test_what_is_not_sure_has_no_runbook(doubtful: object) -> None:
    refusal = planner.plan(brief(findings=(doubtful,)), MENU)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.NO_RUNBOOK


@pytest.mark.parametrize("options", [(), (SCALE,)], ids=["empty menu", "menu without the cure"])
def test_a_cure_that_is_not_offered_says_why(options: tuple[object, ...]) -> None:
    no = NotOffered(step="rollout_undo", reason="NO_HEALTHY_REVISION", detail="no older revision has a ready pod")
    refusal = planner.plan(brief(), Menu.model_validate({"options": options, "not_offered": (no,)}))
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.NOTHING_OFFERED
    assert "NO_HEALTHY_REVISION" in refusal.detail


def test_an_option_on_another_object_is_not_taken() -> None:
    other = tuple(o.model_copy(update={"target": TARGET.model_copy(update={"uid": "dep-2"})}) for o in MENU.options)
    refusal = planner.plan(brief(), Menu(options=other))
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.NOTHING_OFFERED


def test_without_evidence_there_is_no_plan() -> None:
    refusal = planner.plan(brief(evidence=(evidence(1, "logs", Trust.TEXT),)), MENU)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.EVIDENCE_NOT_CITED
