"""What the effects work with: the outside things behind their contracts, wired once in main.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from handrail.adapters.store import Store
from handrail.model.alert import Alert
from handrail.model.config import Config
from handrail.model.detector import Detector
from handrail.model.gathering import Gathering
from handrail.model.hands import Hands
from handrail.model.menu import Menu
from handrail.model.model_call import ModelFailed, ModelReply, ModelRequest
from handrail.model.plan import Brief, Planner, PlanProposal
from handrail.model.policy import Policy
from handrail.model.reason import Refusal
from handrail.model.step import Eyes, Step
from handrail.model.target import LabelledTarget


class Gatherer(Protocol):
    """Raises Transient when the target itself can't be read; any other source that is away is named in the result."""

    async def gather(self, target: LabelledTarget | None, alert: Alert, now: datetime) -> Gathering | Refusal: ...


class ModelPlanner(Protocol):
    """`request` and `parse` are pure; between them the raw answer is recorded (state rule 7)."""

    def request(self, brief: Brief, menu: Menu) -> ModelRequest: ...

    async def call(self, request: ModelRequest) -> ModelReply | ModelFailed: ...

    def parse(self, raw: str, brief: Brief, menu: Menu) -> PlanProposal | Refusal: ...


@dataclass(frozen=True, slots=True)
class Tools:
    """`policy` reads the policy file as it is now (raises BadConfig); `new_id` makes opaque ids; `now` is UTC."""

    store: Store
    eyes: Eyes
    hands: Hands
    gatherer: Gatherer
    runbooks: Planner
    model: ModelPlanner | None
    steps: Mapping[str, Step]
    detectors: tuple[Detector, ...]
    policy: Callable[[], Policy]
    config: Config
    now: Callable[[], datetime]
    new_id: Callable[[], str]
