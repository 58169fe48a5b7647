"""A restart at any moment resumes: killed after each single journal commit in turn, the end is always the same.

The process is ended from inside right after the commit, before anybody learns of it; then a new life opens the same
files. What counts is the cluster: one write, applied once, and nothing left without an end.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from handrail.cli.demo_alert import alert_as_otlp
from handrail.core.report import report
from handrail.core.story import line
from handrail.model import events as ev
from handrail.model.errors import OutcomeUnknown, Transient
from handrail.model.hands import Answer, DryRun, Hands, Sent
from handrail.model.incident import State
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Write
from tests.reconciler.rig import BAD, GOOD, Killed, Rig, Shop, ended, killed_after, rig

COMMITS = 14
"""Of the reconciler on the main path; the last test notices when there are more."""


@dataclass
class CountingHands:
    """The real hands, counting what was applied; `lose` loses that many answers after the write has been applied."""

    hands: Hands
    applied: list[str] = field(default_factory=list)
    lose: int = 0
    lose_before: int = 0

    async def read(self, ref: ObjectRef) -> Raw | None:
        return await self.hands.read(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        return await self.hands.dry_run(write)

    async def send(self, permit: Permit) -> Sent:
        if self.lose_before:
            self.lose_before -= 1
            raise OutcomeUnknown("lost on the way there")
        sent = await self.hands.send(permit)
        if sent.answer == "done":
            self.applied.append(permit.write.key)
        if self.lose:
            self.lose -= 1
            raise OutcomeUnknown("lost on the way back")
        return sent


async def alerted(shop: Shop, life: Rig) -> None:
    await shop.roll_out(BAD)
    await shop.live(30)
    await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))


def counted(life: Rig, applied: list[str], **losses: int) -> Rig:
    hands = CountingHands(life.tools.hands, applied, **losses)
    return Rig(replace(life.tools, hands=hands), life.shop)


@pytest.mark.parametrize("commits", range(1, COMMITS + 1))
async def test_a_kill_after_any_commit_ends_with_one_undo(shop: Shop, tmp_path: Path, url: str, commits: int) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path, url=url) as life:
        await alerted(shop, life)
        mortal = killed_after(counted(life, applied), commits)
        with suppress(Killed):
            await mortal.run(ended, approve=True)
    async with rig(shop, tmp_path, url=url) as life:
        incident = await counted(life, applied).run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert await shop.image() == GOOD
        assert len(applied) == 1
        assert (await life.tools.store.audit()).ok


async def test_the_main_path_has_no_more_commits_than_are_tried(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        mortal = killed_after(life, COMMITS + 1)
        with suppress(Killed):
            await mortal.run(ended, approve=True)
        assert (await life.the_incident()).state.terminal


async def test_an_answer_that_is_lost_after_the_write_was_applied_repeats_nothing(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await counted(life, applied, lose=1).run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert len(applied) == 1


async def test_a_write_that_was_lost_on_the_way_is_sent_again_and_applied_once(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await counted(life, applied, lose_before=1).run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert len(applied) == 1


async def test_a_lost_write_and_a_foreign_change_since_are_for_a_person(shop: Shop, tmp_path: Path) -> None:
    """Neither as before nor with our key: nobody can tell, so nothing is repeated and both possibilities are told."""
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        lossy = counted(life, applied, lose_before=1)
        await lossy.run(lambda i: i.open_write is not None, approve=True)
        await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
        incident = await lossy.run(ended)
        assert incident.state is State.HANDED_OVER
        assert incident.end is not None
        assert "OUTCOME_UNCLEAR" in str(incident.end[0])
        assert applied == []
        entries = await life.tools.store.entries(incident.id)
        for told in (incident.end[1], report(incident, entries), *map(line, entries[-1:])):
            assert told is not None
            assert "somebody else changed it" in told
            assert "Either our write was applied and something came after it, or it never was" in told


@dataclass
class Straggling:
    """The first write is lost on the way and lands after the second attempt has ended with what `second` raises or
    answers."""

    hands: Hands
    second: Exception | Sent
    sends: int = 0
    underway: Permit | None = None

    async def read(self, ref: ObjectRef) -> Raw | None:
        return await self.hands.read(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        return await self.hands.dry_run(write)

    async def send(self, permit: Permit) -> Sent:
        self.sends += 1
        if self.sends == 1:
            self.underway = permit
            raise OutcomeUnknown("lost on the way there")
        if self.sends == 2 and self.underway is not None:
            await self.hands.send(self.underway)
            if isinstance(self.second, Exception):
                raise self.second
            return self.second
        return await self.hands.send(permit)


async def test_an_attempt_that_was_never_sent_does_not_end_the_lost_one_before_it(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        hands = Straggling(life.tools.hands, Transient("the API server is away", retry_after=1.0))
        incident = await Rig(replace(life.tools, hands=hands), shop).run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert await shop.image() == GOOD
        assert [run.outcome and run.outcome.result for run in incident.writes] == [ev.Result.DONE]


async def test_a_refusal_of_the_second_attempt_does_not_say_that_the_first_was_not_applied(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        denied = Sent(answer=Answer.REFUSED, reason=Reason.REFUSED_BY_SERVER, detail="no")
        hands = Straggling(life.tools.hands, denied)
        incident = await Rig(replace(life.tools, hands=hands), shop).run(ended, approve=True)
        assert incident.end is not None
        assert incident.end[0] is Reason.OUTCOME_UNCLEAR
        assert "Either our write was applied and something came after it, or it never was" in incident.end[1]


async def test_a_write_that_is_lost_each_time_may_still_land_and_is_for_a_person(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await counted(life, [], lose_before=9).run(ended, approve=True)
        assert incident.end is not None
        assert incident.end[0] is Reason.OUTCOME_UNCLEAR
        assert "may still come" in incident.end[1]


async def test_an_object_that_moves_between_read_and_write_is_tried_again_with_its_new_version(
    shop: Shop, tmp_path: Path
) -> None:
    """A crashing workload's status moves every few seconds: a conflict by status alone voids nothing."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        racing = Rig(replace(life.tools, hands=Racing(life.tools.hands, shop)), shop)
        incident = await racing.run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert [len(run.attempts) for run in incident.writes] == [2]


@dataclass
class Racing:
    """Somebody labels the status between our read and our first write."""

    hands: Hands
    shop: Shop
    raced: bool = False

    async def read(self, ref: ObjectRef) -> Raw | None:
        return await self.hands.read(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        return await self.hands.dry_run(write)

    async def send(self, permit: Permit) -> Sent:
        if not self.raced:
            self.raced = True
            await self.shop.patch({"op": "add", "path": "/metadata/annotations/example.com~1seen", "value": "1"})
        return await self.hands.send(permit)
