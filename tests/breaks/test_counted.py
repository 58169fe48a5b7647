"""What is refused beside the journal is counted too, and the heart beats: in the daemon's inside as it is wired."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.adapters.telemetry import Tally
from handrail.model.approval import Person
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.reconciler import Reconciler
from tests.breaks.worlds import alerted
from tests.http.test_tally import value
from tests.reconciler.rig import Rig, Shop, rig


async def test_answers_that_do_not_count_are_counted_and_logged_with_the_word_that_was_told(
    shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    async with rig(shop, tmp_path) as quiet:
        life = Rig(replace(quiet.tools, signs=tally), shop)
        await alerted(shop, life)
        incident = await life.run(lambda i: i.state is State.ASKING)
        stranger = Person(via="slack", name="U0STRANGER")
        reply = await life.desk.decide(incident.id, "approve", stranger, incident.request.id if incident.request else None)
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
