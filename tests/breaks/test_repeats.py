"""A sender that repeats its alert faster than the cluster can be looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from handrail.effects.tools import Gatherer
from handrail.model.alert import Alert
from handrail.model.gathering import Gathering
from handrail.model.incident import State
from handrail.model.reason import Refusal
from handrail.model.target import LabelledTarget
from tests.breaks.test_again import Monitoring
from tests.reconciler.rig import BAD, Rig, Shop, rig


@dataclass
class Interrupted:
    """The real looks; during each of them the sender says something."""

    gatherer: Gatherer
    sender: Monitoring
    words: list[str]
    looks: int = 0

    async def gather(self, target: LabelledTarget | None, alert: Alert, now: datetime) -> Gathering | Refusal:
        found = await self.gatherer.gather(target, alert, now)
        self.looks += 1
        if self.words:
            await self.sender.says(self.words.pop(0))
        return found


async def interrupted(life: Rig, words: list[str]) -> Interrupted:
    """How often it was looked at until it could be planned for, where the sender said `words` meanwhile."""
    sender = Monitoring(life.shop, life)
    await sender.says("firing")
    gatherer = Interrupted(life.tools.gatherer, sender, list(words))
    life = Rig(replace(life.tools, gatherer=gatherer), life.shop)
    await life.run(lambda i: i.state is State.PLANNING)
    return gatherer


async def crashing(shop: Shop) -> None:
    await shop.roll_out(BAD)
    await shop.live(30)


async def test_a_repeat_during_a_look_makes_nobody_look_again(shop: Shop, tmp_path: Path) -> None:
    await crashing(shop)
    async with rig(shop, tmp_path) as life:
        done = await interrupted(life, ["firing"] * 15)
        assert done.looks == 1
        kinds = [entry.event.kind for entry in await life.tools.store.entries((await life.the_incident()).id)]
        assert kinds == ["opened", "gathering_begun", "alert_attached", "gathered"]


async def test_another_word_during_a_look_is_looked_at_anew(shop: Shop, tmp_path: Path) -> None:
    """Resolved is data: what was seen before it came is not what is decided on."""
    await crashing(shop)
    async with rig(shop, tmp_path) as life:
        done = await interrupted(life, ["resolved", "firing", "firing"])
        assert done.looks == 3
