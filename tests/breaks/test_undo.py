"""Taking back: killed anywhere, answers lost anywhere, and others who change the object in between."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from handrail.core.standing import status
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.breaks.worlds import alerted, gloomy, lossy
from tests.reconciler.rig import BAD, Killed, Shop, ended, killed_after, rig

COMMITS = 24
"""Of the reconciler up to the end of an undo; the last test notices when there are more. The first ten are those of
the main path, and tried there."""


ON_A_SERVER = range(13, 19)
"""From the verdict to the round after the undo: there, where leases and fences are at work, too."""


@pytest.mark.parametrize(
    ("url", "commits"),
    [
        *(("sqlite", commits) for commits in range(11, COMMITS + 1)),
        *(pytest.param("postgresql", commits, marks=pytest.mark.server) for commits in ON_A_SERVER),
    ],
    indirect=["url"],
)
async def test_a_kill_after_any_commit_of_the_undo_ends_with_one_write_and_one_undo(
    shop: Shop, tmp_path: Path, url: str, commits: int
) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path, url=url) as life:
        await alerted(shop, life)
        mortal = killed_after(gloomy(lossy(life, applied)), commits)
        with suppress(Killed):
            await mortal.run(ended, approve=True)
    async with rig(shop, tmp_path, url=url) as life:
        incident = await gloomy(lossy(life, applied)).run(ended, approve=True)
        assert incident.end is not None
        assert incident.end[0] is Reason.WORSE, incident.end
        assert "taken back" in incident.end[1]
        assert await shop.image() == BAD
        assert [key.split("/")[3] for key in applied] == ["do", "undo"]
        assert (await life.tools.store.audit()).ok


async def test_the_undo_has_no_more_commits_than_are_tried(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        with suppress(Killed):
            await killed_after(gloomy(life), COMMITS + 1).run(ended, approve=True)
        assert (await life.the_incident()).state.terminal


@pytest.mark.parametrize("how", ["after", "before", "away"])
async def test_an_undo_whose_answer_is_lost_is_applied_once(shop: Shop, tmp_path: Path, how: str) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        losing = gloomy(lossy(life, applied, **{how: frozenset({2})}))
        incident = await losing.run(ended, approve=True)
        assert incident.end is not None
        assert incident.end[0] is Reason.WORSE, incident.end
        assert await shop.image() == BAD
        assert [key.split("/")[3] for key in applied] == ["do", "undo"]


async def test_a_foreign_edit_between_the_write_and_its_undo_stays(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        dark = gloomy(lossy(life, applied))
        await dark.run(lambda i: i.state is State.UNDOING, approve=True)
        await shop.roll_out("registry.example/checkout:1.6.0")
        incident = await dark.run(ended)
        assert incident.end is not None
        assert incident.end[0] is Reason.CANNOT_UNDO
        assert await shop.image() == "registry.example/checkout:1.6.0"
        assert len(applied) == 1


async def test_a_foreign_edit_after_the_undo_is_not_told_as_an_undo_that_failed(shop: Shop, tmp_path: Path) -> None:
    """The undo has been applied: nothing of ours is in place any more, whatever somebody does a second later."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        dark = gloomy(life)
        await dark.run(lambda i: len(i.done_writes) == 2, approve=True)
        await shop.roll_out("registry.example/checkout:1.6.0")
        incident = await dark.run(ended)
        assert incident.state is State.RESOLVED, "theirs is well"
        assert incident.done_before == ()
        assert [one.taken_back for one in incident.tried] == [True]
        assert "Done so far" not in status(incident, shop.clock.now())
        assert await shop.image() == "registry.example/checkout:1.6.0"
