"""Journals of released versions, read with today's code: nothing that was told once is told otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.model import events as ev
from handrail.model.errors import UnknownEvent
from handrail.model.events.upcast import UPCASTERS, VERSIONS, upcast
from handrail.model.incident import State
from tests.replay.kept import sorted_sets, stories, told

HOW = "read tests/replay/README.md: new words are accepted with `python -m tests.replay.accept`"


def kept(story: Path) -> Any:
    return json.loads(story.with_suffix(".told.json").read_text())


@pytest.mark.parametrize("story", stories(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_kept_journal_leads_to_the_same_incident_by_the_same_path(story: Path) -> None:
    now, then = sorted_sets(told(story)), kept(story)
    assert now.keys() == then.keys()
    for id_, was in then.items():
        assert now[id_]["path"] == was["path"]
        known = {name: now[id_]["fold"].get(name) for name in was["fold"]}
        assert known == was["fold"], "an old journal folds to another incident than it did"


@pytest.mark.parametrize("story", stories(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_kept_journal_is_told_in_the_same_words(story: Path) -> None:
    now, then = sorted_sets(told(story)), kept(story)
    for id_, was in then.items():
        assert now[id_]["card"] == was["card"], HOW
        assert now[id_]["report"] == was["report"], HOW


def test_the_stories_of_a_release_reach_every_end() -> None:
    ends = {path.rpartition(" ")[2] for story in stories() for one in told(story).values() for path in one["path"][-1:]}
    assert {str(state) for state in State if state.terminal} <= ends


def test_old_shapes_are_lifted_step_by_step() -> None:
    def to_two(data: dict[str, Any]) -> dict[str, Any]:
        return {"kind": data["kind"], "whole": data["part"]}

    def to_three(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "whole": data["whole"] * 2}

    versions, steps = {"grown": 3}, {("grown", 1): to_two, ("grown", 2): to_three}
    old = {"kind": "grown", "part": 4}
    assert upcast(old, 1, versions, steps) == {"kind": "grown", "whole": 8}
    assert old == {"kind": "grown", "part": 4}
    assert upcast({"kind": "grown", "whole": 3}, 3, versions, steps) == {"kind": "grown", "whole": 3}


def test_a_version_of_a_newer_build_and_one_that_nobody_can_lift_fail_closed() -> None:
    with pytest.raises(UnknownEvent, match="version 2"):
        upcast({"kind": "noted"}, 2)
    with pytest.raises(UnknownEvent, match="can't be read"):
        upcast({"kind": "grown"}, 1, {"grown": 2}, {})
    with pytest.raises(UnknownEvent):
        ev.read(ev.dump(ev.Noted(text="x")), 2)


def test_every_version_that_was_ever_written_can_be_lifted() -> None:
    needed = {(kind, version) for kind, newest in VERSIONS.items() for version in range(1, newest)}
    assert needed == set(UPCASTERS)
