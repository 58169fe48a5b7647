"""A model that answers with whatever it likes, and an API in front of it that does too: a person gets it, unwritten."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.claude import Claude, ModelReply, ModelRequest
from handrail.model.config import ModelConfig, PlannerConfig, PlannerMode, SecretRef
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from tests.breaks.test_gone import told
from tests.breaks.worlds import alerted, pass_by
from tests.fakes.messages import FakeMessages
from tests.fakes.messages.script import Request
from tests.path.model import sensible
from tests.reconciler.rig import BAD, GOOD, Rig, Shop, asking, ended, rig

NASTY = "<!channel> <@U1> `x` ``` \u202egnp \x1b[31m\x07 http://evil.example/?approve " + "A" * 100_000


def changed(**change: Any) -> Callable[[Request], Any]:
    return lambda request: {**sensible(request), **change}


def chosen(option: str, *numbers: dict[str, Any]) -> Callable[[Request], Any]:
    def tell(request: Request) -> Any:
        known = sensible(request)["choices"][0]["option"]
        return {**sensible(request), "choices": [{"option": option or known, "numbers": list(numbers)}]}

    return tell


def cited(*evidence: str) -> Callable[[Request], Any]:
    diagnosis = [{"statement": "It is so.", "confidence": "high", "evidence": list(evidence)}]
    return changed(diagnosis=diagnosis)


def sure(confidence: str) -> Callable[[Request], Any]:
    def tell(request: Request) -> Any:
        answer = sensible(request)
        answer["diagnosis"][0]["confidence"] = confidence
        return answer

    return tell


def twice(request: Request) -> Any:
    answer = sensible(request)
    return {**answer, "choices": answer["choices"] * 2}


ANSWERS: dict[str, tuple[Callable[[Request], Any], set[Reason]]] = {
    "unknown option": (chosen("o99"), {Reason.OPTION_NOT_OFFERED}),
    "an option that is a sentence": (chosen(NASTY), {Reason.OPTION_NOT_OFFERED}),
    "a parameter that is none": (chosen("", {"name": "replicas", "value": 0}), set(Reason)),
    "a revision of its own": (chosen("", {"name": "to_revision", "value": 2}), set(Reason)),
    "a number beyond all": (chosen("", {"name": "to_revision", "value": 10**30}), set(Reason)),
    "extra fields": (changed(command="kubectl delete ns shop"), {Reason.MODEL_INVALID}),
    "evidence that is not there": (cited("e1", "e4711"), {Reason.EVIDENCE_NOT_CITED}),
    "evidence that is a sentence": (cited(NASTY), {Reason.EVIDENCE_NOT_CITED}),
    "no evidence": (cited(), {Reason.EVIDENCE_NOT_CITED}),
    "no diagnosis": (changed(diagnosis=[]), {Reason.EVIDENCE_NOT_CITED}),
    "no choice": (changed(choices=[]), {Reason.CONFIDENCE_TOO_LOW}),
    "contradiction": (changed(can_plan=False, why_not=NASTY), {Reason.CONFIDENCE_TOO_LOW}),
    "not sure": (sure("very_low"), {Reason.CONFIDENCE_TOO_LOW}),
    "prose": (lambda _: "Sure! " + NASTY, {Reason.MODEL_INVALID}),
    "deep": (lambda _: "[" * 200_000, {Reason.MODEL_INVALID}),
    "a deep object": (lambda _: '{"a":' * 200_000, {Reason.MODEL_INVALID}),
    "half a pair": (
        lambda request: json.dumps(sensible(request)).replace("crashes", "\\ud800"),
        {Reason.MODEL_INVALID},
    ),
    "nothing": (lambda _: "", {Reason.MODEL_INVALID}),
    "null": (lambda _: "null", {Reason.MODEL_INVALID}),
    "a number": (lambda _: "1" * 5_000, {Reason.MODEL_INVALID}),
}


async def ends(life: Rig, model: FakeMessages) -> Incident:
    """What comes of it, whoever says yes to everything; and what people are told says why."""
    incident = await pass_by(life, lambda i: ended(i) or asking(i), minutes=60)
    assert len(model.requests) <= 2
    return incident


def modelled(model: FakeMessages, folder: Path, **more: Any) -> dict[str, Any]:
    (folder / "key").write_text(model.api_key)
    config = ModelConfig(key=SecretRef(file=str(folder / "key")), base_url=model.url, **more)
    return {
        "model": Claude(config, lambda: model.api_key),
        "planner": PlannerConfig(mode=PlannerMode.MODEL, model=config),
    }


@pytest.mark.parametrize("name", ANSWERS)
async def test_whatever_a_model_answers_nothing_is_asked_and_a_person_is_told_why(
    shop: Shop, tmp_path: Path, name: str
) -> None:
    teller, reasons = ANSWERS[name]
    async with FakeMessages() as model:
        model.answer_with(teller)
        async with rig(shop, tmp_path, **modelled(model, tmp_path)) as life:
            await alerted(shop, life)
            incident = await ends(life, model)
            assert incident.state is State.HANDED_OVER
            assert incident.end is not None
            assert incident.end[0] in reasons - {Reason.BROKEN}, incident.end
            assert incident.writes == ()
            said = await told(life, incident)
            assert str(incident.end[0]) in said
            assert "\x1b" not in said
            assert "\u202e" not in said
            assert max(len(line) for line in said.splitlines()) < 5_000
    assert await shop.image() == BAD


FAULTS: dict[str, tuple[Callable[[FakeMessages], Any], set[Reason]]] = {
    "refusal": (lambda m: m.refuse(), {Reason.MODEL_REFUSED}),
    "cut off": (lambda m: m.truncate({"diagnosis": []}, 5), {Reason.MODEL_TRUNCATED}),
    "too long a request": (lambda m: m.overflow(), {Reason.MODEL_BUDGET}),
    "a stop of another kind": (lambda m: m.answer({}, "pause_turn"), {Reason.MODEL_INVALID}),
    "500": (lambda m: m.fail(500, times=9), {Reason.MODEL_AWAY}),
    "500 with a page": (lambda m: m.garble("<html>" + NASTY, 500, times=9), {Reason.MODEL_AWAY}),
    "429 for an hour": (lambda m: m.rate_limit(3600, times=9), {Reason.MODEL_AWAY}),
    "529": (lambda m: m.overload(times=9), {Reason.MODEL_AWAY}),
    "400": (lambda m: m.fail(400, NASTY, times=9), {Reason.MODEL_BAD_REQUEST}),
    "401": (lambda m: m.fail(401, times=9), {Reason.MODEL_AWAY}),
    "403": (lambda m: m.fail(403, times=9), {Reason.MODEL_AWAY}),
    "a page": (lambda m: m.garble(times=9), {Reason.MODEL_INVALID}),
    "a deep page": (lambda m: m.garble("[" * 300_000, times=9), {Reason.MODEL_INVALID}),
    "two megabytes": (lambda m: m.garble("A" * 2_000_000, times=9), {Reason.MODEL_INVALID}),
    "half a pair": (lambda m: m.garble('{"stop_reason": "\\ud800", "content": []}', times=9), {Reason.MODEL_INVALID}),
    "usage without end": (lambda m: m.garble('{"usage": {"input_tokens": 1e999}}', times=9), {Reason.MODEL_INVALID}),
    "usage beyond numbers": (
        lambda m: m.garble('{"usage": {"input_tokens": ' + "9" * 400 + "}}", times=9),
        {Reason.MODEL_INVALID},
    ),
    "connection cut": (lambda m: m.reset(times=9), {Reason.MODEL_AWAY}),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_whatever_the_models_api_does_a_person_is_told_why_within_two_calls(
    shop: Shop, tmp_path: Path, name: str
) -> None:
    order, reasons = FAULTS[name]
    async with FakeMessages() as model:
        order(model)
        async with rig(shop, tmp_path, **modelled(model, tmp_path)) as life:
            await alerted(shop, life)
            incident = await ends(life, model)
            assert incident.end is not None
            assert incident.end[0] in reasons, incident.end
            assert incident.writes == ()
            said = await told(life, incident)
            assert str(incident.end[0]) in said
            assert "\x1b" not in said
    assert await shop.image() == BAD


async def test_a_plan_that_chooses_the_same_twice_is_one_write_or_none(shop: Shop, tmp_path: Path) -> None:
    async with FakeMessages() as model:
        model.answer_with(twice)
        async with rig(shop, tmp_path, **modelled(model, tmp_path)) as life:
            await alerted(shop, life)
            incident = await life.run(ended, approve=True)
            assert len(incident.done_writes) <= 1, incident.end
            assert await shop.image() == (GOOD if incident.done_writes else BAD)


async def test_hostile_prose_of_a_sensible_plan_is_shown_as_words(shop: Shop, tmp_path: Path) -> None:
    """Its choice is fine: then people are asked, and see its sentences as sentences."""

    def nasty(request: Request) -> Any:
        answer = sensible(request)
        answer["diagnosis"][0]["statement"] = NASTY
        return {**answer, "expected_effect": NASTY, "would_disprove": NASTY}

    async with FakeMessages() as model:
        model.answer_with(nasty)
        async with rig(shop, tmp_path, **modelled(model, tmp_path)) as life:
            await alerted(shop, life)
            incident = await life.run(ended, approve=True)
            assert incident.state is State.RESOLVED, incident.end
            said = await told(life, incident)
            assert "\x1b" not in said
            assert "\u202e" not in said


class Interrupted:
    """A model that thinks for long enough that a person takes the incident meanwhile."""

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self.calls = 0
        self.meanwhile: Callable[[], Awaitable[Any]] | None = None

    async def call(self, _request: ModelRequest) -> ModelReply:
        self.calls += 1
        if self.meanwhile is not None:
            await self.meanwhile()
        return ModelReply(raw=self._raw, input_tokens=1, output_tokens=1, stop_reason="end_turn")


async def test_a_take_while_the_model_thinks_wins_and_its_answer_is_kept(shop: Shop, tmp_path: Path) -> None:
    """What is decided from an answer is decided from all that came in before it (design, state rule 2)."""
    model = Interrupted("this is no plan")
    async with rig(shop, tmp_path, model=model, planner=PlannerConfig(mode=PlannerMode.MODEL)) as life:
        await alerted(shop, life)
        model.meanwhile = lambda: life.answer("take")
        taken = await life.run(lambda i: i.taken_by is not None)
        for _ in range(5):
            await life.run(lambda _incident: True)
        after = await life.the_incident()
        assert (after.state, after.end) == (taken.state, None)
        model.meanwhile = None
        assert (await life.answer("give_back")).ok
        over = await life.run(ended)
        assert over.end is not None
        assert model.calls == 1, "what was answered is never asked again"
