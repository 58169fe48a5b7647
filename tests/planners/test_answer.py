from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.adapters.claude import RecordedAnswer, parse
from handrail.model.plan import Confidence, Planner, PlanProposal
from handrail.model.reason import Reason, Refusal
from tests.planners.briefs import MENU, answer, brief


def message(said: Any, stop: str | None = "end_turn", **more: Any) -> str:
    text = said if isinstance(said, str) else json.dumps(said)
    return json.dumps({"type": "message", "stop_reason": stop, "content": [{"type": "text", "text": text}], **more})


def refused(raw: str) -> Refusal:
    result = parse(raw, brief(), MENU)
    assert isinstance(result, Refusal)
    return result


def test_a_good_answer_is_a_proposal() -> None:
    scaled = answer(choices=[{"option": "o3", "numbers": [{"name": "replicas", "value": 5}]}])
    plan = parse(message(scaled), brief(), MENU)
    assert isinstance(plan, PlanProposal)
    assert plan.choices[0].params == {"replicas": 5}
    assert plan.confidence is Confidence.HIGH
    assert plan.diagnosis[0].evidence == ("e1", "e2")


def test_a_recorded_answer_is_a_planner_that_says_the_same_again() -> None:
    planner: Planner = RecordedAnswer(message(answer()), "model:claude-sonnet-5-5")
    assert planner.plan(brief(), MENU) == planner.plan(brief(), MENU)
    assert isinstance(planner.plan(brief(), MENU), PlanProposal)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("refusal", Reason.MODEL_REFUSED),
        ("max_tokens", Reason.MODEL_TRUNCATED),
        ("model_context_window_exceeded", Reason.MODEL_BUDGET),
        ("tool_use", Reason.MODEL_INVALID),
        ("pause_turn", Reason.MODEL_INVALID),
        ("stop_sequence", Reason.MODEL_INVALID),
        ("something_new", Reason.MODEL_INVALID),
        (None, Reason.MODEL_INVALID),
    ],
)
def test_only_a_finished_answer_counts_however_good_it_looks(stop: str | None, reason: Reason) -> None:
    assert refused(message(answer(), stop)).reason is reason


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "<html>gateway</html>",
        "[]",
        "null",
        '{"stop_reason": "end_turn"}',
        '{"stop_reason": "end_turn", "content": ["text"]}',
        '{"stop_reason": "end_turn", "content": []}',
        '{"stop_reason": "end_turn", "content": [{"type": "text"}]}',
        '{"stop_reason": "end_turn", "content": [{"type": "text", "text": 7}]}',
        '{"stop_reason": ["end_turn"], "content": []}',
        '{"stop_reason": "end_turn", "content": [{"type": "tool_use", "name": "kubectl"}]}',
        message(""),
        message("Sure! Here is the plan: {}"),
        message(answer(extra=1)),
        message(answer(choices="o1")),
        message(answer(can_plan="yes")),
        message(answer(diagnosis=[{"statement": "x", "confidence": "certain", "evidence": []}])),
        message(answer(choices=[{"option": "o3", "numbers": [{"name": "replicas", "value": 5.5}]}])),
        message(answer(choices=[{"option": "o3", "numbers": [{"name": "replicas", "value": True}]}])),
        message(answer(choices=[{"option": "o3", "numbers": [{"name": "replicas", "value": n} for n in (4, 6)]}])),
        message(answer(choices=[{"option": "o1", "numbers": []}] * 11)),
        message(answer())[:-40],
    ],
)
def test_what_is_not_exactly_an_answer_is_invalid(raw: str) -> None:
    refusal = refused(raw)
    assert refusal.reason is Reason.MODEL_INVALID
    assert len(refusal.detail) < 500


def test_an_option_that_is_not_on_the_menu_is_refused_by_name() -> None:
    refusal = refused(message(answer(choices=[{"option": "kubectl delete ns shop", "numbers": []}])))
    assert refusal.reason is Reason.OPTION_NOT_OFFERED
    assert "kubectl delete ns shop" in refusal.detail


@pytest.mark.parametrize(
    "said",
    [
        answer(can_plan=False, choices=[], why_not="The database is away; look there."),
        answer(can_plan=False, why_not="It says no and chooses all the same."),
        answer(choices=[], why_not="Nothing fits."),
    ],
)
def test_a_model_that_has_no_plan_is_taken_at_its_word(said: dict[str, Any]) -> None:
    refusal = refused(message(said))
    assert refusal.reason is Reason.CONFIDENCE_TOO_LOW
    assert said["why_not"] in refusal.detail


def test_thinking_is_passed_over() -> None:
    raw = json.loads(message(answer()))
    raw["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
    assert isinstance(parse(json.dumps(raw), brief(), MENU), PlanProposal)


def test_prose_is_one_bounded_printable_line() -> None:
    said = answer(expected_effect="a\n\x1b[31m" + "b" * 5000)
    plan = parse(message(said), brief(), MENU)
    assert isinstance(plan, PlanProposal)
    assert len(plan.expected_effect) == 600
    assert plan.expected_effect.isprintable()
