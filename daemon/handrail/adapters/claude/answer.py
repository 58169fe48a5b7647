"""A recorded answer of the model becomes a proposal or a refusal. Pure: it can be read again after any crash.

Only a complete, well-formed answer that names what is on the menu counts. Nothing is repaired or guessed: k8sgpt's
operator once applied an answer that its own check had refused.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handrail.model.menu import Menu
from handrail.model.plan import Brief, Choice, Confidence, Hypothesis, PlanProposal
from handrail.model.reason import Reason, Refusal

PROSE = 600
"""Characters of a sentence of the model that are kept: a card is read by a person."""

STOPS: dict[str, tuple[Reason, str]] = {
    "refusal": (Reason.MODEL_REFUSED, "the model refused to answer"),
    "max_tokens": (Reason.MODEL_TRUNCATED, "the answer was cut off at its token limit"),
    "model_context_window_exceeded": (Reason.MODEL_BUDGET, "the request filled the model's context"),
}


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Diagnosed(_Closed):
    statement: str
    confidence: Literal["high", "medium", "low", "very_low"]
    evidence: list[str]


class Number(_Closed):
    name: str
    value: int


class Chosen(_Closed):
    option: str
    numbers: list[Number]


class PlanAnswer(_Closed):
    """What the model is asked for. In this order: it thinks of the cause before it chooses."""

    diagnosis: list[Diagnosed] = Field(max_length=5)
    can_plan: bool
    why_not: str
    choices: list[Chosen] = Field(max_length=10)
    expected_effect: str
    would_disprove: str


class RecordedAnswer(NamedTuple):
    """A planner that says again what the model has said; the raw answer was stored before this reads it."""

    raw: str
    name: str = "model"

    def plan(self, brief: Brief, menu: Menu) -> PlanProposal | Refusal:
        return parse(self.raw, brief, menu)


def parse(raw: str, brief: Brief, menu: Menu) -> PlanProposal | Refusal:
    """`raw` is the API's whole message as JSON text."""
    text = _text(raw)
    if isinstance(text, Refusal):
        return text
    try:
        answer = PlanAnswer.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the answer"
        return _invalid(f"{where}: {first['msg'][:200]}")
    return _cannot(answer) or _unknown(answer, menu) or _proposal(answer)


def _text(raw: str) -> str | Refusal:
    """The text of a finished message. Thinking is passed over; anything else than text is not an answer."""
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        return _invalid("what came back is no JSON")
    if not isinstance(message, dict):
        return _invalid("what came back is no message")
    stop, blocks = message.get("stop_reason"), message.get("content")
    if isinstance(stop, str) and stop in STOPS:
        reason, detail = STOPS[stop]
        return Refusal(reason=reason, detail=detail)
    if stop != "end_turn":
        return _invalid(f"it stopped for {str(stop)[:40]!r}")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return _invalid("the message has no content")
    return _joined(blocks)


def _joined(blocks: list[dict[str, Any]]) -> str | Refusal:
    kinds = {str(block.get("type")) for block in blocks} - {"thinking", "redacted_thinking"}
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if kinds != {"text"} or not all(isinstance(text, str) for text in texts):
        return _invalid(f"the message holds {', '.join(sorted(kinds))[:80] or 'nothing'} instead of text")
    return "".join(str(text) for text in texts)


def _cannot(answer: PlanAnswer) -> Refusal | None:
    """Contradictions count as no: an answer that says it can't plan is not searched for choices."""
    if answer.can_plan and answer.choices:
        return None
    why = _prose(answer.why_not) or "it gave no reason"
    return Refusal(reason=Reason.CONFIDENCE_TOO_LOW, detail=f"the model has no plan: {why}")


def _unknown(answer: PlanAnswer, menu: Menu) -> Refusal | None:
    for chosen in answer.choices:
        if menu.option(chosen.option) is None:
            detail = f"the model chose {chosen.option[:40]!r}, which is not on the menu"
            return Refusal(reason=Reason.OPTION_NOT_OFFERED, detail=detail)
        names = [number.name for number in chosen.numbers]
        if len(set(names)) < len(names):
            return _invalid(f"a parameter of {chosen.option} is named twice")
    return None


def _proposal(answer: PlanAnswer) -> PlanProposal:
    return PlanProposal(
        diagnosis=tuple(
            Hypothesis(
                statement=_prose(said.statement),
                confidence=Confidence(said.confidence),
                evidence=tuple(dict.fromkeys(said.evidence)),
            )
            for said in answer.diagnosis
        ),
        choices=tuple(
            Choice(option=chosen.option, params={number.name: number.value for number in chosen.numbers})
            for chosen in answer.choices
        ),
        expected_effect=_prose(answer.expected_effect),
        would_disprove=_prose(answer.would_disprove),
    )


def _prose(text: str) -> str:
    """One bounded line: whatever a sentence holds, it can't draw a card of its own."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= PROSE else line[: PROSE - 1] + "…"


def _invalid(detail: str) -> Refusal:
    return Refusal(reason=Reason.MODEL_INVALID, detail=f"the model's answer can't be used: {detail}")
