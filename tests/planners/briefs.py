"""One incident as planners are told of it: a bad rollout of shop/checkout."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from handrail.model.evidence import Away, EvidenceItem, Trust
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.menu import Menu, NotOffered, Option
from handrail.model.plan import Brief
from handrail.model.severity import Severity
from handrail.model.step import Risk
from handrail.model.target import ObjectRef

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TARGET = ObjectRef(api_version="apps/v1", kind="Deployment", namespace="shop", name="checkout", uid="dep-1")

UNDO_3 = Option(
    id="o1",
    step="rollout_undo",
    risk=Risk.DISRUPTIVE,
    target=TARGET,
    params={"to_revision": 3},
    summary="undo the rollout of Deployment shop/checkout to revision 3",
)
UNDO_4 = UNDO_3.model_copy(
    update={"id": "o2", "params": {"to_revision": 4}, "summary": "undo the rollout to revision 4"}
)
SCALE = Option(
    id="o3",
    step="scale_workload",
    risk=Risk.REVERSIBLE,
    target=TARGET,
    params={},
    ranges={"replicas": (4, 6)},
    summary="scale Deployment shop/checkout up",
)
MENU = Menu(
    options=(UNDO_3, UNDO_4, SCALE),
    not_offered=(NotOffered(step="rollout_restart", reason="ROLLOUT_IN_PROGRESS", detail="a rollout is under way"),),
)


def finding(cause: Cause = Cause.BAD_REVISION_CRASHES, *, corroborated: bool = True, **more: Any) -> Finding:
    told = {"detector": "bad_rollout", "handling": Handling.APPROVE, "target": None}
    return Finding(
        **{**told, **more},
        cause=cause,
        corroborated=corroborated,
        summary="only pods of revision 5 crash",
        facts={"revision": 5},
    )


def evidence(number: int, kind: str, trust: Trust, text: str = "") -> EvidenceItem:
    return EvidenceItem(
        id=f"e{number}",
        kind=kind,
        source=f"kubernetes: {kind} of Deployment shop/checkout",
        at=AT,
        trust=trust,
        title=f"{kind} as they are now",
        excerpt=text[:600],
        digest="0" * 64,
    )


def brief(texts: dict[str, str] | None = None, **more: Any) -> Brief:
    """Evidence e1 (api), e2 (api), e3 (text), e4 (text), each with its text."""
    told = {
        "e1": "3 pods of revision 5 in CrashLoopBackOff",
        "e2": "revision 5 since 11:55",
        "e3": "BackOff",
        "e4": "log",
    }
    told.update(texts or {})
    kinds = (("pods", Trust.API), ("history", Trust.API), ("events", Trust.TEXT), ("logs", Trust.TEXT))
    items = tuple(evidence(n, kind, trust, told[f"e{n}"]) for n, (kind, trust) in enumerate(kinds, 1))
    values: dict[str, Any] = {
        "incident": "inc-abcdefghij",
        "round": 1,
        "alert_name": "KubePodCrashLooping",
        "target": TARGET,
        "severity": Severity(desired=3, ready=2),
        "findings": (finding(),),
        "evidence": items,
        "texts": told,
        "away": (Away(source="prometheus", why="no answer within 5 s"),),
    }
    return Brief(**{**values, **more})


def answer(**more: Any) -> dict[str, Any]:
    """What a good model says: the newest healthy revision."""
    said = {
        "diagnosis": [{"statement": "Revision 5 crashes.", "confidence": "high", "evidence": ["e1", "e2"]}],
        "can_plan": True,
        "why_not": "",
        "choices": [{"option": "o2", "numbers": []}],
        "expected_effect": "All pods are ready on the older revision.",
        "would_disprove": "Its pods crash as well.",
    }
    return {**said, **more}
