"""A HorizontalPodAutoscaler as the eyes saw it, with the workload that it scales. Decides nothing."""

from __future__ import annotations

from datetime import datetime

from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value
from handrail.model.workload import Workload

KEDA = "scaledobject.keda.sh/name"
"""KEDA labels the autoscalers that it makes with the name of its ScaledObject."""


class Autoscaler(Value):
    """`workload` is None where what it scales is gone, or is no kind of apps/v1 that Handrail knows."""

    object: Raw
    workload: Workload | None = None
    observed_at: datetime

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef.of(self.object)

    @property
    def low(self) -> int:
        """`minReplicas`; a missing one is 1, the API's default."""
        return int((self.object.get("spec") or {}).get("minReplicas", 1))

    @property
    def high(self) -> int:
        return int((self.object.get("spec") or {}).get("maxReplicas", 0))

    @property
    def current(self) -> int:
        return int((self.object.get("status") or {}).get("currentReplicas") or 0)

    @property
    def wanted(self) -> int:
        return int((self.object.get("status") or {}).get("desiredReplicas") or 0)

    @property
    def at_most(self) -> bool:
        """It wants more than `maxReplicas`, by its own condition."""
        limited = self.condition("ScalingLimited")
        return limited.get("status") == "True" and limited.get("reason") == "TooManyReplicas"

    def condition(self, kind: str) -> Raw:
        found = (self.object.get("status") or {}).get("conditions") or ()
        return next((one for one in found if one.get("type") == kind), {})
