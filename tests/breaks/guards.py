"""Hands in front of which the API server holds a stop, and rights that are gone: as kube-apiserver answers (facts of
tests/admission/test_a_stop_met_by_the_daemon.py), on the simulated cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from handrail.model.errors import OutcomeUnknown, Transient
from handrail.model.hands import Answer, DryRun, Hands, Held, Sent
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Rule
from handrail.model.switch import Permit, Reach, Scope
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Write
from tests.reconciler.rig import Rig

WORDS = "migration of the shop"
SHOP = Reach(scope=Scope.NAMESPACE, name="shop")
DENIED = Refusal(reason=Reason.DENIED, detail="deployments.apps is forbidden: cannot patch")


@dataclass
class Guarded:
    """`annotated` refuses by the stop policy, `bound` False by RBAC; `at_writes` lets dry-runs pass all the same.
    `refused` counts what was asked for and refused, `applied` what was written. Sends in `lost` are never answered."""

    hands: Hands
    annotated: bool = False
    bound: bool = True
    at_writes: bool = False
    lost: frozenset[int] = frozenset()
    sends: int = 0
    refused: list[str] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)

    def _no(self, asked: str) -> Refusal | None:
        no = Held(reach=SHOP, detail=WORDS) if self.annotated else None if self.bound else DENIED
        if no is not None:
            self.refused.append(asked)
        return no

    async def read(self, ref: ObjectRef) -> Raw | None:
        return await self.hands.read(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        no = None if self.at_writes else self._no(f"dry-run {write.key}")
        return no if no is not None else await self.hands.dry_run(write)

    async def send(self, permit: Permit) -> Sent:
        self.sends += 1
        if self.sends in self.lost:
            raise OutcomeUnknown("lost on the way there")
        no = self._no(f"write {permit.write.key}")
        if no is not None:
            held = no if isinstance(no, Held) else None
            return Sent(answer=Answer.REFUSED, reason=no.reason, detail=no.detail, held=held)
        sent = await self.hands.send(permit)
        if sent.answer is Answer.DONE:
            self.applied.append(permit.write.key)
        return sent


@dataclass
class Rights:
    """`left`: whether any right to write is. `away` raises."""

    left: bool = True
    away: bool = False
    asked: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    async def may_any(self, rules: Sequence[Rule], namespace: str) -> bool:
        self.asked.append((tuple(sorted({verb for rule in rules for verb in rule.verbs})), namespace))
        if self.away:
            raise Transient("the API server is away")
        return self.left


def guarded(life: Rig, rights: Rights | None = None, **how: Any) -> tuple[Rig, Guarded]:
    hands = Guarded(life.tools.hands, **how)
    return Rig(replace(life.tools, hands=hands, rights=rights or Rights()), life.shop), hands
