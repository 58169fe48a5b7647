"""What the effects work with: the outside things behind their contracts, wired once in main.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from handrail.adapters.claude import ModelFailed, ModelReply, ModelRequest
from handrail.adapters.store import Store
from handrail.effects.taking_back import TakingBack
from handrail.model.alert import Alert
from handrail.model.config import Config
from handrail.model.detector import Detector
from handrail.model.gathering import Gathering
from handrail.model.hands import Hands
from handrail.model.plan import Planner
from handrail.model.policy import Policy
from handrail.model.reason import Refusal
from handrail.model.signs import NoSigns, Signs
from handrail.model.silence import Silence, Standing
from handrail.model.step import Eyes, Rule, Step
from handrail.model.taking_back import base_of, takes_back
from handrail.model.target import LabelledTarget


class Gatherer(Protocol):
    """Raises Transient when the target itself can't be read; any other source that is away is named in the result."""

    async def gather(self, target: LabelledTarget | None, alert: Alert, now: datetime) -> Gathering | Refusal: ...


class Silences(Protocol):
    """What Alertmanager keeps quiet about. Each raises Transient where it is away, Permanent for nonsense."""

    async def standings(self, name: str) -> tuple[Standing, ...]:
        """All alerts of that name which fire."""
        ...

    async def silence(self, id_: str) -> Silence: ...

    async def names_of(self, fingerprints: Iterable[str]) -> tuple[str, ...]: ...


class PolicySource(Protocol):
    """Called, it reads the policy as it is now; raises Transient when it can't: then nothing is allowed.

    `last_good` never raises, and is only for what permits nothing.
    """

    def __call__(self) -> Policy: ...

    def last_good(self) -> Policy: ...


class Rights(Protocol):
    """Raises Transient, Permanent where the API server does not say."""

    async def may_any(self, rules: Sequence[Rule], namespace: str) -> bool:
        """Whether anything of it may be done there, "" being the whole cluster."""
        ...


class NobodyAsked:
    """Where rights are not looked at, none is taken to be gone."""

    async def may_any(self, rules: Sequence[Rule], namespace: str) -> bool:
        return True


class Model(Protocol):
    """One call, never repeated in there; what it says is recorded before it is parsed (state rule 7)."""

    async def call(self, request: ModelRequest) -> ModelReply | ModelFailed: ...


@dataclass(frozen=True, slots=True)
class Tools:
    """`new_id` makes opaque ids; `now` is UTC; `silences` is None where no Alertmanager is configured.
    `listens_since` is when this process began to hear alerts."""

    store: Store
    eyes: Eyes
    hands: Hands
    gatherer: Gatherer
    runbooks: Planner
    model: Model | None
    steps: Mapping[str, Step]
    detectors: tuple[Detector, ...]
    policy: PolicySource
    config: Config
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    signs: Signs = field(default_factory=NoSigns)
    silences: Silences | None = None
    rights: Rights = field(default_factory=NobodyAsked)
    listens_since: datetime | None = None

    def step(self, name: str) -> Step:
        """The code of a saga's step, also of one that takes back what another did."""
        found = self.steps[base_of(name)]
        return TakingBack(found) if takes_back(name) else found
