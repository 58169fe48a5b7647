"""The card in a terminal: it fits, hides nothing of a diff, and can't be steered by what it shows."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.console.terminal import NARROWEST, render
from handrail.core.card import card
from tests.card import journals as j
from tests.slack.test_blocks import SLOW, cards

ASKING = card(j.incident(j.ASKED), j.T0)
ANSI = re.compile(r"\x1b\[[0-9]+m")


def columns(line: str) -> int:
    return sum(0 if unicodedata.combining(s) else 2 if unicodedata.east_asian_width(s) in "WF" else 1 for s in line)


def test_a_question_shows_all_that_is_decided_from() -> None:
    text = render(ASKING)
    for part in (
        "KubeDeploymentRolloutStuck [asking]",
        "Deployment shop/checkout in prod-eu1 (inc-abcdefghij)",
        "Waits for a person to decide",
        "· high confidence: revision 2 crashes at start (e3, e1)",
        "Would do\n  · 1. roll Deployment shop/checkout back",
        "What changes\n",
        "  -  image: shop/checkout:1.5.0\n  +  image: shop/checkout:1.4.2",
        "Taken back by\n",
        "Blast radius: up to 3 pods may be replaced",
        "May decide: slack:U0ONCALL",
        "Until: 12:31:00 UTC",
        "handrail approve inc-abcdefghij",
    ):
        assert part in text
    assert "`" not in text


def test_only_the_diff_is_painted_and_only_when_asked() -> None:
    assert "\x1b" not in render(ASKING)
    painted = render(ASKING, colour=True)
    assert "  \x1b[31m-  image: shop/checkout:1.5.0\x1b[0m" in painted
    assert "  \x1b[32m+  image: shop/checkout:1.4.2\x1b[0m" in painted
    assert ANSI.sub("", painted) == render(ASKING)


@SLOW
@given(cards, st.integers(0, 200))
def test_no_line_is_wider_than_the_terminal_and_none_steers_it(made, width: int) -> None:  # type: ignore[no-untyped-def]
    text = render(made, width)
    for line in text.split("\n"):
        assert columns(line) <= max(NARROWEST, width)
        assert all(unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for sign in line)


@given(st.lists(st.text("abc +-{}:", max_size=150), max_size=20), st.integers(20, 100))
@settings(max_examples=50, deadline=None)
def test_nothing_of_a_diff_is_hidden(lines: list[str], width: int) -> None:
    diff = "\n".join(["+" + line for line in lines])
    text = render(ASKING.model_copy(update={"diff": diff, "undo_diff": ""}), width)
    shown = text.split("What changes\n")[-1].split("\n\nBlast")[0] if lines else ""
    assert "".join(line[2:] for line in shown.split("\n")) == diff.replace("\n", "")


@pytest.mark.parametrize("text", ["\x1b]0;owned\x07", "\x1b[2J", "a\rb", "\u202egpj.exe", "\x9b31m", "\x00"])
def test_control_sequences_are_taken_out(text: str) -> None:
    made = ASKING.model_copy(update={"title": text, "diff": f"+{text}", "status": text, "evidence": (text,)})
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", render(made))
