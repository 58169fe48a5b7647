"""Killed at any commit of a void: nothing is written on the old approval, and the new one is one write."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from handrail.model.approval import ApprovalRequest
from handrail.model.hands import DryRun, Hands, Sent
from handrail.model.reason import Refusal
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Write
from tests.breaks.worlds import alerted, lossy
from tests.reconciler.rig import BAD, GOOD, LOCAL, Killed, Rig, Shop, asking, ended, killed_after, rig

COMMITS = 8
"""Of the reconciler, from the first approval to the new question; about as many as from there to the end."""


async def approved_too_late(shop: Shop, life: Rig) -> ApprovalRequest:
    """Somebody changes the spec, then somebody says yes to the card of before."""
    await alerted(shop, life)
    request = (await life.run(asking)).request
    assert request is not None
    await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
    assert (await life.answer("approve")).ok
    return request


@dataclass
class Webhook:
    """The real hands, behind an admission webhook that puts another password into each template."""

    hands: Hands
    written: int = 0

    async def read(self, ref: ObjectRef) -> Raw | None:
        return await self.hands.read(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        dry = await self.hands.dry_run(write)
        if isinstance(dry, Refusal) or dry.after is None:
            return dry
        after = copy.deepcopy(dry.after)
        self.written += 1
        secret = {"name": "DB_PASSWORD", "value": f"hunter{self.written}"}
        after["spec"]["template"]["spec"]["containers"][0]["env"] = [secret]
        return dry.model_copy(update={"after": after})

    async def send(self, permit: Permit) -> Sent:
        raise AssertionError("this is not what was approved")


async def test_another_secret_than_the_one_that_was_rehearsed_voids_though_no_diff_shows_it(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        hooked = Rig(replace(life.tools, hands=Webhook(life.tools.hands)), shop)
        first = await hooked.run(asking)
        assert first.rehearsal is not None
        assert "DB_PASSWORD" in first.rehearsal.writes[0].diff
        assert "hunter" not in first.rehearsal.writes[0].diff
        assert (await hooked.answer("approve")).ok
        again = await hooked.run(lambda i: asking(i) and i.request != first.request)
        assert again.voids == 1
        assert again.writes == ()


@pytest.mark.parametrize("commits", range(1, COMMITS + 1))
async def test_a_kill_after_any_commit_of_a_void_asks_anew_and_writes_once(
    shop: Shop, tmp_path: Path, commits: int
) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        first = await approved_too_late(shop, life)
        with suppress(Killed):
            await killed_after(lossy(life, applied), commits).run(lambda i: asking(i) and i.request != first)
    assert applied == []
    await shop.live(1)  # the rig counts its request ids anew in each life and tells them apart by the clock
    async with rig(shop, tmp_path) as life:
        again = lossy(life, applied)
        waiting = await again.run(lambda i: asking(i) and i.request != first)
        assert waiting.voids == 1
        assert applied == []
        assert await shop.image() == BAD
        old = await life.desk.decide(waiting.id, "approve", LOCAL, first.id)
        assert not old.ok
        assert (await life.answer("approve")).ok
        with suppress(Killed):
            await killed_after(again, commits).run(ended)
    async with rig(shop, tmp_path) as life:
        incident = await lossy(life, applied).run(ended)
        assert len(applied) == 1, incident.end
        assert await shop.image() == GOOD
        assert (await shop.deployment())["spec"]["minReadySeconds"] == 1
