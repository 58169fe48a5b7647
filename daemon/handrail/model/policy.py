"""What the operator allows. Deny by default: what no rule names is refused."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from handrail.model.approval import Approvers, Readers
from handrail.model.budgets import Budgets
from handrail.model.freeze import Freeze
from handrail.model.namespace import Namespace, NamespaceOrAny
from handrail.model.value import Value


class Mode(StrEnum):
    """`observe`: plan and say, write nothing. `ask`: a person decides. `act`: by itself, below the floor only."""

    OBSERVE = "observe"
    ASK = "ask"
    ACT = "act"


class PolicyRule(Value):
    """The first rule that names namespace, kind and step decides. Names are exact; "*" alone means any.

    `kinds` empty means every kind that the step supports. `limits` narrows a step's own bounds: step -> parameter ->
    least and most, e.g. `{set_hpa_bounds: {max_replicas: [1, 20]}}`.
    """

    namespaces: tuple[NamespaceOrAny, ...]
    kinds: tuple[str, ...] = ()
    steps: dict[str, Mode]
    limits: dict[str, dict[str, tuple[int, int]]] = {}


class StormLimit(Value):
    """Alerts of more than `targets` objects within `minutes` are a storm: one page, and nothing asked until it is over.

    A pod counts as what owns it: two hundred pods of one Deployment are one object. What is not well is given to a
    person after `wait_minutes`, though the storm goes on.
    """

    targets: int = Field(default=20, ge=2, le=10_000)
    minutes: int = Field(default=5, ge=1, le=60)
    wait_minutes: int = Field(default=30, ge=5, le=360)


class Policy(Value):
    """`readers` may read by the API, as approvers and operators may. `saga_interval_minutes`: at most one saga per
    target in that time. Times in minutes, but for `hold_down_seconds`: an alert that was resolved and fires again is
    looked at that much later, which is longer than two Alertmanagers of a pair are apart (alertmanager#4008)."""

    version: int = Field(ge=1, le=1)
    rules: tuple[PolicyRule, ...] = ()
    approvers: Approvers = Approvers()
    operators: Approvers = Approvers()
    readers: Readers = Readers()
    protected_namespaces: tuple[Namespace, ...] = ()
    approval_minutes: int = Field(default=30, ge=1, le=1440)
    run_minutes: int = Field(default=30, ge=1, le=240)
    saga_interval_minutes: int = Field(default=30, ge=1, le=1440)
    max_rounds: int = Field(default=2, ge=1, le=5)
    alert_age_minutes: int = Field(default=30, ge=1, le=1440)
    storm: StormLimit = StormLimit()
    budgets: Budgets = Budgets()
    freezes: tuple[Freeze, ...] = ()
    hold_down_seconds: int = Field(default=30, ge=0, le=3600)
