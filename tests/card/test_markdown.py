"""A report is Markdown, and whatever the world says in it is words or code: no renderer finds anything to act upon."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from handrail.core.markdown import item, words
from handrail.core.report import report
from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.approval import Person
from handrail.model.evidence import Away, Trust
from handrail.model.plan import Confidence, Hypothesis
from handrail.model.reason import Reason
from tests.card import journals as j

RENDERED = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"heading", "inline", "paragraph", "bullet_list", "list_item", "code_block", "text", "softbreak", "text_special"}
HOSTILE = (
    "[approve here](https://evil.example) ![x](https://evil.example/p.png)",
    "<script>alert(1)</script><img src=x onerror=y>",
    "`handrail stop` ``` ~~~ ~~gone~~ *bold* _em_ **x** __y__",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "x\n# It healed\n\n- state: RESOLVED\n---\n> quoted\n1. one",
    "# heading",
    "1. one",
    "- item",
    "+ item",
    "> quote",
    "---",
    "===",
    "```",
    "~~~",
    "1)",
    "    code",
    "\tcode",
    "<https://evil.example>",
    "&#91;x&#93;&#40;y&#41;",
    "\\[x](y)",
    "\\\\`x`",
    "[ref]: https://evil.example",
    "\\",
    "a \\\n b",
    "trailing  \nbreak",
    "*",
    "_",
    "[",
    "](",
    "-",
    "- - -",
    "* * *",
    "<!-- ",
    "]]>",
    "<?x",
    "&lt;b&gt;",
)
TEXT = st.text(alphabet="ab1 [](){}<>*_`~|#+-=!&;:/.\\\n\t\"'", max_size=40) | st.sampled_from(HOSTILE)


def kinds(tokens: Iterable[Token]) -> Iterable[Token]:
    for token in tokens:
        yield token
        yield from kinds(token.children or ())


def live(text: str) -> set[str]:
    """What a renderer finds besides the headings and lists that are ours."""
    found = {token.type.removesuffix("_open").removesuffix("_close") for token in kinds(RENDERED.parse(text))}
    return found - OURS


def said(text: str) -> str:
    """What its reader sees."""
    return " ".join(token.content for token in kinds(RENDERED.parse(text)) if token.type in ("text", "text_special"))


@settings(deadline=None)
@given(TEXT)
@example("1. x")
@example("_a_b_")
def test_text_of_the_world_is_words_wherever_it_stands_in_a_line(text: str) -> None:
    for line in (words(text), *map(item, (f"- {text}", f"- at {text} x", f"- a\n    - {text}"))):
        assert live(line) == set(), line
    shown = "".join(token.content for token in kinds(RENDERED.parse(f"- x {words(text)}")) if token.type == "text")
    assert shown.split() == ["x", *text.split()], "and all of it is there to be read"


@pytest.mark.parametrize(
    "text", ["rollout_undo of shop/check-out_v2: 3 of 5 (e1, e2)", "12:00:10 UTC it's 50% + 1 = #7!"]
)
def test_what_would_do_nothing_is_left_as_it_is(text: str) -> None:
    assert words(text) == text


def hostile(text: str) -> tuple[ev.Event, ...]:
    """A whole story with this in whatever the world can say."""
    clean = text.encode(errors="replace").decode()
    alert = Alert(name=clean or "x", status="firing", labels={}, seen_at=j.T0, wire="otlp", left_out=2)
    first = j.opened().model_copy(update={"alert": alert})
    pieces = (j.item("e1", Trust.TEXT, clean, clean), j.item("e2", Trust.API, clean, f"first\n{clean}\n{clean}"))
    seen = j.gathered(pieces, (Away(source=clean, why=clean),))
    guess = Hypothesis(statement=clean or "x", confidence=Confidence.HIGH, evidence=("e1",))
    plan = j.PLAN.model_copy(update={"diagnosis": (guess,), "expected_effect": clean, "would_disprove": clean})
    rehearsed = j.rehearsal(f"+{clean}", f"-{clean}")
    by = Person(via="kubernetes", name=clean or "x")
    return (
        first,
        ev.AlertAttached(alert=alert, source=j.SOURCE),
        j.LOOKING[1],
        seen.model_copy(update={"findings": (j.FINDING.model_copy(update={"summary": clean}),)}),
        j.PLANNED[3],
        ev.Planned(planner="model", proposal=plan),
        ev.Compiled(saga=j.SAGA),
        ev.Rehearsed(rehearsal=rehearsed),
        ev.Asked(request=j.request(bound_to=rehearsed)),
        ev.Taken(by=by),
        ev.GivenBack(by=by),
        ev.Paused(by=clean, why=clean, half_done=clean),
        ev.Resumed(by=clean),
        *j.APPROVED[-1:],
        *j.WROTE[len(j.APPROVED) :],
        ev.Acted(),
        ev.Noted(text=clean, by=clean),
        ev.HandedOver(reason=Reason.NO_EFFECT, detail=clean),
    )


@settings(deadline=None, max_examples=150)
@given(TEXT)
def test_no_text_of_the_world_is_live_in_a_report(text: str) -> None:
    events = hostile(text)
    made = report(j.incident(events), j.entries(events, timedelta(seconds=10)))
    assert live(made) == set()
    headings = [token for token in RENDERED.parse(made) if token.type == "heading_open"]
    assert [token.tag for token in headings] == ["h1"] + ["h2"] * 9
    assert not [token for token in kinds(RENDERED.parse(made)) if token.type == "ordered_list_open"]


@pytest.mark.parametrize("text", HOSTILE)
def test_each_known_trick_is_shown_and_does_nothing(text: str) -> None:
    events = hostile(text)
    made = report(j.incident(events), j.entries(events))
    assert live(made) == set()
    assert "evil.example" not in text or "evil.example" in said(made)


@pytest.mark.parametrize(
    "text", ["https://evil.example/x", "HTTP://evil.example", "WWW.evil.example", "see www.evil.example"]
)
def test_a_bare_address_is_no_link_where_those_are(text: str) -> None:
    """GitHub and its like look for these beginnings in the source; an escape ends them."""
    assert re.search(r"https?://|\bwww\.", words(text), re.IGNORECASE) is None
    assert said(words(text)).replace(" ", "") == text.replace(" ", "")
