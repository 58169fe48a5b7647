"""The fake Slack's Block Kit limits, each met and passed by the real slack-sdk client."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import FakeSlack

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def section(text: str = "x", **more: Any) -> Json:
    return {"type": "section", "text": mrkdwn(text), **more}


def button(**more: Any) -> Json:
    return {"type": "button", "text": plain("Go"), **more}


def actions(*elements: Json, **more: Any) -> Json:
    return {"type": "actions", "elements": list(elements), **more}


def confirm(**more: Any) -> Json:
    return {
        "title": plain("Sure?"),
        "text": mrkdwn("It restarts."),
        "confirm": plain("Yes"),
        "deny": plain("No"),
        **more,
    }


def options(count: int) -> list[Json]:
    return [{"text": plain(f"o{n}"), "value": str(n)} for n in range(count)]


async def post(blocks: list[Json]) -> tuple[str, list[str]]:
    """Slack's error ("" when taken) and its complaints."""
    async with FakeSlack() as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
        try:
            await client.chat_postMessage(channel="C0INCIDENTS", text="x", blocks=blocks)
        except SlackApiError as error:
            assert slack.messages() == []
            return error.response["error"], error.response.get("response_metadata", {}).get("messages", [])
        return "", []


FITS: dict[str, list[Json]] = {
    "fifty blocks": [{"type": "divider"}] * 50,
    "a header of 150": [{"type": "header", "text": plain("h" * 150)}],
    "a section of 3000": [section("s" * 3000)],
    "ten fields of 1300": [{"type": "section", "fields": [mrkdwn("f" * 1300)] * 10}],
    "a field of 2000": [{"type": "section", "fields": [mrkdwn("f" * 2000)]}],
    "a button at every limit": [
        actions(
            button(text=plain("b" * 75), value="v" * 2000, action_id="a" * 255, url="https://x.io/" + "u" * 2987),
            block_id="i" * 255,
        )
    ],
    "25 elements": [actions(*[button(action_id=f"a{n}") for n in range(25)])],
    "ten context elements": [{"type": "context", "elements": [mrkdwn("c")] * 10}],
    "a confirm dialog at every limit": [
        actions(
            button(
                confirm=confirm(
                    title=plain("t" * 100), text=mrkdwn("t" * 300), confirm=plain("y" * 30), deny=plain("n" * 30)
                )
            )
        )
    ],
    "the same action_id in two blocks": [actions(button(action_id="a")), actions(button(action_id="a"))],
    "a select": [section(accessory={"type": "static_select", "options": options(100), "placeholder": plain("p")})],
    "an overflow": [section(accessory={"type": "overflow", "options": options(5)})],
    "an image": [{"type": "image", "image_url": "https://x.io/a.png", "alt_text": "a"}],
    "13,297 characters": [section("x" * 3000)] * 4 + [section("x" * (13_297 - 12_000 - 4 * 125))],
}

