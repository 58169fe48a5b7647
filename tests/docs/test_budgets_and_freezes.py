"""What the pages show of budgets and freezes is what a policy takes, and the defaults that they name are its own."""

from __future__ import annotations

import re
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from handrail.adapters.settings import load_policy
from handrail.check.windows import windows
from handrail.model.budgets import Budgets
from handrail.model.policy import Policy
from handrail.model.reason import Reason

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "policies" / "examples" / "freezes.yaml"


def block(key: str) -> Policy:
    (found,) = re.findall(rf"^( +{key}:\n(?: +.*\n)+)", PAGE, re.M)
    return Policy.model_validate({"version": 1, **yaml.safe_load(textwrap.dedent(found))})


def test_the_budgets_of_the_page_and_of_the_examples_are_the_defaults() -> None:
    assert block("budgets").budgets == Budgets()
    assert load_policy(EXAMPLE).budgets == Budgets()
    assert load_policy(ROOT / "policies" / "ask.yaml").budgets == Budgets()


def test_the_freezes_of_the_page_are_taken() -> None:
    assert [one.name for one in block("freezes").freezes] == ["year-end", "nights"]


@pytest.mark.parametrize("reason", [Reason.FROZEN, Reason.BUDGET_SPENT, Reason.HANDS_BUSY])
def test_the_words_of_their_refusals_stand_on_the_page(reason: Reason) -> None:
    assert f"`{reason}`" in PAGE


def test_check_says_of_each_freeze_whether_it_stands_or_when_it_comes() -> None:
    policy = load_policy(EXAMPLE)
    lines = [str(line) for line in windows(policy, datetime(2026, 12, 18, 12, 0, tzinfo=UTC))]
    assert lines == [
        "ok   freeze year-end: next from 2026-12-18 17:00 UTC until 2027-01-04 05:00 UTC, for everything",
        "ok   freeze weekend: next from 2026-12-18 17:00 UTC until 2026-12-18 23:00 UTC, for shop",
        "ok   freeze weekend: next from 2026-12-18 23:00 UTC until 2026-12-19 23:00 UTC, for shop",
    ]
    standing = [str(line) for line in windows(policy, datetime(2026, 12, 25, 12, 0, tzinfo=UTC))]
    assert standing[0].startswith(
        "ok   freeze year-end: stands now, until 2027-01-04 05:00 UTC: nothing new is written"
    )
    over = [str(line) for line in windows(policy, datetime(2027, 2, 1, tzinfo=UTC))]
    assert over[0] == "ok   freeze year-end: is over; nothing is held by it any more"
