"""Policies, steps and incidents in which menus, reviews and compilation are judged."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from handrail.model.alert import Alert
from handrail.model.incident import Incident
from handrail.model.menu import Menu
from handrail.model.plan import Choice, Confidence, Hypothesis, PlanProposal
from handrail.model.policy import Policy
from handrail.model.target import ObjectRef

NOW = datetime(2026, 11, 29, 12, 0, 30, 123456, tzinfo=UTC)
TARGET = ObjectRef(api_version="apps/v1", kind="Deployment", namespace="shop", name="checkout", uid="dep-1")

STEPS = ("rollout_undo", "rollout_restart", "scale_workload")


def policy(*steps: str, mode: str = "ask", **more: Any) -> Policy:
    rules = [{"namespaces": ["shop"], "steps": dict.fromkeys(steps or STEPS, mode)}]
    return Policy.model_validate({"version": 1, "rules": rules, **more})


def chosen(option: str, **params: int) -> Choice:
    return Choice(option=option, params=params)


def proposal(
    *choices: Choice, confidence: Confidence = Confidence.HIGH, cites: tuple[str, ...] = ("e1",)
) -> PlanProposal:
    return PlanProposal(
        diagnosis=(Hypothesis(statement="Revision 5 crashes.", confidence=confidence, evidence=cites),),
        choices=choices,
        expected_effect="It heals.",
        would_disprove="It does not.",
    )


def incident(menu: Menu | None, plan: PlanProposal | None, **more: Any) -> Incident:
    alert = Alert(name="KubePodCrashLooping", status="firing", labels={}, seen_at=NOW, wire="test")
    values: dict[str, Any] = {
        "id": "inc-abcdefghij",
        "cluster": "prod",
        "opened_at": NOW,
        "moved_at": NOW,
        "alerts": (alert,),
        "target": TARGET,
        "menu": menu,
        "proposal": plan,
        "round": 2,
    }
    return Incident(**{**values, **more})
