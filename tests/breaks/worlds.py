"""What the attempts to break the product share: a verification that always says worse, hands that lose answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from handrail.cli.demo_alert import alert_as_otlp
from handrail.model.errors import OutcomeUnknown, Transient
from handrail.model.hands import DryRun, Hands, Sent
from handrail.model.incident import Incident
from handrail.model.reason import Refusal
from handrail.model.step import Seen, Step, Verdict, Verification
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Write
from tests.reconciler.rig import BAD, Rig, Shop


async def alerted(shop: Shop, life: Rig) -> None:
    """A bad revision whose pods have been crashing for a while, and the alert about it."""
    await shop.roll_out(BAD)
    await shop.live(30)
    await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))


class Gloomy:
    """A step whose verification says worse, whatever is there: the undo is its own."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def verify(self, seen: Seen, p: Any, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        return Verification(verdict=Verdict.WORSE, detail="2 pods are ready, 3 were before")


def gloomy(life: Rig) -> Rig:
    steps: Any = {name: Gloomy(step) for name, step in life.tools.steps.items()}
    return Rig(replace(life.tools, steps=steps), life.shop)


@dataclass
class Lossy:
    """The real hands, counting what was applied. Of the sends counted from 1: `after` loses those answers, `before`
    those writes, `away` those that never leave."""

    hands: Hands
    applied: list[str] = field(default_factory=list)
    after: frozenset[int] = frozenset()
    before: frozenset[int] = frozenset()
    away: frozenset[int] = frozenset()
    sends: int = 0

    async def read(self, ref: ObjectRef) -> Raw | None:
        return await self.hands.read(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        return await self.hands.dry_run(write)

    async def send(self, permit: Permit) -> Sent:
        self.sends += 1
        if self.sends in self.before:
            raise OutcomeUnknown("lost on the way there")
        if self.sends in self.away:
            raise Transient("the API server is away", retry_after=1.0)
        sent = await self.hands.send(permit)
        if sent.answer == "done":
            self.applied.append(permit.write.key)
        if self.sends in self.after:
            raise OutcomeUnknown("lost on the way back")
        return sent


def lossy(life: Rig, applied: list[str], **losses: Any) -> Rig:
    return Rig(replace(life.tools, hands=Lossy(life.tools.hands, applied, **losses)), life.shop)


async def pass_by(life: Rig, until: Callable[[Incident], bool], *, minutes: int) -> Incident:
    """As `Rig.run`, but half a minute passes at once wherever nothing moves; the cluster's controllers rest."""
    for _ in range(minutes * 2):
        while await life._round():
            pass
        for incident in await life.incidents():
            if until(incident):
                return incident
        life.shop.clock.advance(30)
    raise AssertionError(f"time is up: {[(i.state, i.end) for i in await life.incidents()]}")
