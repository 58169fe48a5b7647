"""What is refused beside the journal is counted too, and the heart beats: in the daemon's inside as it is wired."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.adapters.claude import ModelFailed, ModelRequest
from handrail.adapters.telemetry import Tally
from handrail.loop import Reconciler
from handrail.model.approval import Person
from handrail.model.config import PlannerConfig, PlannerMode
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.breaks.worlds import alerted
from tests.http.test_tally import value
from tests.reconciler.rig import Rig, Shop, ended, rig


async def test_answers_that_do_not_count_are_counted_and_logged_with_the_word_that_was_told(
    shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    async with rig(shop, tmp_path) as quiet:
        life = Rig(replace(quiet.tools, signs=tally), shop)
        await alerted(shop, life)
        incident = await life.run(lambda i: i.state is State.ASKING)
        stranger = Person(via="slack", name="U0STRANGER")
        reply = await life.desk.decide(
            incident.id, "approve", stranger, incident.request.id if incident.request else None
        )
        assert reply.reason == Reason.NOT_AN_APPROVER
        assert life.desk.may_read(Person(via="kubernetes", name="eve")) is not None
        await life.take(b"{}", offset=77)
        text = await tally.text(life.tools.store)
    assert value(text, "handrail_refusals_total", reason="NOT_AN_APPROVER", stage="answer") == 1
    assert value(text, "handrail_refusals_total", reason="NOT_A_READER", stage="read") == 1
    assert "reason=NOT_AN_APPROVER" in capsys.readouterr().out
    assert re.search(r'handrail_refusals_total{reason="\w+",stage="intake"} 1.0', text.decode())


async def test_the_heart_beats_with_each_look_at_the_open_incidents(shop: Shop, tmp_path: Path) -> None:
    tally = Tally()
    async with rig(shop, tmp_path) as quiet:
        tools = replace(quiet.tools, signs=tally)
        assert value(await tally.text(tools.store), "handrail_heartbeat_timestamp_seconds") == 0
        async with asyncio.TaskGroup() as group:
            await Reconciler(tools).start_due(group)
        now = tools.now().timestamp()
        assert value(await tally.text(tools.store), "handrail_heartbeat_timestamp_seconds") == now


class Failing:
    """A model whose every call fails in the same way, once and for all."""

    def __init__(self, spent: bool) -> None:
        self._spent = spent
        self.asked: list[ModelRequest] = []

    async def call(self, request: ModelRequest) -> ModelFailed:
        self.asked.append(request)
        return ModelFailed(reason=Reason.MODEL_BAD_REQUEST, detail="no", spent=self._spent)


@pytest.mark.parametrize("spent", [True, False])
async def test_tokens_of_a_failed_call_count_where_it_may_have_been_paid_for(
    shop: Shop, tmp_path: Path, spent: bool
) -> None:
    tally, model = Tally(), Failing(spent)
    async with rig(shop, tmp_path, model=model, planner=PlannerConfig(mode=PlannerMode.MODEL)) as life:
        life.tools.store.listen_to(tally)
        await alerted(shop, life)
        incident = await life.run(ended)
        assert incident.end is not None
        assert incident.end[0] is Reason.MODEL_BAD_REQUEST
        text = await tally.text(life.tools.store)
    (request,) = model.asked
    expected = request.input_tokens if spent else 0
    assert value(text, "handrail_model_tokens_total", direction="input") == expected
    assert value(text, "handrail_model_calls_total", result="MODEL_BAD_REQUEST") == 1