BREAKS: dict[str, tuple[list[Json], str]] = {
    "51 blocks": ([{"type": "divider"}] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    "a header of 151": (
        [{"type": "header", "text": plain("h" * 151)}],
        "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
    ),
    "a header in mrkdwn": (
        [{"type": "header", "text": mrkdwn("h")}],
        "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
    ),
    "a section of 3001": (
        [section("s" * 3001)],
        "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ),
    "an empty section": ([section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    "a section without text": ([{"type": "section"}], "missing required field: text [json-pointer:/blocks/0]"),
    "a field of 2001": (
        [{"type": "section", "fields": [mrkdwn("f" * 2001)]}],
        "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
    ),
    "eleven fields": (
        [{"type": "section", "fields": [mrkdwn("f")] * 11}],
        "no more than 10 items allowed [json-pointer:/blocks/0/fields]",
    ),
    "no field": ([{"type": "section", "fields": []}], "no fewer than 1 items allowed [json-pointer:/blocks/0/fields]"),
    "a button text of 76": (
        [actions(button(text=plain("b" * 76)))],
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
    ),
    "a button value of 2001": (
        [actions(button(value="v" * 2001))],
        "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
    ),
    "an action_id of 256": (
        [actions(button(action_id="a" * 256))],
        "must be less than 256 characters [json-pointer:/blocks/0/elements/0/action_id]",
    ),
    "an action_id twice in a block": (
        [actions(button(action_id="a"), button(action_id="a"))],
        '`action_id` "a" already exists [json-pointer:/blocks/0/elements/1/action_id]',
    ),
    "26 elements": (
        [actions(*[button(action_id=f"a{n}") for n in range(26)])],
        "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    ),
    "eleven context elements": (
        [{"type": "context", "elements": [mrkdwn("c")] * 11}],
        "no more than 10 items allowed [json-pointer:/blocks/0/elements]",
    ),
    "a button in a context": (
        [{"type": "context", "elements": [button()]}],
        "unsupported type: button [json-pointer:/blocks/0/elements/0/type]",
    ),
    "a confirm title of 101": (
        [actions(button(confirm=confirm(title=plain("t" * 101))))],
        "must be less than 101 characters [json-pointer:/blocks/0/elements/0/confirm/title/text]",
    ),
    "a confirm text of 301": (
        [actions(button(confirm=confirm(text=mrkdwn("t" * 301))))],
        "must be less than 301 characters [json-pointer:/blocks/0/elements/0/confirm/text/text]",
    ),
    "a confirm label of 31": (
        [actions(button(confirm=confirm(confirm=plain("y" * 31))))],
        "must be less than 31 characters [json-pointer:/blocks/0/elements/0/confirm/confirm/text]",
    ),
    "a deny label of 31": (
        [actions(button(confirm=confirm(deny=plain("n" * 31))))],
        "must be less than 31 characters [json-pointer:/blocks/0/elements/0/confirm/deny/text]",
    ),
    "a relative url": (
        [actions(button(url="/graph?x=1"))],
        "must be a valid URL [json-pointer:/blocks/0/elements/0/url]",
    ),
    "a url of 3001": (
        [actions(button(url="https://x.io/" + "u" * 2988))],
        "must be less than 3001 characters [json-pointer:/blocks/0/elements/0/url]",
    ),
    "a javascript url": (
        [actions(button(url="javascript:alert(1)"))],
        "must be a valid URL [json-pointer:/blocks/0/elements/0/url]",
    ),
    "a block_id of 256": (
        [section(block_id="b" * 256)],
        "must be less than 256 characters [json-pointer:/blocks/0/block_id]",
    ),
    "a block_id twice": (
        [section(block_id="b"), section(block_id="b")],
        '`block_id` "b" already exists [json-pointer:/blocks/1/block_id]',
    ),
    "an unknown block": ([{"type": "banner"}], "unsupported type: banner [json-pointer:/blocks/0/type]"),
    "a block without a type": ([{"text": plain("x")}], "missing required field: type [json-pointer:/blocks/0]"),
    "an unknown field": ([section(colour="red")], "invalid additional property: colour [json-pointer:/blocks/0]"),
    "a disabled button": (
        [actions(button(disabled=True))],
        "invalid additional property: disabled [json-pointer:/blocks/0/elements/0]",
    ),
    "a loud style": (
        [actions(button(style="loud"))],
        "must be a valid enum value [json-pointer:/blocks/0/elements/0/style]",
    ),
    "a bare string for text": (
        [{"type": "section", "text": "x"}],
        "must provide an object [json-pointer:/blocks/0/text]",
    ),
    "six options in an overflow": (
        [section(accessory={"type": "overflow", "options": options(6)})],
        "no more than 5 items allowed [json-pointer:/blocks/0/accessory/options]",
    ),
}


@pytest.mark.parametrize("name", FITS)
async def test_what_just_fits_is_taken(name: str) -> None:
    assert await post(FITS[name]) == ("", [])


@pytest.mark.parametrize("name", BREAKS)
async def test_what_breaks_a_rule_is_refused_with_its_place(name: str) -> None:
    blocks, complaint = BREAKS[name]
    error, messages = await post(blocks)
    assert error == "invalid_blocks"
    assert f"[ERROR] {complaint}" in messages


async def test_a_message_too_long_in_all_is_refused_though_each_block_fits() -> None:
    assert await post([section("x" * 2650)] * 5) == ("msg_blocks_too_long", [])


async def test_an_edit_is_held_to_the_same_rules() -> None:
    async with FakeSlack() as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
        ts = (await client.chat_postMessage(channel="C0INCIDENTS", text="x"))["ts"]
        with pytest.raises(SlackApiError, match="invalid_blocks"):
            await client.chat_update(channel="C0INCIDENTS", ts=ts, text="y", blocks=[section("")])
        assert slack.messages()[0].text == "x"
