"""The fake Slack's Web API, asked by the real slack-sdk client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import FakeSlack

CHANNEL = "C0INCIDENTS"


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
def client(slack: FakeSlack) -> AsyncWebClient:
    return AsyncWebClient(token=slack.bot_token, base_url=slack.base_url, timeout=5)


async def refused(call: Any) -> Any:
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response


async def test_a_right_token_is_known_by_name(client: AsyncWebClient) -> None:
    who = await client.auth_test()
    assert who["ok"]
    assert who["user_id"] == "U0HANDRAIL"


@pytest.mark.parametrize(
    ("token", "error"),
    [("xoxb-wrong", "invalid_auth"), ("xapp-test", "not_allowed_token_type"), ("", "not_authed")],
)
async def test_a_wrong_token_is_refused(slack: FakeSlack, token: str, error: str) -> None:
    client = AsyncWebClient(token=token, base_url=slack.base_url)
    assert (await refused(client.chat_postMessage(channel=CHANNEL, text="x")))["error"] == error
    assert slack.messages() == []


async def test_sockets_are_opened_with_the_app_token_only(slack: FakeSlack, client: AsyncWebClient) -> None:
    assert (await client.apps_connections_open(app_token=slack.app_token))["url"].startswith("ws://127.0.0.1:")
    assert (await refused(client.apps_connections_open(app_token="xapp-no")))["error"] == "invalid_auth"
    assert (await refused(client.apps_connections_open(app_token=slack.bot_token)))["error"] == "not_allowed_token_type"


async def test_a_missing_scope_is_named() -> None:
    async with FakeSlack(scopes=frozenset({"chat:write"})) as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
        answer = await refused(client.users_info(user="U0ONCALL"))
        assert (answer["error"], answer["needed"]) == ("missing_scope", "users:read")


async def test_an_unknown_method_says_so(client: AsyncWebClient) -> None:
    assert (await refused(client.files_list()))["error"] == "unknown_method"


async def test_a_posted_message_can_be_edited_and_keeps_its_earlier_versions(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ts = (await client.chat_postMessage(channel="#incidents", text="first", blocks=[section("one")]))["ts"]
    await client.chat_update(channel=CHANNEL, ts=ts, text="second")
    await client.chat_update(channel=CHANNEL, ts=ts, text="third", blocks=[])
    (message,) = slack.messages(CHANNEL)
    assert [(v.text, len(v.blocks)) for v in message.versions()] == [("first", 1), ("second", 1), ("third", 0)]
    assert slack.find("second") is None
    assert slack.find("third") is message


async def test_replies_form_a_thread_and_history_leaves_them_out(slack: FakeSlack, client: AsyncWebClient) -> None:
    root = (await client.chat_postMessage(channel=CHANNEL, text="root"))["ts"]
    reply = (await client.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=root))["ts"]
    other = (await client.chat_postMessage(channel=CHANNEL, text="other"))["ts"]
    assert [m.ts for m in slack.thread(reply)] == [root, reply]
    assert [m["ts"] for m in (await client.conversations_history(channel=CHANNEL))["messages"]] == [other, root]
    assert [m["ts"] for m in (await client.conversations_replies(channel=CHANNEL, ts=root))["messages"]] == [
        root,
        reply,
    ]
    assert (await refused(client.conversations_replies(channel=CHANNEL, ts="1.0")))["error"] == "thread_not_found"


async def test_history_comes_in_pages_and_within_bounds(client: AsyncWebClient) -> None:
    stamps = [(await client.chat_postMessage(channel=CHANNEL, text=f"m{n}"))["ts"] for n in range(5)]
    seen: list[str] = []
    async for page in await client.conversations_history(channel=CHANNEL, limit=2):
        seen += [message["ts"] for message in page["messages"]]
    assert seen == stamps[::-1]
    later = await client.conversations_history(channel=CHANNEL, oldest=stamps[3])
    assert [message["ts"] for message in later["messages"]] == [stamps[4]]


async def test_metadata_is_kept_and_shown_on_request_only(client: AsyncWebClient) -> None:
    metadata = {"event_type": "handrail", "event_payload": {"incident": "i1"}}
    await client.chat_postMessage(channel=CHANNEL, text="x", metadata=metadata)
    plain = await client.conversations_history(channel=CHANNEL)
    full = await client.conversations_history(channel=CHANNEL, include_all_metadata=True)
    assert "metadata" not in plain["messages"][0]
    assert full["messages"][0]["metadata"] == metadata
    broken = client.chat_postMessage(channel=CHANNEL, text="x", metadata={"event_type": "handrail"})
    assert (await refused(broken))["error"] == "invalid_metadata_format"


async def test_editing_what_is_not_there_or_not_ours_is_refused(slack: FakeSlack, client: AsyncWebClient) -> None:
    theirs = slack.say(CHANNEL, "U0ONCALL", "mine").ts
    gone = client.chat_update(channel=CHANNEL, ts="1700000000.000001", text="x")
    assert (await refused(gone))["error"] == "message_not_found"
    assert (await refused(client.chat_update(channel=CHANNEL, ts=theirs, text="x")))["error"] == "cant_update_message"
    named = client.chat_update(channel="#incidents", ts=theirs, text="x")
    assert (await refused(named))["error"] == "channel_not_found"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
        ({"channel": "C0OTHER", "text": "x"}, "not_in_channel"),
        ({"channel": "C0OLD", "text": "x"}, "is_archived"),
        ({"channel": CHANNEL, "text": "  "}, "no_text"),
        ({"channel": CHANNEL, "text": "x", "thread_ts": "1700000000.000001"}, "thread_not_found"),
        ({"channel": CHANNEL, "text": "x", "thread_ts": "0"}, "invalid_thread_ts"),
        ({"channel": CHANNEL, "text": "x", "thread_ts": 1700000000.0}, "invalid_arguments"),
        ({"channel": "", "text": "x"}, "invalid_arguments"),
        ({"channel": CHANNEL, "text": "x", "blocks": "[not json"}, "invalid_blocks_format"),
        ({"channel": CHANNEL, "text": "x", "attachments": [{"fallback": "y"}]}, "invalid_arguments"),
    ],
)
@pytest.mark.filterwarnings("ignore:The top-level `text` argument is missing:UserWarning")
async def test_a_post_that_slack_would_not_take_is_refused(
    slack: FakeSlack, client: AsyncWebClient, given: dict[str, Any], error: str
) -> None:
    slack.add_channel("C0OLD", "old", archived=True)
    assert (await refused(client.chat_postMessage(**given)))["error"] == error
    assert slack.messages() == []


async def test_overlong_text_is_cut_in_a_post_and_refused_in_an_edit(slack: FakeSlack, client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel=CHANNEL, text="x" * 40_001))["ts"]
    assert len(slack.messages()[0].text) == 40_000
    assert [w.kind for w in slack.warnings] == ["truncated"]
    assert (await refused(client.chat_update(channel=CHANNEL, ts=ts, text="x" * 4001)))["error"] == "msg_too_long"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("fine ```code``` and `span`", []),
        ("cut ```in the code", ["open_fence"]),
        ("a stray ` here", ["open_code"]),
        ("```a ` inside is fine```", []),
        ("<!channel> wake up", ["broadcast"]),
    ],
)
async def test_markup_that_would_show_badly_is_noted(
    slack: FakeSlack, client: AsyncWebClient, text: str, kinds: list[str]
) -> None:
    await client.chat_postMessage(channel=CHANNEL, text="x", blocks=[section(text)])
    assert [w.kind for w in slack.warnings] == kinds


async def test_an_argument_that_slack_ignores_is_noted(slack: FakeSlack, client: AsyncWebClient) -> None:
    await client.chat_postMessage(channel=CHANNEL, text="x", thread="1.0")
    assert [(w.kind, w.detail) for w in slack.warnings] == [("unknown_argument", "thread")]


async def test_people_groups_and_channels_can_be_looked_up(slack: FakeSlack, client: AsyncWebClient) -> None:
    slack.set_group("S0DBA", ["U0SECOND"])
    slack.add_user("U0NEW", "nia", "Nia New")
    assert (await client.users_info(user="U0NEW"))["user"]["real_name"] == "Nia New"
    assert (await client.usergroups_users_list(usergroup="S0DBA"))["users"] == ["U0SECOND"]
    assert (await client.conversations_info(channel=CHANNEL))["channel"]["name"] == "incidents"
    assert (await refused(client.users_info(user="U0NOBODY")))["error"] == "user_not_found"
    assert (await refused(client.usergroups_users_list(usergroup="S0NONE")))["error"] == "no_such_subteam"
    assert (await refused(client.conversations_info(channel="C0NONE")))["error"] == "channel_not_found"


async def test_an_ephemeral_message_is_seen_by_one_person(slack: FakeSlack, client: AsyncWebClient) -> None:
    await client.chat_postEphemeral(channel=CHANNEL, user="U0STRANGER", text="not for you to approve")
    assert [m.text for m in slack.ephemerals("U0STRANGER")] == ["not for you to approve"]
    assert slack.messages() == []


async def test_a_reaction_is_added_once(slack: FakeSlack, client: AsyncWebClient) -> None:
    ts = slack.say(CHANNEL, "U0ONCALL", "look").ts
    await client.reactions_add(channel=CHANNEL, name="eyes", timestamp=ts)
    again = client.reactions_add(channel=CHANNEL, name="eyes", timestamp=ts)
    assert (await refused(again))["error"] == "already_reacted"


async def test_a_rate_limit_says_when_to_come_back_and_the_opt_in_handler_does(slack: FakeSlack) -> None:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
    slack.rate_limit("chat.postMessage", retry_after=30)
    answer = await refused(client.chat_postMessage(channel=CHANNEL, text="x"))
    assert (answer.status_code, answer["error"], answer.headers["Retry-After"]) == (429, "ratelimited", "30")
    client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
    slack.rate_limit("chat.postMessage", retry_after=0)
    assert (await client.chat_postMessage(channel=CHANNEL, text="x"))["ok"]
    assert [call.status for call in slack.called("chat.postMessage")] == [429, 429, 200]


async def test_slack_can_be_made_to_fail_in_json_and_in_html(slack: FakeSlack, client: AsyncWebClient) -> None:
    slack.fail("*", "fatal_error")
    slack.fail("chat.postMessage", http_status=503, body="<html>busy</html>")
    assert (await refused(client.chat_postMessage(channel=CHANNEL, text="x")))["error"] == "fatal_error"
    assert (await refused(client.chat_postMessage(channel=CHANNEL, text="x"))).status_code == 503
    assert (await client.chat_postMessage(channel=CHANNEL, text="x"))["ok"]
    assert len(slack.messages()) == 1


async def test_an_answer_can_be_lost_after_the_message_was_posted(slack: FakeSlack, client: AsyncWebClient) -> None:
    client.retry_handlers.clear()
    slack.reset("chat.postMessage", applied=True)
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=CHANNEL, text="posted")
    slack.fail("chat.postMessage", http_status=500, applied=True)
    await refused(client.chat_postMessage(channel=CHANNEL, text="posted too"))
    slack.reset("chat.postMessage")
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=CHANNEL, text="never posted")
    assert [m.text for m in slack.messages()] == ["posted", "posted too"]


async def test_the_client_as_it_comes_posts_twice_when_an_answer_is_lost(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    slack.reset("chat.postMessage", applied=True)
    await client.chat_postMessage(channel=CHANNEL, text="x")
    assert [m.text for m in slack.messages()] == ["x", "x"]


async def test_a_hanging_call_goes_on_when_it_is_let_go(slack: FakeSlack, client: AsyncWebClient) -> None:
    fault = slack.hang("chat.postMessage")
    post = asyncio.create_task(client.chat_postMessage(channel=CHANNEL, text="x"))
    await slack.wait_for(lambda: slack.called("chat.postMessage"))
    assert slack.messages() == []
    fault.release()
    assert (await post)["ok"]
    assert len(slack.messages()) == 1
    assert [(call.number, call.ok) for call in slack.called("chat.postMessage")] == [(1, True)]


async def test_waiting_for_a_message_ends_when_it_is_posted(slack: FakeSlack, client: AsyncWebClient) -> None:
    waiting = asyncio.create_task(slack.wait_for(lambda: slack.find("here it is")))
    await client.chat_postMessage(channel=CHANNEL, text="here it is")
    assert (await waiting).text == "here it is"
    with pytest.raises(TimeoutError, match="a message that never comes"):
        await slack.wait_for(lambda: slack.find("never"), 0.01, "a message that never comes")


async def test_form_and_json_text_blocks_are_read_alike(slack: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:
        form = {"channel": CHANNEL, "text": "x", "blocks": json.dumps([section("by form")]), "token": slack.bot_token}
        async with session.post(f"{slack.base_url}chat.postMessage", data=form) as answer:
            assert (await answer.json())["ok"]
    assert slack.find("by form") is not None


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}
