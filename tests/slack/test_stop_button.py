"""The button that stops, from a real card over the socket to the switch, and what everybody then sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.adapters.slack import ClickStream, SlackDesk
from handrail.core.card import card
from handrail.model.incident import State
from handrail.model.switch import EVERYTHING
from tests.breaks.worlds import alerted
from tests.fakes.slack import FakeSlack
from tests.reconciler.conftest import shop
from tests.reconciler.rig import POLICY, Rig, Shop, asking, ended, rig
from tests.slack.conftest import FAST

__all__ = ["shop"]
ONCALL, OPS, STRANGER = "U0ONCALL", "U0SECOND", "U0STRANGER"


@pytest.fixture
async def room(shop: Shop, tmp_path: Path, slack: FakeSlack, desk: SlackDesk) -> AsyncIterator[tuple[Rig, str]]:
    """A daemon that asks, and its card with somebody who hears the clicks."""
    people: dict[str, Any] = {"approvers": {"slack_users": [ONCALL]}, "operators": {"slack_users": [OPS]}}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, **people}))
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await life.run(asking)
        posted = await desk.show(card(incident, shop.clock.now()), None)
        stream = asyncio.create_task(ClickStream(desk, lambda: slack.app_token, life.desk.click, FAST).run())
        await slack.wait_connected()
        yield life, posted.ts
        stream.cancel()
        await asyncio.gather(stream, return_exceptions=True)


async def answer(slack: FakeSlack, user: str, count: int = 1) -> str:
    await slack.wait_for(lambda: len(slack.ephemerals(user)) >= count)
    return slack.ephemerals(user)[-1].text


@pytest.mark.parametrize("who", [ONCALL, OPS])
async def test_it_stops_everything_at_once_and_names_who_pressed_it(
    room: tuple[Rig, str], slack: FakeSlack, who: str
) -> None:
    life, ts = room
    assert await slack.click(ts, "stop", user=who)
    assert ": nothing is written any more until `handrail start`" in await answer(slack, who)
    (stop,) = (await life.tools.store.switch()).stops
    incident = await life.the_incident()
    assert (stop.reach, stop.by, stop.why) == (EVERYTHING, f"slack:{who}", f"pressed on the card of {incident.id}")
    assert (await life.run(lambda found: found.paused)).state is State.ASKING
    assert await slack.click(ts, "approve", user=ONCALL)
    assert "stopped" in await answer(slack, ONCALL, 2 if who == ONCALL else 1)


async def test_whom_the_policy_does_not_name_stops_nothing(room: tuple[Rig, str], slack: FakeSlack) -> None:
    life, ts = room
    assert await slack.click(ts, "stop", user=STRANGER)
    assert "neither an operator nor an approver" in await answer(slack, STRANGER)
    assert (await life.tools.store.switch()).pressed == ()
    assert await slack.click(ts, "approve", user=ONCALL)
    await answer(slack, ONCALL)
    assert (await life.run(ended)).state is State.RESOLVED
