"""The card as Slack blocks: within every limit and harmless, whatever it holds. The strict fake's rules judge."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.adapters.slack.blocks import message
from handrail.adapters.slack.markup import FENCE, commands, fences, plain, prose, units, with_mentions
from handrail.core.card import card
from handrail.model.card import Card
from handrail.model.incident import State
from tests.card import journals as j
from tests.fakes.slack.blocks import complain_of_blocks, texts, too_long
from tests.fakes.slack.markup import marks

NASTY = [
    "<!channel>",
    "<!here|x>",
    "@channel now",
    "@everyone",
    "<@U0ONCALL>",
    "<https://evil.example|click>",
    "```",
    "`",
    "``",
    "&amp;",
    "&&&&<<<<>>>>",
    "\n",
    "\r\n",
    "\u2028",
    "\u202e",
    "\u200b",
    "\x00\x1b[31m",
    "*bold*",
    "_x_",
    "🙂",
    "👩‍👩‍👧",
    "\ud800",
    "ö",
    "漢字",
    " ",
    "\t",
    "slack:U0ONCALL",
    "x" * 500,
    "> quote",
    "+ image: a",
]
hostile = st.lists(st.sampled_from(NASTY) | st.text(max_size=40), max_size=20).map("".join)
giant = hostile | st.tuples(st.sampled_from(NASTY), st.integers(0, 4000)).map(lambda t: (t[0] * t[1])[:7_000])
many = st.lists(giant, max_size=10).map(tuple)

cards = st.builds(
    Card,
    incident=giant,
    state=st.sampled_from(State),
    title=giant,
    cluster=giant,
    target=giant,
    status=giant,
    next_action=giant,
    diagnosis=many,
    evidence=many,
    away=many,
    actions=many,
    diff=giant,
    undo_diff=giant,
    blast=giant,
    approvers=giant,
    expires=st.none() | st.just(datetime(2026, 3, 1, tzinfo=UTC)),
    request=st.sampled_from(["", "req-1", "r" * 3000]),
    decided=giant,
)

SLOW = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@SLOW
@given(cards)
def test_no_card_is_too_much_for_slack(made: Card) -> None:
    text, blocks = message(made)
    assert complain_of_blocks(blocks) == []
    assert not too_long(blocks)
    assert len(blocks) <= 50
    assert 0 < units(text) <= 4000
    assert len(json.dumps(blocks)) < 100_000


@SLOW
@given(cards)
def test_no_text_of_a_card_leaves_code_open_or_wakes_a_channel(made: Card) -> None:
    text, blocks = message(made)
    assert list(marks("chat.postMessage", text, blocks)) == []
    for kind, each in texts(blocks):
        if kind == "mrkdwn":
            assert "<!" not in each
            assert "<http" not in each
            assert "@channel" not in each
            assert "@everyone" not in each


@given(giant)
def test_prose_is_one_line_and_holds_no_mark(text: str) -> None:
    made = prose(text, 300)
    assert units(made) <= 300
    assert not any(mark in made for mark in "<>`\n\r\u2028\u202e\x1b")
    assert "&" not in made.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")


@given(giant, st.integers(20, 8000), st.integers(20, 2900))
def test_fences_are_closed_and_keep_to_their_room(text: str, room: int, each: int) -> None:
    made, hidden = fences(text, room, each)
    assert sum(units(block) for block in made) <= room
    for block in made:
        assert units(block) <= each
        assert block.startswith(f"{FENCE}\n")
        assert block.endswith(f"\n{FENCE}")
        assert block.count("`") == 6
    assert (
        hidden
        <= text.count("\n") + text.count("\r") + text.count("\u2028") + text.count("\u2029") + text.count("\u0085") + 1
    )


@given(st.lists(st.text("ab c+-", max_size=30), min_size=1, max_size=200))
def test_fences_show_every_line_in_order_where_there_is_room(lines: list[str]) -> None:
    made, hidden = fences("\n".join(lines), 100_000, 200)
    shown = [line for block in made for line in block.split("\n")[1:-1]]
    assert hidden == 0
    assert shown == (lines if "".join(lines).strip() else [])


@given(giant)
def test_plain_text_keeps_to_its_length(text: str) -> None:
    assert units(plain(text, 135)) <= 135


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("slack:U0ONCALL approved it.", "<@U0ONCALL> approved it."),
        ("Asked slack:U0ONCALL, slack:U0SECOND. Decide.", "Asked <@U0ONCALL>, <@U0SECOND>. Decide."),
        ("Found: slack:U0ONCALL", "Found: slack:U0ONCALL"),
        ("slack:U0ONCALL rejected it: ask slack:U0SECOND", "<@U0ONCALL> rejected it: ask slack:U0SECOND"),
    ],
)
def test_only_members_at_the_beginning_of_our_sentences_are_mentioned(line: str, made: str) -> None:
    assert with_mentions(line) == made


def test_commands_stay_code_and_a_lone_backtick_does_not() -> None:
    assert commands("Type `a <b>` or `c`.", 100) == "Type `a &lt;b&gt;` or `c`."
    assert "`" not in commands("Type `a", 100)


def buttons(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [element for block in blocks if block["type"] == "actions" for element in block["elements"]]


def test_a_question_has_four_buttons_that_carry_the_request_and_nothing_of_the_plan() -> None:
    _, blocks = message(card(j.incident(j.ASKED), j.T0))
    made = buttons(blocks)
    assert [(b["action_id"], b.get("style"), "confirm" in b) for b in made] == [
        ("approve", "primary", True),
        ("reject", "danger", False),
        ("take", None, False),
        ("stop", "danger", True),
    ]
    assert {b["value"] for b in made} == {'{"r":"req-1","i":"inc-abcdefghij"}'}


@pytest.mark.parametrize("events", [j.LOOKING, j.PLANNED, j.REHEARSED, j.APPROVED, j.WROTE, j.HEALED, j.UNDONE])
def test_where_nothing_is_asked_there_are_no_buttons(events: Any) -> None:
    _, blocks = message(card(j.incident(events), j.T0))
    assert buttons(blocks) == []


def test_the_card_shows_diff_undo_blast_approvers_and_deadline() -> None:
    text, blocks = message(card(j.incident(j.ASKED), j.T0))
    everything = "\n".join(each for _, each in texts(blocks))
    for shown in (
        "-  image: shop/checkout:1.5.0\n+  image: shop/checkout:1.4.2",
        "+  image: shop/checkout:1.5.0",
        "up to 3 pods may be replaced",
        "<@U0ONCALL>, <@U0SECOND>, kubernetes:alice",
        "12:31:00 UTC",
        "`handrail approve inc-abcdefghij`",
    ):
        assert shown in everything
    assert "checkout" in text


def test_a_diff_that_is_too_long_says_how_much_is_hidden_and_where_it_is_shown() -> None:
    long = "\n".join(f"+  line {n} & <more>" for n in range(900))
    made = card(j.incident(j.ASKED), j.T0).model_copy(update={"diff": long, "undo_diff": long})
    _, blocks = message(made)
    everything = "\n".join(each for _, each in texts(blocks))
    assert "more lines: `handrail incidents show inc-abcdefghij` shows them" in everything
    assert "+  line 40 &amp; &lt;more&gt;" in everything
    assert not too_long(blocks)
