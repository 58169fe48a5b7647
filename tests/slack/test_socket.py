"""Clicks through the real Socket Mode client: acknowledged, handed on once, answered, heard again after any loss."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.adapters.slack import Click, ClickStream, SlackDesk
from handrail.core.answer import decide
from handrail.core.card import card
from handrail.model import events as ev
from handrail.model.approval import Person
from handrail.model.errors import Transient
from handrail.model.reason import Refusal
from tests.card import journals as j
from tests.fakes.slack import FakeSlack
from tests.slack.conftest import CHANNEL, FAST, desk_for

OnClick = Callable[[Click], Awaitable[str]]


@asynccontextmanager
async def listening(slack: FakeSlack, on_click: OnClick | None = None) -> AsyncIterator[list[Click]]:
    heard: list[Click] = []

    async def note(click: Click) -> str:
        heard.append(click)
        return await on_click(click) if on_click else f"heard {click.verb}"

    desk = desk_for(slack)
    stream = ClickStream(desk, lambda: slack.app_token, note, FAST)
    task = asyncio.create_task(stream.run())
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def asked(desk: SlackDesk) -> str:
    return (await desk.show(card(j.incident(j.ASKED), j.T0), None)).ts


async def whispered(slack: FakeSlack, user: str, count: int = 1) -> list[str]:
    await slack.wait_for(lambda: len(slack.ephemerals(user)) >= count)
    return [message.text for message in slack.ephemerals(user)]


async def test_a_click_is_acknowledged_and_its_person_is_answered(slack: FakeSlack, asked: str) -> None:
    async with listening(slack) as heard:
        await slack.wait_connected()
        assert await slack.click(asked, "approve", user="U0SECOND")
        assert await whispered(slack, "U0SECOND") == ["heard approve"]
    expected = Click(
        user="U0SECOND", verb="approve", request_id="req-1", incident="inc-abcdefghij", channel=CHANNEL, ts=asked
    )
    assert heard == [expected]


async def test_the_acknowledgement_does_not_wait_for_the_work(slack: FakeSlack, asked: str) -> None:
    go = asyncio.Event()

    async def slow(click: Click) -> str:
        await go.wait()
        return "done at last"

    async with listening(slack, slow):
        await slack.wait_connected()
        assert await slack.click(asked, "approve")
        assert slack.ephemerals("U0ONCALL") == []
        go.set()
        assert await whispered(slack, "U0ONCALL") == ["done at last"]


async def test_a_repeated_envelope_or_action_is_handled_once_and_acknowledged_each_time(
    slack: FakeSlack, asked: str
) -> None:
    async with listening(slack) as heard:
        await slack.wait_connected()
        first = await slack.click(asked, "approve")
        again = await slack.sockets.deliver("interactive", first.payload)
        assert again
        assert again.envelope_id != first.envelope_id
        assert await slack.click(asked, "reject")
        await whispered(slack, "U0ONCALL", 2)
    assert [click.verb for click in heard] == ["approve", "reject"]


async def test_a_double_click_by_the_same_person_is_two_clicks_of_which_one_counts(
    slack: FakeSlack, asked: str
) -> None:
    state = [j.incident(j.ASKED)]

    async def deciding(click: Click) -> str:
        person = Person(via="slack", name=click.user)
        answer = decide(state[0], click.verb, click.request_id, person, j.T0)
        if isinstance(answer, Refusal):
            return f"{answer.reason}: {answer.detail}"
        state[0] = j.incident((*j.ASKED, *answer))
        return "approved"

    async with listening(slack, deciding):
        await slack.wait_connected()
        assert await slack.click(asked, "approve")
        await whispered(slack, "U0ONCALL")
        assert await slack.click(asked, "approve")
        told = await whispered(slack, "U0ONCALL", 2)
        assert await slack.click(asked, "approve", user="U0STRANGER")
        stranger = await whispered(slack, "U0STRANGER")
    assert told[0] == "approved"
    assert told[1].startswith("APPROVAL_USED: slack:U0ONCALL has already approved")
    assert stranger[0].startswith("APPROVAL_USED")


async def test_a_stranger_and_a_late_click_are_told_why_they_do_not_count(slack: FakeSlack, asked: str) -> None:
    times = iter([j.T0, j.request().expires.replace(hour=23)])

    async def deciding(click: Click) -> str:
        answer = decide(
            j.incident(j.ASKED), click.verb, click.request_id, Person(via="slack", name=click.user), next(times)
        )
        assert isinstance(answer, Refusal)
        return str(answer)

    async with listening(slack, deciding):
        await slack.wait_connected()
        assert await slack.click(asked, "approve", user="U0STRANGER")
        (stranger,) = await whispered(slack, "U0STRANGER")
        assert await slack.click(asked, "approve")
        (late,) = await whispered(slack, "U0ONCALL")
    assert stranger.startswith("NOT_AN_APPROVER: slack:U0STRANGER may not decide this")
    assert late.startswith("APPROVAL_EXPIRED: the time to decide ended")


async def test_a_button_of_an_old_card_carries_the_old_request(slack: FakeSlack, desk: SlackDesk, asked: str) -> None:
    newer = card(j.incident((*j.REHEARSED, ev.Asked(request=j.request("req-2")))), j.T0)
    await desk.show(newer, None)
    async with listening(slack) as heard:
        await slack.wait_connected()
        assert await slack.click(asked, "approve", version=0)
        await whispered(slack, "U0ONCALL")
    assert heard[0].request_id == "req-1"


@pytest.mark.parametrize("error", [Transient("the store is away"), RuntimeError("boom")], ids=["expected", "not"])
async def test_work_that_breaks_is_told_to_its_person_and_ends_nothing(
    slack: FakeSlack, asked: str, error: Exception
) -> None:
    failures = [error]

    async def fragile(click: Click) -> str:
        if failures:
            raise failures.pop()
        return "fine"

    async with listening(slack, fragile):
        await slack.wait_connected()
        assert await slack.click(asked, "approve")
        (told,) = await whispered(slack, "U0ONCALL")
        assert told.startswith("That did not work, nothing was decided")
        assert await slack.click(asked, "approve")
        assert (await whispered(slack, "U0ONCALL", 2))[1] == "fine"


async def test_an_answer_that_can_not_be_whispered_ends_nothing(slack: FakeSlack, asked: str) -> None:
    slack.fail("chat.postEphemeral", "user_not_in_channel")
    async with listening(slack) as heard:
        await slack.wait_connected()
        assert await slack.click(asked, "approve")
        await slack.wait_for(lambda: slack.called("chat.postEphemeral"))
        assert await slack.click(asked, "reject")
        await whispered(slack, "U0ONCALL")
    assert len(heard) == 2


async def test_what_is_not_ours_is_acknowledged_and_left_alone(slack: FakeSlack, asked: str) -> None:
    strange: dict[str, Any] = {
        "type": "block_actions",
        "user": {"id": "U0ONCALL"},
        "container": {"channel_id": CHANNEL, "message_ts": asked},
    }
    values = [None, "", "no json", "[]", '"x"', "{}", '{"r": 1, "i": 2}', '{"r": "x"}']
    actions: list[dict[str, Any]] = [{"action_id": "approve", "value": value, "action_ts": "1"} for value in values]
    payloads: list[dict[str, Any]] = [
        {**strange, "actions": [*actions, {"action_id": "dance"}, {}]},
        {**strange, "actions": None},
        {"type": "view_submission"},
        {},
    ]
    async with listening(slack) as heard:
        await slack.wait_connected()
        for payload in payloads:
            assert await slack.sockets.deliver("interactive", payload)
        assert await slack.event({"type": "app_mention"})
        assert await slack.click(asked, "take")
        await whispered(slack, "U0ONCALL")
    assert [click.verb for click in heard] == ["take"]


LOSSES: dict[str, Callable[[FakeSlack], Any]] = {
    "asked to reconnect": lambda slack: slack.disconnect("refresh_requested"),
    "warned": lambda slack: slack.disconnect("warning"),
    "dropped": lambda slack: slack.drop_sockets(),
    "deaf": lambda slack: slack.deafen(),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES.keys())
async def test_it_hears_again_after_its_connection_has_gone(slack: FakeSlack, asked: str, lose: Any) -> None:
    async with listening(slack) as heard:
        await slack.wait_connected()
        losing = lose(slack)
        if asyncio.iscoroutine(losing):
            await losing
        await slack.wait_for(lambda: [c for c in slack.sockets.live if c.number > 1])
        await slack.wait_for(lambda: all(c.number > 1 for c in slack.sockets.live))
        assert await slack.click(asked, "approve")
        await whispered(slack, "U0ONCALL")
    assert len(heard) == 1


async def test_a_refused_address_is_not_tried_for_ever(slack: FakeSlack, asked: str) -> None:
    """slack-sdk alone would never ask for another one."""
    slack.refuse_sockets(3)
    async with listening(slack):
        await slack.wait_connected()
        assert slack.sockets.refused >= 3
        slack.refuse_sockets(2)
        slack.drop_sockets()
        await slack.wait_for(lambda: slack.sockets.refused >= 5)
        await slack.wait_connected()
        assert await slack.click(asked, "approve")


FAULTS: dict[str, Callable[[FakeSlack], Any]] = {
    "500": lambda slack: slack.fail("apps.connections.open", http_status=500, body="<html>", times=3),
    "invalid_auth": lambda slack: slack.fail("apps.connections.open", "invalid_auth", times=3),
    "rate limit": lambda slack: slack.rate_limit("apps.connections.open", retry_after=1, times=3),
    "reset": lambda slack: slack.reset("apps.connections.open", times=3),
}


@pytest.mark.parametrize("order", FAULTS.values(), ids=FAULTS.keys())
async def test_it_goes_on_trying_while_slack_gives_no_address(slack: FakeSlack, asked: str, order: Any) -> None:
    order(slack)
    async with listening(slack):
        await slack.wait_connected()
        assert await slack.click(asked, "approve")


async def test_it_ends_at_once_when_slack_is_away_or_deaf(slack: FakeSlack) -> None:
    async with asyncio.timeout(8):
        async with listening(slack):
            await slack.wait_connected()
            slack.deafen()
        async with listening(slack):
            slack.hang("apps.connections.open")
            await slack.wait_for(lambda: slack.called("apps.connections.open")[1:])
        await slack.close()
        async with listening(slack):
            await asyncio.sleep(0)
