"""What the fakes have in common, the webhook sink, and all of them as processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.process import running
from tests.fakes.webhook import FakeWebhook


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


async def test_the_webhook_records_what_is_posted(session: aiohttp.ClientSession) -> None:
    async with FakeWebhook() as hook:
        async with session.post(f"{hook.url}/page", json={"summary": "down"}, headers={"X-Key": "k"}) as answer:
            assert answer.status == 200
        (post,) = await hook.wait_for(lambda: hook.posts)
        assert (post.path, post.body, post.headers["X-Key"]) == ("/page", {"summary": "down"}, "k")


async def test_the_webhook_takes_json_posts_only(session: aiohttp.ClientSession) -> None:
    async with FakeWebhook() as hook:
        async with session.post(hook.url, data=b"x", headers={"Content-Type": "text/plain"}) as answer:
            assert answer.status == 415
        async with session.post(hook.url, data=b"{", headers={"Content-Type": "application/json"}) as answer:
            assert answer.status == 400
        async with session.get(hook.url) as answer:
            assert answer.status == 405
        assert hook.posts == []


async def test_the_webhook_fails_on_demand_and_records_that(session: aiohttp.ClientSession) -> None:
    async with FakeWebhook() as hook:
        hook.fail(503, retry_after=7)
        async with session.post(hook.url, json=1) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
        hook.reset()
        with pytest.raises(aiohttp.ClientError):
            await session.post(hook.url, json=2)
        fault = hook.hang()
        held = asyncio.create_task(session.post(hook.url, json=3))
        await hook.wait_for(lambda: fault.met)
        assert not held.done()
        fault.release()
        (await held).release()
        assert [(post.body, post.status) for post in hook.posts] == [(1, 503), (2, 0), (3, 200)]
        assert [post.body for post in hook.accepted] == [3]


async def test_a_fake_stops_though_a_call_hangs(session: aiohttp.ClientSession) -> None:
    async with FakeWebhook() as hook:
        fault = hook.hang()
        held = asyncio.create_task(session.post(hook.url, json=1))
        await hook.wait_for(lambda: fault.met)
    assert (await held).status == 503


async def test_slack_runs_as_a_process_and_is_driven_over_its_control_api() -> None:
    async with running("tests.fakes.slack", "--ack-within", "1") as slack:
        web = AsyncWebClient(token=slack.address["bot_token"], base_url=slack.address["base_url"])
        button = {"type": "button", "action_id": "approve", "value": "v1", "text": {"type": "plain_text", "text": "Go"}}
        posted = await web.chat_postMessage(
            channel="C0INCIDENTS", text="May I?", blocks=[{"type": "actions", "elements": [button]}]
        )
        assert (await slack.wait("find", text="May I?"))["ts"] == posted["ts"]
        lost = await slack.do("click", message_ts=posted["ts"], action_id="approve")
        assert (lost["acked"], lost["outcome"]) == (False, "no_connection")
        heard: list[SocketModeRequest] = []

        async def listen(client: Any, request: SocketModeRequest) -> None:
            heard.append(request)
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id))

        socket: Any = SocketModeClient(slack.address["app_token"], web_client=web, ping_interval=1)
        socket.socket_mode_request_listeners.append(listen)
        await socket.connect()
        await slack.wait("connected")
        assert (await slack.do("click", message_ts=posted["ts"], action_id="approve"))["acked"]
        assert (await slack.do("slash", command="/handrail", text="stop it"))["acked"]
        await socket.close()
        assert [request.type for request in heard] == ["interactive", "slash_commands"]
        with pytest.raises(AssertionError, match="shows no action"):
            await slack.do("click", message_ts=posted["ts"], action_id="nope")
        hang = await slack.do("hang", method="chat.postMessage", applied=True)
        held = asyncio.create_task(web.chat_postMessage(channel="C0INCIDENTS", text="held"))
        await slack.wait("find", text="held")
        await slack.do("release", fault=hang["fault"])
        assert (await held)["ok"]
        state = await slack.read("state")
        assert (state["messages"], state["warnings"], len(state["unacked"])) == (2, [], 1)


async def test_the_model_runs_as_a_process_and_takes_its_script_over_http(session: aiohttp.ClientSession) -> None:
    async with running("tests.fakes.messages", "--model", "m1") as model:
        await model.do("script", lines=[{"fail": {"status": 529}}, {"answer": {"said": {"a": 1}, "usage": [5, 6]}}])
        headers = {"x-api-key": model.address["api_key"], "anthropic-version": "2023-06-01"}
        body = {"model": "m1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        answers = []
        for _ in range(2):
            async with session.post(f"{model.address['url']}/v1/messages", json=body, headers=headers) as answer:
                answers.append((answer.status, await answer.json()))
        assert [status for status, _ in answers] == [529, 200]
        assert answers[1][1]["content"][0]["text"] == '{"a": 1}'
        assert [r["body"] for r in await model.wait("requests", at_least="2")] == [body, body]
        assert (await model.read("state"))["unsaid"] == 0


async def test_the_webhook_runs_as_a_process(session: aiohttp.ClientSession) -> None:
    async with running("tests.fakes.webhook") as hook:
        await hook.do("fail", status=500)
        for expected in (500, 200):
            async with session.post(f"{hook.address['url']}/x", json={"n": 1}) as answer:
                assert answer.status == expected
        assert [post["status"] for post in await hook.wait("posts")] == [500, 200]
