"""`/handrail` in Slack: read with certainty or not at all, acknowledged first, answered to that person alone."""

from __future__ import annotations

import asyncio

import pytest

from handrail.adapters.slack import ClickStream, Command, read
from handrail.adapters.slack.commands import Order, heard
from handrail.model.errors import Permanent
from handrail.model.switch import Reach, Scope
from tests.fakes.slack import FakeSlack
from tests.slack.conftest import FAST, desk_for

SHOP = Reach(scope=Scope.NAMESPACE, name="shop")


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("stop release freeze", Order(verb="stop", why="release freeze")),
        ("STOP --reason \u201crelease freeze\u201d", Order(verb="stop", why="release freeze")),
        ("stop --in-namespace shop it migrates", Order(verb="stop", reach=SHOP, why="it migrates")),
        ("stop \u2014in-namespace shop --reason it migrates", Order(verb="stop", reach=SHOP, why="it migrates")),
        ("stop --step rollout_undo x", Order(verb="stop", reach=Reach(scope=Scope.STEP, name="rollout_undo"), why="x")),
        ("start", Order(verb="start")),
        ("start --in-namespace shop", Order(verb="start", reach=SHOP)),
        ("status", Order(verb="status")),
        ("stop", None),
        ("stop --in-namespace shop", None),
        ("stop --in-namespace", None),
        ("stop --namespace shop it migrates", None),
        ("stop --in-namespace shop --step rollout_undo x", None),
        ("start shop", None),
        ("start --in-namespace", None),
        ("status now", None),
        ("approve inc-1", None),
        ("", None),
    ],
)
def test_a_command_is_read_with_certainty_or_not_at_all(text: str, order: Order | None) -> None:
    assert read(text) == order


def test_only_our_own_command_is_heard() -> None:
    payload = {"command": "/handrail", "user_id": "U1", "text": "status", "response_url": "https://hooks.slack.com/x"}
    assert heard("slash_commands", payload) is not None
    assert heard("interactive", payload) is None
    assert heard("slash_commands", {**payload, "command": "/other"}) is None
    assert heard("slash_commands", {**payload, "user_id": None}) is None
    assert heard("slash_commands", {**payload, "response_url": 1}) is None


async def test_a_command_is_acknowledged_before_the_work_and_answered_to_that_person(slack: FakeSlack) -> None:
    go, commands = asyncio.Event(), list[Command]()

    async def slow(command: Command) -> str:
        commands.append(command)
        await go.wait()
        return "stopped: `handrail start` lifts it\n1 open incident"

    async def nobody(_click: object) -> str:
        raise AssertionError("nobody clicked")

    stream = ClickStream(desk_for(slack), lambda: slack.app_token, nobody, FAST, on_command=slow)
    task = asyncio.create_task(stream.run())
    try:
        await slack.wait_connected()
        assert await slack.slash("/handrail", "stop freeze", user="U0SECOND")
        assert slack.ephemerals("U0SECOND") == []
        go.set()
        await slack.wait_for(lambda: slack.ephemerals("U0SECOND"))
        (said,) = slack.ephemerals("U0SECOND")
        assert said.text == "stopped: `handrail start` lifts it\n1 open incident"
        assert [(one.user, one.text) for one in commands] == [("U0SECOND", "stop freeze")]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_answer_goes_nowhere_but_to_slack(slack: FakeSlack) -> None:
    with pytest.raises(Permanent, match="none of Slack's"):
        await desk_for(slack).respond("https://evil.example/hook", "secret")
