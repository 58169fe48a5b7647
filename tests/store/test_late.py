"""Results and answers that come late: recorded wherever the head is, once, and never replaced."""

from __future__ import annotations

import asyncio

import pytest

from handrail.adapters.store import Store
from handrail.model import events as ev
from handrail.model.errors import Bug
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.value import digest
from tests.factories import a_saga, an_intent, an_outcome, story_to
from tests.store.driving import drive, walk

ASKED = ev.ModelAsked(request="r1", model="m", input_tokens=100)


async def in_flight(store: Store) -> tuple[Incident, ev.Intent]:
    incident = await walk(store, State.EXECUTING)
    intent = an_intent(a_saga(incident.id))
    return await drive(store, incident, (intent,)), intent


async def test_an_outcome_is_recorded_although_the_head_has_moved(store: Store) -> None:
    incident, intent = await in_flight(store)
    await store.append(incident, (ev.Noted(text="somebody was here"),))
    ended = await store.append_outcome(incident.id, an_outcome(intent))
    assert ended.open_write is None
    assert intent.write.key in ended.done_keys


async def test_an_outcome_is_recorded_once_and_the_first_one_stays(store: Store) -> None:
    incident, intent = await in_flight(store)
    results = [an_outcome(intent, result) for result in (ev.Result.DONE, ev.Result.REFUSED, ev.Result.ABSENT)]
    ends = await asyncio.gather(*(store.append_outcome(incident.id, result) for result in results))
    assert len({end.seq for end in ends}) == 1
    assert [entry.event.kind for entry in await store.entries(incident.id)].count("outcome") == 1


async def test_an_outcome_is_recorded_on_a_closed_incident(store: Store) -> None:
    incident, intent = await in_flight(store)
    over = ev.HandedOver(reason=Reason.OUTCOME_UNCLEAR, detail="lost")
    closed = await store.append(incident, (over,))
    assert closed.state is State.HANDED_OVER
    late = await store.append_outcome(incident.id, an_outcome(intent))
    assert late.state is State.HANDED_OVER
    assert late.open_write is None
    assert late.seq == closed.seq + 1


async def test_that_nobody_could_tell_gives_way_to_who_knows_that_it_was_applied(store: Store) -> None:
    """A replica that was replaced wakes with its answer after its successor has given up finding out."""
    incident, intent = await in_flight(store)
    stuck = await store.append_outcome(incident.id, an_outcome(intent, ev.Result.STUCK))
    over = await store.append(stuck, (ev.HandedOver(reason=Reason.OUTCOME_UNCLEAR, detail="lost"),))
    absent = await store.append_outcome(incident.id, an_outcome(intent, ev.Result.ABSENT))
    assert absent.seq == over.seq, "that it was not applied is said of one attempt alone"
    known = await store.append_outcome(incident.id, an_outcome(intent))
    assert intent.write.key in known.done_keys
    assert [run.done for run in known.writes] == [True]
    told = [entry.event for entry in await store.entries(incident.id)][-1]
    assert isinstance(told, ev.Noted)
    assert "was applied" in told.text
    assert (await store.append_outcome(incident.id, an_outcome(intent))).seq == known.seq


async def test_each_run_of_a_write_has_an_outcome_of_its_own(store: Store) -> None:
    incident, intent = await in_flight(store)
    absent = an_outcome(intent, ev.Result.ABSENT)
    incident = await drive(store, incident, (absent, intent, an_outcome(intent)))
    assert [run.outcome and run.outcome.result for run in incident.writes] == [ev.Result.ABSENT, ev.Result.DONE]


async def test_an_outcome_of_an_earlier_round_comes_too_late_to_change_anything(store: Store) -> None:
    incident = await drive(store, await walk(store, State.VERIFYING), (ev.Replanned(),))
    assert incident.writes == ()
    late = an_outcome(an_intent(a_saga(incident.id)), ev.Result.STUCK)
    assert await store.append_outcome(incident.id, late) == incident


async def test_what_became_of_one_attempt_says_nothing_of_a_later_one(store: Store) -> None:
    """Of a replica that was replaced while it sent: its successor's attempt is on its way."""
    incident, intent = await in_flight(store)
    again = ev.Attempted(key=intent.write.key, resource_version=intent.resource_version)
    incident = await drive(store, incident, (again,))
    for result in (ev.Result.ABSENT, ev.Result.REFUSED):
        late = await store.append_outcome(incident.id, an_outcome(intent, result), attempt=1)
        assert late == incident
    ended = await store.append_outcome(incident.id, an_outcome(intent), attempt=2)
    assert intent.write.key in ended.done_keys


async def test_an_outcome_of_what_was_never_intended_is_a_bug(store: Store) -> None:
    incident, _intent = await in_flight(store)
    with pytest.raises(Bug):
        await store.append_outcome(incident.id, ev.Outcome(key="inc/1/9/do/x/patch", result=ev.Result.DONE))
    with pytest.raises(Bug):
        await store.append_outcome("inc-nobody", ev.Outcome(key="k", result=ev.Result.DONE))


async def asked(store: Store) -> Incident:
    incident = await walk(store, State.GATHERING)
    story = story_to(State.PLANNING, incident.id)[1:]
    return await drive(store, incident, (*story, ASKED))


def answer(text: str) -> tuple[ev.ModelAnswered, dict[str, str]]:
    key = digest(text)
    return ev.ModelAnswered(request="r1", raw=key, input_tokens=90, output_tokens=5), {key: text}


async def test_a_models_answer_is_kept_with_its_text_wherever_the_head_is(store: Store) -> None:
    incident = await asked(store)
    await store.append(incident, (ev.Noted(text="moved"),))
    answered = await store.answer_model(incident.id, *answer("the plan"))
    call = answered.model_calls[0]
    assert call.answered
    assert await store.blob(call.raw) == "the plan"


async def test_a_recorded_answer_is_never_replaced(store: Store) -> None:
    incident = await asked(store)
    first = await store.answer_model(incident.id, *answer("first"))
    assert await store.answer_model(incident.id, *answer("second")) == first
    failed = ev.ModelAnswered(request="r1", failed=Reason.MODEL_AWAY)
    assert await store.answer_model(incident.id, failed, {}) == first


async def test_a_failure_gives_way_to_an_answer_that_came_after_all(store: Store) -> None:
    incident = await asked(store)
    await store.answer_model(incident.id, ev.ModelAnswered(request="r1", failed=Reason.MODEL_AWAY), {})
    answered = await store.answer_model(incident.id, *answer("late"))
    assert answered.model_calls[0].failed is None
    assert answered.model_calls[0].raw == digest("late")


async def test_an_answer_on_a_closed_incident_is_kept(store: Store) -> None:
    incident = await asked(store)
    await store.append(incident, (ev.HandedOver(reason=Reason.MODEL_AWAY, detail="gone"),))
    answered = await store.answer_model(incident.id, *answer("late"))
    assert answered.model_calls[0].answered


async def test_an_answer_to_what_was_never_asked_is_a_bug(store: Store) -> None:
    incident = await walk(store, State.PLANNING)
    with pytest.raises(Bug):
        await store.answer_model(incident.id, *answer("to nobody"))
    assert await store.blob(digest("to nobody")) is None
