"""The fake Slack's Socket Mode, with the real aiohttp SocketModeClient of slack-sdk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.fakes.slack import FakeSlack

CHANNEL = "C0INCIDENTS"
QUIET = logging.getLogger("tests.fakes.quiet")
QUIET.disabled = True


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack(ack_within=0.2) as fake:
        yield fake


@asynccontextmanager
async def connected(
    slack: FakeSlack, *, ack: bool = True, reply: dict[str, Any] | None = None, ping_interval: float = 0.05
) -> AsyncIterator[tuple[Any, list[SocketModeRequest]]]:
    """A client that acknowledges what it hears (or does not), and the list of what it heard."""
    heard: list[SocketModeRequest] = []

    async def listen(client: Any, request: SocketModeRequest) -> None:
        heard.append(request)
        if ack:
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, reply))
        slack.bell.ring()

    web = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
    client: Any = SocketModeClient(slack.app_token, web_client=web, ping_interval=ping_interval, logger=QUIET)
    client.socket_mode_request_listeners.append(listen)
    before = len(slack.sockets.live)
    await client.connect()
    await slack.wait_connected(before + 1)
    try:
        yield client, heard
    finally:
        await client.close()


@pytest.fixture
async def card(slack: FakeSlack) -> str:
    """A posted card with an approve and a reject button, and a select."""
    elements = [
        {"type": "button", "action_id": "approve", "value": "opaque-1", "text": {"type": "plain_text", "text": "Yes"}},
        {"type": "button", "action_id": "reject", "value": "opaque-2", "text": {"type": "plain_text", "text": "No"}},
        {
            "type": "static_select",
            "action_id": "why",
            "options": [{"text": {"type": "plain_text", "text": "Later"}, "value": "later"}],
        },
    ]
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
    blocks = [{"type": "actions", "block_id": "choice", "elements": elements}]
    return str((await client.chat_postMessage(channel=CHANNEL, text="May I?", blocks=blocks))["ts"])


async def test_a_click_arrives_with_the_buttons_own_value_and_is_acknowledged(slack: FakeSlack, card: str) -> None:
    async with connected(slack) as (_, heard):
        assert await slack.click(card, "approve", user="U0SECOND")
    (request,) = heard
    payload = request.payload
    assert request.type == "interactive"
    assert payload["type"] == "block_actions"
    assert payload["user"] == {"id": "U0SECOND", "username": "sam", "name": "sam", "team_id": "T0HANDRAIL"}
    assert payload["container"] == {
        "type": "message",
        "message_ts": card,
        "channel_id": CHANNEL,
        "is_ephemeral": False,
    }
    (action,) = payload["actions"]
    assert (action["action_id"], action["block_id"], action["value"]) == ("approve", "choice", "opaque-1")
    assert payload["message"]["text"] == "May I?"
    assert payload["channel"] == {"id": CHANNEL, "name": "incidents"}


async def test_a_choice_in_a_select_arrives_as_the_selected_option(slack: FakeSlack, card: str) -> None:
    async with connected(slack) as (_, heard):
        assert await slack.click(card, "why", choose="later")
    assert heard[0].payload["actions"][0]["selected_option"]["value"] == "later"
    assert heard[0].payload["state"]["values"]["choice"]["why"]["selected_option"]["value"] == "later"


async def test_clicking_what_is_not_shown_is_a_mistake_of_the_test(slack: FakeSlack, card: str) -> None:
    for ts, action, user in [(card, "nope", "U0ONCALL"), ("1.0", "approve", "U0ONCALL"), (card, "approve", "U0NONE")]:
        with pytest.raises(LookupError):
            await slack.click(ts, action, user)


async def test_a_stale_screen_still_shows_the_old_buttons(slack: FakeSlack, card: str) -> None:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
    await client.chat_update(channel=CHANNEL, ts=card, text="Expired.", blocks=[])
    with pytest.raises(LookupError):
        await slack.click(card, "approve")
    async with connected(slack) as (_, heard):
        assert await slack.click(card, "approve", version=0)
    assert heard[0].payload["actions"][0]["value"] == "opaque-1"


async def test_an_unacknowledged_click_is_noted_and_not_sent_again(slack: FakeSlack, card: str) -> None:
    async with connected(slack, ack=False) as (_, heard):
        assert not await slack.click(card, "approve")
        assert len(heard) == 1
    assert [d.outcome for d in slack.unacked] == ["unacked"]


async def test_a_late_acknowledgement_is_told_from_one_in_time(slack: FakeSlack, card: str) -> None:
    async with connected(slack, ack=False) as (client, heard):
        delivery = await slack.click(card, "approve")
        await client.send_socket_mode_response(SocketModeResponse(heard[0].envelope_id))
        await slack.wait_for(lambda: delivery.outcome == "late")
        assert not delivery


async def test_an_unacknowledged_event_is_sent_again(slack: FakeSlack) -> None:
    async with connected(slack, ack=False) as (_, heard):
        assert not await slack.event({"type": "app_mention", "user": "U0ONCALL", "text": "hi"})
    assert [request.retry_attempt for request in heard] == [0, 1, 2, 3]
    assert len({request.payload["event_id"] for request in heard}) == 1


async def test_a_slash_command_arrives_and_its_acknowledgement_is_shown_to_its_user_only(slack: FakeSlack) -> None:
    async with connected(slack, reply={"text": "Stopped."}) as (_, heard):
        assert await slack.slash("/handrail", "stop reason", user="U0SECOND")
    assert heard[0].type == "slash_commands"
    assert (heard[0].payload["command"], heard[0].payload["text"]) == ("/handrail", "stop reason")
    assert heard[0].accepts_response_payload
    assert [m.text for m in slack.ephemerals("U0SECOND")] == ["Stopped."]


async def test_a_response_url_posts_replaces_and_runs_out(slack: FakeSlack, card: str) -> None:
    async with connected(slack) as (_, heard):
        await slack.click(card, "approve")
    hook = AsyncWebhookClient(heard[0].payload["response_url"])
    assert (await hook.send(text="just for you")).body == "ok"
    assert [m.text for m in slack.ephemerals("U0ONCALL")] == ["just for you"]
    await hook.send(text="Approved.", replace_original=True)
    assert slack.messages()[0].text == "Approved."
    statuses = [(await hook.send(text="more")).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 404]


async def test_a_view_opens_once_for_each_action_and_is_submitted(slack: FakeSlack, card: str) -> None:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
    entry = {"type": "plain_text_input", "action_id": "text"}
    asked = {"type": "input", "block_id": "why", "label": {"type": "plain_text", "text": "Why?"}, "element": entry}
    modal: dict[str, Any] = {"type": "modal", "title": {"type": "plain_text", "text": "Reject"}, "blocks": [asked]}
    async with connected(slack) as (_, heard):
        await slack.click(card, "reject")
        trigger = heard[0].payload["trigger_id"]
        with pytest.raises(SlackApiError, match="invalid_arguments"):
            await client.views_open(trigger_id=trigger, view=modal)
        modal["submit"] = {"type": "plain_text", "text": "Send"}
        opened = (await client.views_open(trigger_id=trigger, view=modal))["view"]["id"]
        with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
            await client.views_open(trigger_id=trigger, view=modal)
        with pytest.raises(SlackApiError, match="invalid_trigger_id"):
            await client.views_open(trigger_id="1.2.3", view=modal)
        assert await slack.submit(opened, {"why": {"text": {"type": "plain_text_input", "value": "too risky"}}})
    assert heard[1].payload["view"]["state"]["values"]["why"]["text"]["value"] == "too risky"


async def test_each_click_goes_to_exactly_one_of_several_connections(slack: FakeSlack, card: str) -> None:
    async with connected(slack) as (_, first), connected(slack) as (_, second):
        for _ in range(4):
            assert await slack.click(card, "approve")
        assert (len(first), len(second)) == (2, 2)


async def test_with_nobody_connected_a_click_is_lost(slack: FakeSlack, card: str) -> None:
    assert (await slack.click(card, "approve")).outcome == "no_connection"


async def test_a_socket_address_works_once(slack: FakeSlack) -> None:
    web = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
    url = (await web.apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url) as ws:
            assert (await ws.receive_json())["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url.replace("ticket=", "ticket=x"))
    assert slack.sockets.refused == 2


async def test_the_eleventh_connection_is_sent_away(slack: FakeSlack) -> None:
    slack.set_ghosts(10)
    web = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
    url = (await web.apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as ws:
        assert (await ws.receive_json())["reason"] == "too_many_websockets"


async def test_pings_are_answered_in_both_directions(slack: FakeSlack) -> None:
    async with connected(slack):
        (connection,) = slack.sockets.live
        await slack.wait_for(lambda: connection.pings >= 2)
        await slack.sockets.ping()
        await slack.wait_for(lambda: connection.pongs >= 1)


async def test_ghosts_swallow_clicks_until_they_are_gone(slack: FakeSlack, card: str) -> None:
    async with connected(slack) as (_, heard):
        slack.set_ghosts(1)
        assert (await slack.click(card, "approve")).outcome == "ghost"
        slack.set_ghosts(0)
        assert await slack.click(card, "approve")
        slack.haunt()
        assert (await slack.click(card, "approve")).outcome == "ghost"
        assert len(heard) == 1


REASONS: list[Callable[[FakeSlack], Awaitable[None] | int | None]] = [
    lambda slack: slack.disconnect("refresh_requested"),
    lambda slack: slack.drop_sockets(),
    lambda slack: slack.deafen(),
]


@pytest.mark.parametrize("cut", REASONS, ids=["asked", "dropped", "deaf"])
async def test_the_client_comes_back_after_its_connection_has_gone(slack: FakeSlack, card: str, cut: Any) -> None:
    async with connected(slack) as (_, heard):
        done = cut(slack)
        if done is not None and not isinstance(done, int):
            await done
        await slack.wait_for(lambda: [c for c in slack.sockets.live if c.number > 1 and not c.deaf])
        await slack.wait_for(lambda: all(c.number > 1 for c in slack.sockets.live))
        assert await slack.click(card, "approve")
        assert len(heard) == 1


async def test_a_connection_cut_under_a_click_loses_it(slack: FakeSlack, card: str) -> None:
    async with connected(slack, ack=False) as (_, heard):
        slack.sockets.ack_within = 5
        click = asyncio.create_task(slack.click(card, "approve"))
        await slack.wait_for(lambda: heard)
        slack.drop_sockets()
        assert (await click).outcome == "lost"


async def test_a_refused_handshake_makes_the_client_retry_the_same_dead_address_for_ever(slack: FakeSlack) -> None:
    async with connected(slack) as (client, _):
        slack.refuse_sockets(1)
        slack.drop_sockets()
        await slack.wait_for(lambda: slack.sockets.refused >= 2)
        opened = len(slack.called("apps.connections.open"))
        assert not slack.sockets.live
        client.wss_uri = None  # what a watchdog has to do
        await slack.wait_connected()
        assert len(slack.called("apps.connections.open")) == opened + 1


async def test_a_frame_that_is_no_acknowledgement_is_noted(slack: FakeSlack) -> None:
    async with connected(slack) as (client, _):
        await client.send_message('{"envelope_id": "made-up"}')
        await slack.wait_for(lambda: slack.sockets.strange)
