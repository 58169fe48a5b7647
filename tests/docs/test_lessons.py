"""Every public failure that taught something names the tests that hold it, and these exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.test_never import ROOT, names_in

PAGE = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
LESSONS = re.split(r"^- ", PAGE, flags=re.M)[1:]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_that_a_lesson_names_exists(path: str, name: str) -> None:
    assert name in names_in(ROOT / path)


def test_every_lesson_names_a_test_and_no_name_is_misspelt() -> None:
    assert len(LESSONS) > 35
    assert [lesson for lesson in LESSONS if "::test_" not in lesson] == []
    assert PAGE.count("::") == len(re.findall(r"`tests/[\w/]+\.py::test_\w+`", PAGE))
