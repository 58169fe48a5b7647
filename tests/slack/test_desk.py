"""What the desk posts, changes and whispers, with the real slack-sdk against the strict fake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handrail.adapters.slack import Posted, SlackDesk
from handrail.adapters.slack.errors import Refused
from handrail.core.card import card
from handrail.model.errors import BadConfig, Permanent, Transient
from tests.card import journals as j
from tests.fakes.slack import FakeSlack
from tests.slack.conftest import CHANNEL, desk_for

ASKING = card(j.incident(j.ASKED), j.T0)
ENDED = card(j.incident(j.HEALED), j.T0)


async def test_a_card_is_posted_once_and_then_changed_in_place(slack: FakeSlack, desk: SlackDesk) -> None:
    where = await desk.show(ASKING, None)
    assert where.channel == CHANNEL
    assert await desk.show(ENDED, where) == where
    (message,) = slack.messages(CHANNEL)
    assert "RESOLVED" in message.everything()
    assert len(message.edits) == 1
    assert slack.warnings == []


async def test_when_nothing_is_asked_any_more_the_buttons_are_gone(slack: FakeSlack, desk: SlackDesk) -> None:
    where = await desk.show(ASKING, None)
    await desk.show(ENDED, where)
    with pytest.raises(LookupError):
        await slack.click(where.ts, "approve")


async def test_a_deleted_card_is_posted_anew(slack: FakeSlack, desk: SlackDesk) -> None:
    where = await desk.show(ASKING, None)
    slack.messages(CHANNEL)[0].deleted = True
    again = await desk.show(ASKING, where)
    assert again != where
    assert [message.ts for message in slack.messages(CHANNEL)] == [again.ts]


async def test_a_card_in_a_channel_that_is_no_more_is_posted_in_the_one_configured_now(
    slack: FakeSlack, desk: SlackDesk
) -> None:
    again = await desk.show(ASKING, Posted(channel="C0GONE", ts="1700000000.000001"))
    assert again.channel == CHANNEL


async def test_lines_stand_in_the_thread_in_order_and_name_people(slack: FakeSlack, desk: SlackDesk) -> None:
    where = await desk.show(ASKING, None)
    for line in ("Asked slack:U0ONCALL. Please decide.", "slack:U0ONCALL approved it.", "Note: <!channel> `x"):
        await desk.say(where, line)
    said = [message.text for message in slack.thread(where.ts)][1:]
    assert said == ["Asked <@U0ONCALL>. Please decide.", "<@U0ONCALL> approved it.", "Note: &lt;!channel&gt; ˋx"]
    assert slack.warnings == []


async def test_an_address_of_the_world_is_no_link_anywhere(slack: FakeSlack, desk: SlackDesk) -> None:
    words = "see https://evil.example/x and www.evil.example"
    hostile = ASKING.model_copy(update={"title": words, "status": words, "diagnosis": (words,), "diff": words})
    where = await desk.show(hostile, None)
    assert await desk.show(hostile, where) == where
    await desk.say(where, words)
    await desk.notice(words, where)
    await desk.whisper(CHANNEL, "U0SECOND", words)
    slack.fail("chat.update", "invalid_blocks")
    await desk.show(hostile, where)
    assert slack.warnings == []


async def test_a_whisper_is_for_one_person(slack: FakeSlack, desk: SlackDesk) -> None:
    await desk.whisper(CHANNEL, "U0SECOND", "approved: `handrail take x` <b>")
    assert [m.text for m in slack.ephemerals("U0SECOND")] == ["approved: `handrail take x` &lt;b&gt;"]
    assert slack.messages(CHANNEL) == []


async def test_a_card_that_slack_finds_too_much_is_still_told_as_text(slack: FakeSlack, desk: SlackDesk) -> None:
    slack.fail("chat.postMessage", "invalid_blocks")
    await desk.show(ASKING, None)
    (message,) = slack.messages(CHANNEL)
    assert message.blocks == []
    assert "handrail approve inc-abcdefghij" in message.text


async def test_a_rate_limit_says_when_to_come_back(slack: FakeSlack, desk: SlackDesk) -> None:
    slack.rate_limit("chat.postMessage", retry_after=17)
    with pytest.raises(Transient) as caught:
        await desk.show(ASKING, None)
    assert caught.value.retry_after == 17


Order = Callable[[FakeSlack], Any]
AWAY: dict[str, Order] = {
    "500 and HTML": lambda slack: slack.fail("chat.postMessage", http_status=500, body="<html>"),
    "200 and HTML": lambda slack: slack.fail("chat.postMessage", body="<html>sign in</html>"),
    "503": lambda slack: slack.fail("chat.postMessage", "service_unavailable", 503),
    "internal_error": lambda slack: slack.fail("chat.postMessage", "internal_error"),
    "a list": lambda slack: slack.fail("chat.postMessage", body={"error": None}),
    "reset": lambda slack: slack.reset("chat.postMessage"),
}


@pytest.mark.parametrize("order", AWAY.values(), ids=AWAY.keys())
async def test_a_slack_that_is_not_well_is_transient(slack: FakeSlack, desk: SlackDesk, order: Order) -> None:
    order(slack)
    with pytest.raises(Transient):
        await desk.show(ASKING, None)
    assert await desk.show(ASKING, None)


async def test_a_slack_that_is_not_there_is_transient(slack: FakeSlack) -> None:
    nowhere = desk_for(slack, base_url="http://127.0.0.1:1/api/")
    with pytest.raises(Transient):
        await nowhere.show(ASKING, None)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("invalid_auth", "put the current one"),
        ("channel_not_found", "invite the app"),
        ("not_in_channel", "/invite"),
        ("is_archived", "name another"),
        ("some_new_word", "some_new_word"),
    ],
)
async def test_what_a_person_must_mend_is_permanent_and_says_how(
    slack: FakeSlack, desk: SlackDesk, code: str, says: str
) -> None:
    slack.fail("chat.postMessage", code)
    with pytest.raises(Permanent, match="Slack refused") as caught:
        await desk.show(ASKING, None)
    assert says in str(caught.value)


async def test_tokens_are_read_at_each_use_and_never_shown(slack: FakeSlack) -> None:
    tokens = ["xoxb-old", slack.bot_token]
    desk = desk_for(slack)
    desk._bot_token = lambda: tokens.pop(0)
    with pytest.raises(Refused) as caught:
        await desk.show(ASKING, None)
    assert "xoxb-old" not in str(caught.value)
    assert await desk.show(ASKING, None)


async def test_check_finds_nothing_wrong_with_a_sound_app(slack: FakeSlack, desk: SlackDesk) -> None:
    assert await desk.check() == []
    assert {call.method for call in slack.calls} == {"auth.test", "conversations.info", "apps.connections.open"}
    assert slack.warnings == []


async def test_check_names_each_problem_and_what_to_do(slack: FakeSlack) -> None:
    slack.add_channel("C0ARCHIVED", "old", archived=True)
    cases = [
        (desk_for(slack, bot="xoxb-wrong"), "slack.bot_token", "invalid_auth"),
        (desk_for(slack, bot=slack.app_token), "slack.bot_token", "xoxb-"),
        (desk_for(slack, "#incidents"), "slack.channel", "no channel id"),
        (desk_for(slack, "C0NOWHERE"), "slack.channel", "channel_not_found"),
        (desk_for(slack, "C0OTHER"), "slack.channel", "/invite"),
        (desk_for(slack, "C0ARCHIVED"), "slack.channel", "archived"),
        (desk_for(slack, app="xapp-wrong"), "slack.app_token", "invalid_auth"),
        (desk_for(slack, app=slack.bot_token), "slack.app_token", "xapp-"),
    ]
    for desk, key, says in cases:
        (problem,) = await desk.check()
        assert problem.startswith(f"{key}: ")
        assert says in problem


async def test_check_names_a_missing_scope_and_a_missing_token_file(slack: FakeSlack, desk: SlackDesk) -> None:
    slack.state.scopes = frozenset({"chat:write"})
    (problem,) = await desk.check()
    assert "channels:read" in problem

    def missing() -> str:
        raise BadConfig("slack.bot_token: file /x is missing")

    desk._bot_token = missing
    assert all("is missing" in problem for problem in await desk.check())
