from __future__ import annotations

import pytest

from handrail.core.review import review
from handrail.model.finding import Cause, Handling
from handrail.model.plan import Brief, Confidence, PlanProposal
from tests.compile.worlds import chosen, proposal
from tests.planners.briefs import MENU, brief, finding

UNDO, SCALE = chosen("o1"), chosen("o3", replicas=5)


def reason(plan: PlanProposal, told: Brief | None = None) -> str:
    refusal = review(plan, told or brief(), MENU)
    return refusal.reason if refusal else ""


def test_a_cited_plan_for_a_corroborated_cause_passes() -> None:
    assert reason(proposal(UNDO)) == ""
    assert reason(proposal(UNDO, confidence=Confidence.MEDIUM)) == ""


def test_a_plan_without_choices_or_with_unknown_ones_is_refused() -> None:
    assert reason(proposal()) == "NOTHING_OFFERED"
    assert reason(proposal(chosen("o9"))) == "OPTION_NOT_OFFERED"


@pytest.mark.parametrize("cites", [(), ("e9",), ("e1", "e9"), ("E1",)])
def test_only_evidence_that_was_gathered_counts(cites: tuple[str, ...]) -> None:
    assert reason(proposal(UNDO, cites=cites)) == "EVIDENCE_NOT_CITED"


def test_every_hypothesis_must_cite_and_there_must_be_one() -> None:
    plan = proposal(UNDO)
    bare = plan.diagnosis[0].model_copy(update={"evidence": ()})
    assert reason(plan.model_copy(update={"diagnosis": (*plan.diagnosis, bare)})) == "EVIDENCE_NOT_CITED"
    assert reason(plan.model_copy(update={"diagnosis": ()})) == "EVIDENCE_NOT_CITED"


@pytest.mark.parametrize("confidence", [Confidence.LOW, Confidence.VERY_LOW])
def test_a_planner_that_is_not_sure_is_not_followed(confidence: Confidence) -> None:
    assert reason(proposal(SCALE, confidence=confidence)) == "CONFIDENCE_TOO_LOW"


@pytest.mark.parametrize(
    "found",
    [
        (),
        (finding(corroborated=False),),
        (finding(Cause.CAPACITY, handling=Handling.DIAGNOSE),),
    ],
    ids=["nothing", "text alone", "diagnosis only"],
)
def test_a_disruptive_step_needs_a_cause_that_the_api_or_a_metric_shows(found: tuple[object, ...]) -> None:
    told = Brief.model_validate({**brief().model_dump(), "findings": found})
    assert reason(proposal(UNDO), told) == "CAUSE_NOT_CORROBORATED"
    assert reason(proposal(SCALE, UNDO), told) == "CAUSE_NOT_CORROBORATED"
    assert reason(proposal(SCALE), told) == "", "a reversible step may rest on less"


def test_a_disruptive_step_that_rests_on_words_alone_is_refused_whatever_else_is_known() -> None:
    assert reason(proposal(UNDO, cites=("e3", "e4"))) == "CAUSE_NOT_CORROBORATED"
    assert reason(proposal(UNDO, cites=("e4", "e2"))) == ""
